"""The first import of every process' main module: makes the imports after it cheaper.

A stack starts a dozen processes, each of which imports some six hundred modules before it does anything.
Garbage is looked for rarely meanwhile: next to nothing that is imported ever becomes garbage, yet with
Python's own thresholds looking through it is a fifth of a start. And structlog comes without rich, which it
would load, with pygments and attrs, for tracebacks in colour; our log lines are JSON. rich stays importable
for everybody else.
"""

from __future__ import annotations

import gc
import sys

RARE_COLLECTIONS = (50_000, 10, 10)
"""New objects between two looks, and how many looks between two deeper ones."""

gc.set_threshold(*RARE_COLLECTIONS)
if "rich" not in sys.modules:
    sys.modules["rich"] = None  # type: ignore[assignment]  # the documented way to refuse an import
    try:
        import structlog  # noqa: F401
    finally:
        del sys.modules["rich"]
