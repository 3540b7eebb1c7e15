"""Foresight: which actions rested on a forecast, what came of the forecast, and what acting on it changed.

- `course.py`: the requests of one Service by the minute, in this world or in the untouched one
- `foreseen.py`: what was foreseen of one series at one moment
- `action.py`: an action that rests on a forecast, and its outcome
- `log.py`: the fold over a log
- `text.py`: the sentences
"""
