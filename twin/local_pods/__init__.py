"""Pods whose containers are processes of this machine (`--run-commands`, docs/twin/commands.md)."""
