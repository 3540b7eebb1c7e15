"""Record of a scenario: when each pod and node came, changed and went, as its looks saw it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from bus.errors import InputError
from lab.fidelity.cluster import Object
from lab.fidelity.objects import VERSION

TYPE = "node.kubernetes.io/instance-type"
CAPACITY = "karpenter.sh/capacity-type"
DATA = Path(__file__).with_name("data")


@dataclass(slots=True)
class PodLife:
    """One pod; times are seconds after the scenario's begin, None: not seen to happen."""

    name: str
    app: str
    version: str
    created: float
    bound: float | None = None
    node: str = ""
    ready: float | None = None
    unready: float | None = None
    """When it stopped being ready."""
    terminating: float | None = None
    gone: float | None = None


@dataclass(slots=True)
class NodeLife:
    """One node; times as above."""

    name: str
    machine: str
    """Its instance type, with `/spot` if it is one; empty for a scenario's own nodes."""
    registered: float
    ready: float | None = None
    not_ready: float | None = None
    cordoned: float | None = None
    """First seen unschedulable, or with a taint that keeps new pods away because it is to go."""
    gone: float | None = None


@dataclass(slots=True)
class Recording:
    """A scenario as it went on one side."""

    scenario: str
    programs: dict[str, str]
    """Versions of what was at work."""
    seconds: float
    pods: list[PodLife] = field(default_factory=list)
    nodes: list[NodeLife] = field(default_factory=list)
    answers: list[tuple[float, str, int]] = field(default_factory=list)
    """(seconds, what was asked, HTTP status)"""
    events: dict[str, float] = field(default_factory=dict)
    """`Kind Reason` of KubeEvents, with the time when one was first seen."""

    def text(self) -> str:
        """Return the JSON document, one row a line."""
        lines = [
            f'"scenario": {json.dumps(self.scenario)}',
            f'"programs": {json.dumps(self.programs)}',
        ]
        lines.append(f'"seconds": {self.seconds}')
        for key, rows in (("pods", self.pods), ("nodes", self.nodes)):
            inner = ",\n  ".join(json.dumps(list(asdict(row).values())) for row in rows)
            lines.append(f'"{key}": [\n  {inner}\n ]' if rows else f'"{key}": []')
        lines.append(f'"answers": {json.dumps(self.answers)}')
        lines.append(f'"events": {json.dumps(self.events)}')
        return "{\n " + ",\n ".join(lines) + "\n}\n"


def read_recording(file: Path) -> Recording:
    """Read what `Recording.text` wrote; raises InputError for anything else."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        pods = [_row(PodLife, row) for row in document.pop("pods")]
        nodes = [_row(NodeLife, row) for row in document.pop("nodes")]
        answers = [
            (float(when), str(what), int(code)) for when, what, code in document.pop("answers")
        ]
        return Recording(pods=pods, nodes=nodes, answers=answers, **document)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError("recording", file.name, f"measure it again: {error}") from error


def _row(kind: type[Any], row: list[Any]) -> Any:
    return kind(**dict(zip((one.name for one in fields(kind)), row, strict=True)))


class Observer:
    """Keeps a Recording from one look after the other."""

    def __init__(self, scenario: str, seconds: float) -> None:
        """Start with nothing seen."""
        self._scenario = scenario
        self._seconds = seconds
        self._pods: dict[str, PodLife] = {}
        self._nodes: dict[str, NodeLife] = {}
        self._events: dict[str, float] = {}

    def look(
        self, now: float, pods: list[Object], nodes: list[Object], events: list[Object]
    ) -> None:
        """Take note of what there is `now`, seconds after the scenario's begin."""
        now = round(now, 1)
        seen = {one["metadata"]["uid"] for one in pods}
        for one in pods:
            self._look_at_pod(now, one)
        for uid, life in self._pods.items():
            if uid not in seen and life.gone is None:
                life.gone = now
        seen = {one["metadata"]["uid"] for one in nodes}
        for one in nodes:
            self._look_at_node(now, one)
        for uid, machine in self._nodes.items():
            if uid not in seen and machine.gone is None:
                machine.gone = now
        for event in events:
            about = event.get("involvedObject", {}).get("kind", "")
            self._events.setdefault(f"{about} {event.get('reason', '')}", now)

    def _look_at_pod(self, now: float, obj: Object) -> None:
        meta = obj["metadata"]
        labels = meta.get("labels", {})
        life = self._pods.get(meta["uid"])
        if life is None:
            life = PodLife(meta["name"], labels.get("app", ""), labels.get(VERSION, ""), now)
            self._pods[meta["uid"]] = life
        if obj["spec"].get("nodeName") and life.bound is None:
            life.bound, life.node = now, obj["spec"]["nodeName"]
        ready = _condition(obj, "Ready") == "True"
        if ready and life.ready is None:
            life.ready = now
        if life.ready is not None and not ready and life.unready is None:
            life.unready = now
        if "deletionTimestamp" in meta and life.terminating is None:
            life.terminating = now

    def _look_at_node(self, now: float, obj: Object) -> None:
        meta = obj["metadata"]
        life = self._nodes.get(meta["uid"])
        if life is None:
            labels = meta.get("labels", {})
            spot = "/spot" if labels.get(CAPACITY) == "spot" else ""
            life = NodeLife(meta["name"], labels.get(TYPE, "") + spot, now)
            self._nodes[meta["uid"]] = life
        ready = _condition(obj, "Ready") == "True"
        if ready and life.ready is None:
            life.ready = now
        if life.ready is not None and not ready and life.not_ready is None:
            life.not_ready = now
        if _is_to_go(obj) and life.cordoned is None:
            life.cordoned = now

    def recording(
        self, programs: Mapping[str, str], answers: list[tuple[float, str, int]]
    ) -> Recording:
        """Return what was seen; generated names become `app#1` and `machine#1`, in order of arrival."""
        nodes, pods = list(self._nodes.values()), list(self._pods.values())
        names = {one.name: one.name for one in nodes}
        for number, one in _number_lives(
            [one for one in nodes if one.machine], "machine", "registered"
        ):
            names[one.name] = f"{one.machine}#{number}"
        for number, life in _number_lives([one for one in pods if one.version], "app", "created"):
            life.name = f"{life.app}#{number}"
        for life in pods:
            life.node = names.get(life.node, life.node)
        for machine in nodes:
            machine.name = names[machine.name]
        return Recording(
            self._scenario,
            dict(programs),
            self._seconds,
            sorted(pods, key=lambda one: (one.created, one.name)),
            sorted(nodes, key=lambda one: (one.registered, one.name)),
            [(round(when, 1), what, code) for when, what, code in answers],
            dict(sorted(self._events.items(), key=lambda one: (one[1], one[0]))),
        )


def _condition(obj: Object, kind: str) -> str:
    for one in obj.get("status", {}).get("conditions") or ():
        if one["type"] == kind:
            return str(one["status"])
    return ""


def _is_to_go(obj: Object) -> bool:
    going = ("ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted")
    spec = obj.get("spec", {})
    return bool(spec.get("unschedulable")) or any(
        one["key"] in going for one in spec.get("taints") or ()
    )


def _number_lives(lives: list[Any], group: str, order: str) -> list[tuple[int, Any]]:
    counts: dict[str, int] = {}
    found = []
    for life in sorted(lives, key=lambda one: (getattr(one, order), one.name)):
        key = getattr(life, group)
        counts[key] = counts.get(key, 0) + 1
        found.append((counts[key], life))
    return found
