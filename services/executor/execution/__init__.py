"""Carrying out a decision: read, plan within the guards, store `started`, write, store `finished`."""
