"""Foresight: which actions rested on a forecast, what came of the forecast, and what acting on it changed.

- `course.py`: the requests of one Service by the minute, in this world or in the untouched one
- `foreseen.py`: what was foreseen of one series at one moment
- `action.py`: an action that rests on a forecast
- `rise.py`: the actions that answer one rise of a Service, and what came of it
- `log.py`: the fold over a log
- `totals.py`: how often foresight was right in a span of a log
- `text.py`: the sentences
"""
