"""A process that ends with its parent, however that ends (parent-death signal on Linux)."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PARENT_VARIABLE = "FORESAIL_PARENT"
"""Tells a Python child its parent, so that it asks the kernel again after its own forks."""
PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)  # loaded before any fork, where loading could deadlock


def die_with_parent(parent_pid: int) -> None:
    """Ask the kernel to kill this process when its parent ends; die at once when it has ended
    already. Linux only, elsewhere nothing happens.

    As `preexec_fn` of a child it holds from the child's first instruction on.
    """
    if sys.platform == "linux":
        _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent_pid:
            os.kill(os.getpid(), signal.SIGKILL)
