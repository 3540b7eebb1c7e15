"""What files of a user's own hold for the twin, and whose they are: arrivals, requests, machines, scenarios.

A comment line `# source: ...` or `# licence: ...` of a file says the latter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from foresail.twin.validate import check_machine_file, check_workload, is_scenario
from projections.figures import number
from schemas.wording import count_text
from twin.port.files import (
    Recorded,
    Traffic,
    Weather,
    is_machine_file,
    is_rate_file,
    read_rate_file,
    read_scenario,
    read_traffic,
)
from twin.port.workloads import PARQUET_SUFFIX, plain_nodes

OWN = "yours"
NOT_SAID = "not said; add a line `# source: ...` and `# licence: ...`"
_PLAIN_NODES = 100
_HEAD_LINES = 50


@dataclass(frozen=True, slots=True)
class OwnFile:
    """One file."""

    kind: str
    """workload, traffic, machines or scenario."""
    name: str
    title: str
    licence: str
    source: str


def describe_file(path: Path) -> OwnFile:
    """Return what a file holds; raises InputError for the first that is wrong with it."""
    if is_scenario(path) and is_machine_file(path):
        kind, title = "machines", _machines_title(path)
    elif is_scenario(path):
        kind, title = "scenario", _scenario_title(path)
    elif is_rate_file(path):
        kind, title = "traffic", f"requests of a Service: {_rates(read_rate_file(path))}"
    else:
        kind, title = "workload", _workload_title(path)
    notes = {} if path.suffix == PARQUET_SUFFIX else dict(_notes(path))
    licence = notes.get("licence", notes.get("license", OWN))
    return OwnFile(kind, path.name, title, licence, notes.get("source", NOT_SAID))


def _notes(path: Path) -> Iterator[tuple[str, str]]:
    with path.open(encoding="utf-8-sig") as file:
        for _, line in zip(range(_HEAD_LINES), file, strict=False):
            name, sign, text = line.removeprefix("#").partition(":")
            if line.startswith("#") and sign and text.strip():
                yield name.strip().lower(), " ".join(text.split())


def _machines_title(path: Path) -> str:
    holds, errors = check_machine_file(path)
    if errors:
        raise errors[0]
    return f"for --machines: {holds}"


def _scenario_title(path: Path) -> str:
    scenario = read_scenario(path)
    parts = [count_text(len(scenario.faults), "fault")]
    changes = [fault for fault in scenario.faults if isinstance(fault, Traffic)]
    if changes:
        parts.append(
            f"traffic changes {count_text(len(changes), 'time')}: {', '.join(map(_change, changes))}"
        )
    levels = [fault.level for fault in scenario.faults if isinstance(fault, Weather)]
    parts.append(f"weather {', '.join(levels)}" if levels else "weather as it is")
    return "; ".join(parts)


def _change(fault: Traffic) -> str:
    who = " and ".join(fault.services) or "all Services"
    course = f"{_course(fault.traffic)}" if fault.traffic else "as before"
    return f"{who} {course}" + (f" x {number(fault.factor)}" if fault.factor != 1.0 else "")


def _course(text: str) -> str:
    traffic = read_traffic(text)
    return _rates(traffic) if isinstance(traffic, Recorded) else text


def _rates(traffic: Recorded) -> str:
    low, high = number(min(traffic.rates)), number(max(traffic.rates))
    return f"{len(traffic.times)} recorded rates, {low} to {high} a second"


def _workload_title(path: Path) -> str:
    content, errors = check_workload(path, plain_nodes(_PLAIN_NODES))
    if errors:
        raise errors[0]
    parts = [
        f"{count_text(len(content.nodes), 'node')}, {count_text(len(content.arrivals), 'arrival')}"
    ]
    served = [arrival for arrival in content.arrivals if arrival.traffic]
    if served:
        who = ", ".join(f"{arrival.name} {_course(arrival.traffic)}" for arrival in served[:3])
        parts.append(f"traffic of {len(served)} services: {who}" + (", ..." if served[3:] else ""))
    else:
        parts.append("no traffic")
    late = sum(
        arrival.late_after_seconds is not None or arrival.active_deadline_seconds is not None
        for arrival in content.arrivals
    )
    return "; ".join([*parts, f"{count_text(late, 'task')} with deadlines"] if late else parts)
