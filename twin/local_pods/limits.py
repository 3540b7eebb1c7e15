"""What a container's process may use of this machine, and how much of it a session of processes holds."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import psutil

from inputs.parent_process import die_with_parent


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Bounds of every container; its own limits for memory and ephemeral storage may be lower."""

    seconds: float = 3_600.0
    """Wall seconds that it may run."""
    memory_bytes: int = 1 << 30
    """Resident memory of a container's processes together, where the container names no limit."""
    disk_bytes: int = 1 << 30
    """Size of each file that it writes, where the container names no limit."""
    open_files: int = 1_024
    """Files that each of its processes may have open."""
    pods: int = 32
    """Pods whose processes run at once; those of further ones wait for their turn."""
    log_bytes: int = 10 << 20
    """Log that is kept of a container's run (KubeletConfiguration containerLogMaxSize: 10Mi)."""


def apply_limits(parent: int, limits: ProcessLimits, disk_bytes: int | None) -> None:
    """Bind this process, which is about to become a container's; for `preexec_fn`."""
    die_with_parent(parent)
    disk = limits.disk_bytes if disk_bytes is None else min(disk_bytes, limits.disk_bytes)
    for kind, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, disk),
        (resource.RLIMIT_NOFILE, limits.open_files),
    ):
        _, hard = resource.getrlimit(kind)
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (bound, bound))


def memory_of_sessions(sessions: Iterable[int]) -> Mapping[int, int]:
    """Return the resident bytes of all processes of each session, by its id."""
    held = dict.fromkeys(sessions, 0)
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            session = os.getsid(process.pid)
            if session in held:
                held[session] += process.memory_info().rss
    return held


def kill_session(session: int) -> None:
    """Kill every process of a session, whatever group it has joined."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(session, signal.SIGKILL)
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if os.getsid(process.pid) == session:
                process.kill()
