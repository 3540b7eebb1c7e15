"""Mismatches: what the predecessor's author compared by eye, as a fold over the log.

- `settings.py`: from when on something counts as one
- `tally.py`: what is remembered of the log
- `checks.py`: the five checks, each pure
- `fold.py`: what an event changes, and which mismatches begin and end
"""
