"""Fourteen days of every workload, in steps of five minutes: what a forecast of demand reads.

A day's shape cannot be known by a process that began this morning, so what was observed is merged with what was
filled in from elsewhere. Bounded: chunks of four hours, of which the oldest go, and a most number of series.

- `grid.py`: the steps, and four hours of all series as one chunk
- `history.py`: all chunks: values come in, arrays of one series come out
- `sums.py`: the steps that are not over yet

How it follows the log and outlives a restart is in `features/live`: `followed_history.py` (which series an event
tells of), `history_blocks.py` (chunks as events) and `packed_history.py` (what a checkpoint holds).
"""
