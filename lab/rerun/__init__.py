"""Compute recorded layers again: verify a recording, or ask what other policies would have decided.

The handlers are those that run live. Nothing here reads a clock, a bus or chance: the same recording
and the same changes give the same result on every machine.
"""
