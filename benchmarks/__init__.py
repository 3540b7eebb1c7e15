"""Measurements of the whole and of its parts; `python -m benchmarks` runs all of them.

Each file measures one thing, prints figures beside their targets, and with `--json` prints one JSON
object. docs/performance.md holds the figures with command, seed, machine and date.
"""
