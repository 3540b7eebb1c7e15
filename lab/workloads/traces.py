"""The traces that can be read, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bus.errors import InputError
from lab.workloads.google2011 import read_google2011
from lab.workloads.openb import read_openb
from lab.workloads.trace import Trace

READERS: dict[str, Callable[[Path], Trace]] = {
    "openb": read_openb,
    "google2011": read_google2011,
}


def read_trace(name: str, data_dir: Path) -> Trace:
    """Read trace `name` from its folder; raises InputError for a name or file that is absent."""
    if name not in READERS:
        raise InputError(field="workload", value=name, remedy=f"use {' or '.join(READERS)}")
    return READERS[name](data_dir)
