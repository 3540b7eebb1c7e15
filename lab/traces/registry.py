"""Every trace that can be read, one row each; the module named in the row holds the reader.

A new trace is one module beside this file that ends in `TRACE = TraceReader(...)`, and one row here.
"""

from __future__ import annotations

from pathlib import Path

from bus.errors import ConfigError, InputError
from lab.traces import (
    azure,
    cloud_neutral,
    google2011,
    google2011_kubernetes,
    google2019,
    kaggle2019,
    openb,
    philly,
    recording,
    surf,
)
from lab.traces.common_options import AS_IT_IS, NAME, CommonOptions
from lab.traces.event_reader import EventReader
from lab.traces.trace_reader import TraceReader
from lab.traces.workload_trace import WorkloadTrace, check_units

TRACES: dict[str, TraceReader] = {
    trace.name: trace
    for trace in (
        openb.TRACE,
        google2011.TRACE,
        azure.TRACE,
        philly.TRACE,
        surf.TRACE,
        google2019.TRACE,
        google2011_kubernetes.TRACE,
        kaggle2019.TRACE,
        cloud_neutral.TRACE,
        recording.TRACE,
    )
}
"""By name; the order is the one in which people see them."""


def workload_names() -> tuple[str, ...]:
    """Return the traces that the twin can play."""
    return tuple(name for name, trace in TRACES.items() if trace.read_workload is not None)


def event_names() -> tuple[str, ...]:
    """Return the traces that models can learn from."""
    return tuple(name for name, trace in TRACES.items() if trace.events is not None)


def read_workload_trace(name: str, data_dir: Path) -> WorkloadTrace:
    """Read the machines and pods of trace `name` from the folder of all trace files.

    Raises:
        InputError: no trace of that name has them, a file is absent, or a column has another unit than published.
    """
    trace = TRACES.get(name)
    if trace is None or trace.read_workload is None:
        raise InputError("workload", name, f"use one of {', '.join(workload_names())}")
    read = trace.read_workload(data_dir)
    check_units(read)
    return read


def event_reader(name: str, common: CommonOptions = AS_IT_IS) -> EventReader:
    """Return what reads the task events of trace `name`; `common` is how an input of the common form differs from it.

    Raises:
        ConfigError: no trace of that name has them, or it is not the common form that `common` is of.
    """
    if name == NAME:
        return cloud_neutral.reader_of(common)
    for option, value in common.given.items():
        remedy = f"it is of the form {NAME} alone; leave it out"
        raise ConfigError(f"--{option.replace('_', '-')}", value, remedy)
    trace = TRACES.get(name)
    if trace is None or trace.events is None:
        raise ConfigError("--trace", name, f"give one of {', '.join(event_names())}")
    return trace.events
