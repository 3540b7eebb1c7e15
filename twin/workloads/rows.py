"""Check one row of a workload file and turn it into a node or an arrival.

Guarantee: a row either becomes exactly what its fields say, or raises InputError that names
file, line, field, value and remedy. Nothing is guessed and no field is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Literal, TypeVar

from inputs.plain_numbers import parse_number
from twin.admission.metadata import LABEL_VALUE, MAX_LABEL, is_label_key
from twin.traffic import RATE_FILE, read_traffic, recorded_text
from twin.workloads.arrival import (
    NodeShape,
    UsageWindow,
    WorkloadArrival,
    read_windows,
    windows_from_text,
)
from twin.workloads.attempts import read_attempts
from twin.workloads.autoscaler import read_autoscaler
from twin.workloads.rate_file import named_file, read_rate_file
from twin.workloads.row_place import RowPlace

Cell = object  # CSV gives str, JSON Lines gives its own types; both are read by the same checks
Row = Mapping[str, Cell]
Deadline = TypeVar("Deadline", int, float)

SHARED_FIELDS = ("record", "name", "labels")
NODE_FIELDS = ("cpu_millicores", "memory_bytes", "gpus", "cordoned", "annotations")
ARRIVAL_FIELDS = (
    "time_seconds",
    "kind",
    "cpu_request_millicores",
    "memory_request_bytes",
    "cpu_usage_ratio",
    "memory_usage_ratio",
    "duration_seconds",
    "outcome",
    "replicas",
    "priority",
    "namespace",
    "usage_windows",
    "start_nodes",
    "traffic",
    "autoscaler",
    "history",
    "request_cpu_seconds",
    "request_cv",
    "request_timeout_seconds",
    "request_workers",
    "ready_seconds",
    "late_after_seconds",
    "active_deadline_seconds",
    "attempts",
)
ALL_FIELDS = (*SHARED_FIELDS, *NODE_FIELDS, *ARRIVAL_FIELDS)
LONGEST_NAME = 253
NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


@dataclass(frozen=True, slots=True)
class RowFields:
    """Typed access to one row; an empty cell counts as absent."""

    row: Row
    place: RowPlace

    def _absent(self, field: str) -> bool:
        return self.row.get(field) in (None, "")

    def text(self, field: str, default: str | None = None) -> str:
        """A string; without default it is required."""
        value = self.row.get(field)
        if self._absent(field):
            if default is None:
                raise self.place.error(field, "(absent)", "give a value")
            return default
        if not isinstance(value, str):
            raise self.place.error(field, value, "give a string")
        return value

    def name(
        self,
        field: str,
        default: str | None = None,
        *,
        longest: int = LONGEST_NAME,
        dots: str = ".",
    ) -> str:
        """A Kubernetes object name."""
        value = self.text(field, default)
        edges = value[:1] + value[-1:]
        known = NAME_CHARACTERS | set(dots)
        twice = any(pair in value for pair in ("..", ".-", "-."))
        if not set(value) <= known or len(value) > longest or set(edges) & set("-.") or twice:
            signs = "'-' and '.'" if dots else "and '-'"
            remedy = f"use a-z, 0-9, {signs}, at most {longest}, a letter or digit at the ends"
            raise self.place.error(field, value, remedy)
        return value

    def number(self, field: str, low: float, high: float, default: float | None = None) -> float:
        """A finite number within low..high; without default it is required."""
        wanted = f"give a number from {low:g} to {high:g}"
        if self._absent(field):
            if default is None:
                raise self.place.error(field, "(absent)", wanted)
            return default
        value = self.row[field]
        try:
            number = _number(value)
        except ValueError as error:
            raise self.place.error(field, value, wanted) from error
        if not low <= number <= high:
            raise self.place.error(field, value, wanted)
        return number

    def optional(self, field: str, low: float, high: float) -> float | None:
        """A finite number within low..high; None without one."""
        return None if self._absent(field) else self.number(field, low, high)

    def whole(self, field: str, low: int, high: int, default: int | None = None) -> int:
        """A whole number within low..high; without default it is required."""
        number = self.number(field, low, high, default)
        if number != int(number):
            raise self.place.error(field, self.row[field], "give a whole number")
        return int(number)

    def flag(self, field: str) -> bool:
        """True or false; absent is false."""
        value = self.row.get(field)
        if self._absent(field):
            return False
        known = {"true": True, "false": False}
        if isinstance(value, str) and value.lower() in known:
            return known[value.lower()]
        if not isinstance(value, bool):
            raise self.place.error(field, value, "give true or false")
        return value

    def pairs(self, field: str) -> dict[str, str]:
        """Labels or annotations: an object in JSON Lines, `key=value;key=value` in CSV."""
        value = self.row.get(field)
        remedy = "give key=value;key=value (CSV) or an object of strings (JSON Lines)"
        if value is None or value == "":
            return {}
        if isinstance(value, str):
            parts = [part.partition("=") for part in value.split(";")]
            if any(not key or not sign for key, sign, _ in parts):
                raise self.place.error(field, value, remedy)
            value = {key: text for key, _, text in parts}
        if not isinstance(value, dict) or any(
            not isinstance(cell, str) for pair in value.items() for cell in pair
        ):
            raise self.place.error(field, value, remedy)
        for key, text in value.items():
            self._check_pair(field, key, text)
        return dict(value)

    def _check_pair(self, field: str, key: str, text: str) -> None:
        if not is_label_key(key):
            remedy = "write keys as name or prefix/name: letters, digits, '-', '_' and '.'"
            raise self.place.error(field, key, remedy)
        if field == "labels" and (len(text) > MAX_LABEL or not LABEL_VALUE.match(text)):
            remedy = f"use letters, digits, '-', '_' and '.' in values, at most {MAX_LABEL}"
            raise self.place.error(field, text, remedy)

    def windows(self) -> tuple[UsageWindow, ...]:
        """Usage windows: `seconds:cpu:memory;...`, or a list of such triples in JSON Lines."""
        value = self.row.get("usage_windows")
        try:
            if value is None or isinstance(value, str):
                return windows_from_text(value or "")
            if isinstance(value, list) and all(isinstance(part, list) for part in value):
                return read_windows([[_number(cell) for cell in part] for part in value])
        except ValueError as error:
            remedy = f"give seconds:cpu_ratio:memory_ratio;... ({error})"
            raise self.place.error("usage_windows", value, remedy) from error
        remedy = "give seconds:cpu_ratio:memory_ratio;... or a list of [seconds, cpu, memory]"
        raise self.place.error("usage_windows", value, remedy)

    def node_names(self) -> tuple[str, ...]:
        """Start nodes: names separated by `;`, or a list of strings in JSON Lines."""
        value = self.row.get("start_nodes")
        if value is None or value == "":
            return ()
        names = value.split(";") if isinstance(value, str) else value
        if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
            raise self.place.error("start_nodes", value, "give names of node rows: n1;n1;n2")
        return tuple(names)


def _number(cell: Cell) -> float:
    """Return a number of JSON, or one written as text; raises ValueError for anything else."""
    if isinstance(cell, str):
        return parse_number(cell)
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        raise ValueError(f"not a number: {cell!r}")
    try:
        number = float(cell)
    except OverflowError as error:
        raise ValueError("too large a number") from error
    if not isfinite(number):
        raise ValueError(f"not a finite number: {cell!r}")
    return number


def read_row(row: Row, place: RowPlace) -> NodeShape | WorkloadArrival:
    """Turn one row into what its `record` field says; raises InputError on any bad field."""
    fields = RowFields(row, place)
    record = fields.text("record")
    readers: dict[
        str, tuple[tuple[str, ...], Callable[[RowFields], NodeShape | WorkloadArrival]]
    ] = {
        "node": (NODE_FIELDS, _node),
        "arrival": ((*ARRIVAL_FIELDS, "gpus"), _arrival),
    }
    if record not in readers:
        raise place.error("record", record, "use node or arrival")
    allowed, reader = readers[record]
    for field, value in row.items():
        if field not in SHARED_FIELDS and field not in allowed and value not in (None, ""):
            raise place.error(field, value, f"leave it out of {record} rows")
    return reader(fields)


def _node(fields: RowFields) -> NodeShape:
    return NodeShape(
        name=fields.name("name", longest=MAX_LABEL),
        cpu_millicores=fields.whole("cpu_millicores", 1, 10**9),
        memory_bytes=fields.whole("memory_bytes", 1, 10**18),
        gpus=fields.whole("gpus", 0, 10**4, 0),
        labels=fields.pairs("labels"),
        cordoned=fields.flag("cordoned"),
        annotations=fields.pairs("annotations"),
    )


def _kind(fields: RowFields) -> Literal["service", "task"]:
    match fields.text("kind"):
        case "service":
            return "service"
        case "task":
            return "task"
        case other:
            raise fields.place.error("kind", other, "use service or task")


def _outcome(fields: RowFields) -> Literal["succeed", "fail", "run"]:
    match fields.text("outcome", "run"):
        case "succeed":
            return "succeed"
        case "fail":
            return "fail"
        case "run":
            return "run"
        case other:
            raise fields.place.error("outcome", other, "use succeed, fail or run")


def _arrival(fields: RowFields) -> WorkloadArrival:
    outcome = _outcome(fields)
    lasting = fields.number("duration_seconds", 0, 10**10, -1.0)
    replicas, start_nodes = fields.whole("replicas", 1, 10**5, 1), fields.node_names()
    if len(start_nodes) > replicas:
        remedy = f"name at most as many nodes as replicas ({replicas})"
        raise fields.place.error("start_nodes", f"{len(start_nodes)} nodes", remedy)
    if lasting < 0 and outcome != "run":
        raise fields.place.error(
            "duration_seconds",
            "(absent)",
            f"say after how many seconds it comes to {outcome}",
        )
    return WorkloadArrival(
        time_seconds=fields.number("time_seconds", 0, 10**10),
        name=fields.name("name"),
        kind=_kind(fields),
        cpu_request_millicores=fields.whole("cpu_request_millicores", 0, 10**9),
        memory_request_bytes=fields.whole("memory_request_bytes", 0, 10**18),
        gpus=fields.whole("gpus", 0, 10**4, 0),
        cpu_usage_ratio=fields.number("cpu_usage_ratio", 0, 100, 0.5),
        memory_usage_ratio=fields.number("memory_usage_ratio", 0, 100, 0.5),
        duration_seconds=None if lasting < 0 else lasting,
        outcome=outcome,
        replicas=replicas,
        priority=fields.whole("priority", -(10**9), 10**9, 0),
        labels=fields.pairs("labels"),
        namespace=fields.name("namespace", "default", longest=MAX_LABEL, dots=""),
        usage_windows=fields.windows(),
        start_nodes=start_nodes,
        traffic=_traffic(fields),
        autoscaler=_autoscaler(fields),
        history=_history(fields),
        request_cpu_seconds=fields.optional("request_cpu_seconds", 1e-5, 1_000),
        request_cv=fields.optional("request_cv", 0.1, 4),
        request_timeout_seconds=fields.optional("request_timeout_seconds", 0.001, 300),
        request_workers=fields.whole("request_workers", 1, 1_024, 0) or None,
        ready_seconds=_of_services(fields, "ready_seconds"),
        late_after_seconds=_deadline(fields, "late_after_seconds", fields.number),
        active_deadline_seconds=_deadline(fields, "active_deadline_seconds", fields.whole),
        attempts=_attempts(fields, replicas),
    )


def _deadline(
    fields: RowFields, name: str, read: Callable[[str, int, int], Deadline]
) -> Deadline | None:
    """Return a deadline of a task in seconds; None without one."""
    value = fields.row.get(name)
    if value in (None, ""):
        return None
    if fields.row.get("kind") != "task":
        raise fields.place.error(name, value, "give deadlines to tasks only")
    return read(name, 1, 10**10)


def _attempts(fields: RowFields, replicas: int) -> str:
    """Return the text of a task's attempts; empty without."""
    text = fields.text("attempts", "")
    if not text:
        return ""
    if fields.row.get("kind") != "task" or fields.row.get("duration_seconds") not in (None, ""):
        raise fields.place.error("attempts", text[:60], "give it to tasks without duration_seconds")
    try:
        pods = len(read_attempts(text))
    except ValueError as error:
        remedy = f"write 60f,62f,300s;45x;r ({error})"
        raise fields.place.error("attempts", text[:60], remedy) from error
    if pods != replicas:
        raise fields.place.error("attempts", f"{pods} pods", f"give those of {replicas} replicas")
    return text


def _of_services(fields: RowFields, name: str) -> float | None:
    """Return a number of seconds that only services have; None without one."""
    value = fields.row.get(name)
    if value not in (None, "") and fields.row.get("kind") != "service":
        raise fields.place.error(name, value, "give it to services only")
    return fields.optional(name, 0, 3_600)


def _traffic(fields: RowFields) -> str:
    """Return the text of a service's traffic, a rate file's rates in it; empty without traffic."""
    text = fields.text("traffic", "")
    if not text:
        return ""
    if fields.row.get("kind") != "service":
        raise fields.place.error("traffic", text, "give traffic to services only")
    if text.startswith(RATE_FILE):
        folder = fields.place.folder
        path = None if folder is None else named_file(text.removeprefix(RATE_FILE), folder)
        if path is None:
            raise fields.place.error("traffic", text, "name a .csv file beside this one")
        return recorded_text(read_rate_file(path))
    try:
        read_traffic(text)
    except ValueError as error:
        raise fields.place.error("traffic", text, f"{error}, or write file RATES.csv") from error
    return text


def _autoscaler(fields: RowFields) -> str:
    """Return the text of a service's autoscaler; empty without one."""
    text = fields.text("autoscaler", "")
    if not text:
        return ""
    if fields.row.get("kind") != "service":
        raise fields.place.error("autoscaler", text, "give autoscalers to services only")
    try:
        return read_autoscaler(text).text()
    except ValueError as error:
        raise fields.place.error("autoscaler", text, str(error)) from error


def _history(fields: RowFields) -> str:
    """Return the name of the file that tells of the time before; empty without one."""
    name, folder = fields.text("history", ""), fields.place.folder
    if not name:
        return ""
    if fields.row.get("kind") != "service":
        raise fields.place.error("history", name, "give histories to services only")
    path = None if folder is None else named_file(name, folder)
    if path is None or not path.is_file():
        raise fields.place.error(
            "history", name, "name a .csv, .csv.gz or .parquet file beside this one"
        )
    return path.name
