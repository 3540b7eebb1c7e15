"""The traces that can be read, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bus.errors import InputError
from lab.workloads.azure import read_azure
from lab.workloads.google2011 import read_google2011
from lab.workloads.openb import read_openb
from lab.workloads.philly import read_philly
from lab.workloads.surf import read_surf
from lab.workloads.trace import Trace

READERS: dict[str, Callable[[Path], Trace]] = {
    "openb": read_openb,
    "google2011": read_google2011,
    "azure": read_azure,
    "philly": read_philly,
    "surf": read_surf,
}


def read_trace(name: str, data_dir: Path) -> Trace:
    """Read trace `name` from its folder; raises InputError for a name or file that is absent."""
    if name not in READERS:
        raise InputError(field="workload", value=name, remedy=f"use one of {', '.join(READERS)}")
    return READERS[name](data_dir)
