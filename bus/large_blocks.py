"""Large blocks of memory go back to the system when they are freed."""

from __future__ import annotations

import ctypes

_M_MMAP_THRESHOLD = -3
"""Of glibc's malloc.h."""
LARGE_BYTES = 128 * 1024
"""What glibc takes for large at the start of a process."""


def return_large_blocks() -> bool:
    """Let what is large be so for good; return whether the C library can do that (glibc; elsewhere nothing is done).

    By itself glibc takes each freed large block for a sign that such are small, up to 32 MiB, and cuts the next ones
    out of its heap. A process that packs a large object now and then, and keeps small ones meanwhile, then has a heap
    with holes that grows for hours. See mallopt(3), M_MMAP_THRESHOLD.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES) == 1
