"""Fourteen days of every workload, in steps of five minutes: what a forecast of demand reads.

A day's shape cannot be known by a process that began this morning, so what was observed is merged with what was
filled in from elsewhere (`HistoryFilled`). The fold is bounded, and its newest state is rebuilt after a restart
from the blocks that inference keeps in the log (`HistoryBlock`) and from its checkpoint.

- `grid.py`: the steps, and four hours of all series as one chunk
- `history.py`: all chunks: values come in, arrays of one series come out
- `sums.py`: the steps that are not over yet
- `observed.py`: which series an observation tells of
- `blocks.py`: chunks as events, and when one is written again
- `packed.py`: what a checkpoint holds
"""
