"""Resource usage of a command so far: processor time and the most memory it held."""

from __future__ import annotations

import resource
import sys
from typing import Any

from projections.figures import duration, size

BYTES_PER_UNIT = 1 if sys.platform == "darwin" else 1024
"""Linux counts the peak in kilobytes, macOS in bytes."""


def cost() -> dict[str, Any]:
    """Return CPU seconds of all threads and peak resident bytes of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
        "peak_memory_bytes": used.ru_maxrss * BYTES_PER_UNIT,
    }


def cost_text() -> str:
    """Return the same in words."""
    used = cost()
    return f"{duration(used['cpu_seconds'])} of CPU time, at most {size(used['peak_memory_bytes'])} of memory"
