"""A trace as the registry knows it: who published it, and how its files are read, by one module.

The twin plays a workload trace (machines and pod lives), models learn from task events; a trace gives
one of them, or both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lab.traces.event_reader import EventReader
from lab.traces.workload_trace import WorkloadTrace

CC_BY = "CC BY 4.0"
CC_BY_URL = "https://creativecommons.org/licenses/by/4.0/"
APACHE = "Apache-2.0"
APACHE_URL = "https://www.apache.org/licenses/LICENSE-2.0"
MIT = "MIT"
MIT_URL = "https://opensource.org/license/mit"
REDUCED = "reduced to counts, rates and quantiles; no row of the trace is kept as it was"


@dataclass(frozen=True, slots=True)
class Publication:
    """Publication facts of one trace."""

    title: str
    publisher: str
    licence: str
    licence_url: str
    attribution: str
    changes: tuple[str, ...]
    """What was changed on the way to the figures that we ship."""


@dataclass(frozen=True, slots=True)
class TraceReader:
    """One trace: its row in the registry."""

    name: str
    """What users type after `--trace` or `--workload`."""
    read_workload: Callable[[Path], WorkloadTrace] | None = None
    """Reads machines and pods from the folder of all trace files."""
    events: EventReader | None = None
    """Reads task events from a file or folder of this trace."""
    publication: Publication | None = None
    """None where nothing of the trace is shipped."""
