"""Breakers: when acting stops by itself, and how it begins again (docs/breakers.md).

A pure fold of stored events and their cluster times, shared by the scoreboard, which publishes every change, and
whoever shows it.
"""
