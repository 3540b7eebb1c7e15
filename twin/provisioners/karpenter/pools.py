"""NodePools as the solver and the disruption loop read them (pkg/apis/v1/nodepool.go)."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC

import orjson

from inputs.quantities import parse_millicores, parse_whole
from twin.cron_schedule import parse_schedule
from twin.provisioners.karpenter.names import POOL
from twin.provisioners.karpenter.requirements import (
    Requirements,
    add,
    of_expressions,
    of_labels,
    one_of,
)
from twin.records import Object, ObjectRecord

HASH_VERSION = "v3"
DEFAULT_EXPIRY = "720h"
_UNBOUNDED = 2**31 - 1
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(h|ms|m|s)")
_UNITS = {"h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


@dataclass(frozen=True, slots=True)
class Budget:
    """How many nodes of a pool may be disrupted at once, for some reasons and at some times."""

    nodes: str
    reasons: tuple[str, ...]
    schedule: str
    duration_seconds: float

    def allowed(self, nodes: int, now: float) -> int:
        """Return the number for a pool of so many nodes; percentages are rounded up."""
        if self.schedule and not self._active(now):
            return _UNBOUNDED
        if self.nodes.endswith("%"):
            return math.ceil(nodes * int(self.nodes[:-1]) / 100)
        return int(self.nodes)

    def _active(self, now: float) -> bool:
        begin = now - self.duration_seconds
        following = parse_schedule(self.schedule).next_after(begin, UTC)
        return following is not None and following <= now


@dataclass(frozen=True, slots=True)
class Pool:
    """One NodePool."""

    name: str
    uid: str
    weight: int
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    requirements: Requirements
    taints: tuple[Object, ...]
    startup_taints: tuple[Object, ...]
    limits: Mapping[str, int]
    """Millicores of `cpu`, whole units of the others; `nodes` counts machines."""
    class_reference: Object
    expire_after: str
    grace: str
    consolidate_after_seconds: float | None
    """None: never."""
    policy: str
    budgets: tuple[Budget, ...]
    hash: str

    def allowed_disruptions(self, nodes: int, reason: str, now: float) -> int:
        """Return how many of so many nodes may be disrupted at once for a reason."""
        return min(
            (
                budget.allowed(nodes, now)
                for budget in self.budgets
                if not budget.reasons or reason in budget.reasons
            ),
            default=_UNBOUNDED,
        )


def read_pool(record: ObjectRecord) -> Pool:
    """Return a NodePool that the API has admitted."""
    spec = record.body["spec"]
    template = spec["template"]
    head, inner = template.get("metadata") or {}, template["spec"]
    labels = {**(head.get("labels") or {}), POOL: record.name}
    requirements = of_expressions(inner.get("requirements") or ())
    add(requirements, of_labels(labels))
    disruption = spec.get("disruption") or {}
    return Pool(
        name=record.name,
        uid=record.uid,
        weight=spec.get("weight") or 0,
        labels=labels,
        annotations=head.get("annotations") or {},
        requirements=requirements,
        taints=tuple(inner.get("taints") or ()),
        startup_taints=tuple(inner.get("startupTaints") or ()),
        limits={name: _amount(name, value) for name, value in (spec.get("limits") or {}).items()},
        class_reference=inner.get("nodeClassRef") or {},
        expire_after=inner.get("expireAfter", DEFAULT_EXPIRY),
        grace=inner.get("terminationGracePeriod", ""),
        consolidate_after_seconds=read_duration(disruption.get("consolidateAfter", "0s")),
        policy=disruption.get("consolidationPolicy", "WhenEmptyOrUnderutilized"),
        budgets=tuple(map(_budget, disruption.get("budgets") or ({"nodes": "10%"},))),
        hash=template_hash(template),
    )


def template_hash(template: Object) -> str:
    """Return a number that changes with a pool's template, but not with its requirements, which are
    compared for themselves.
    """
    inner = {key: value for key, value in template["spec"].items() if key != "requirements"}
    text = orjson.dumps([template.get("metadata"), inner], option=orjson.OPT_SORT_KEYS)
    return str(int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big"))


def read_duration(text: str) -> float | None:
    """Return seconds of a Go duration such as 1h30m, None for `Never`."""
    if text == "Never":
        return None
    return math.fsum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def open_requirements(pool: Pool) -> Requirements:
    """Return a copy of a pool's requirements, to be narrowed."""
    return {**pool.requirements, POOL: one_of(pool.name)}


def _amount(name: str, value: str | int) -> int:
    return parse_millicores(value) if name == "cpu" else parse_whole(value)


def _budget(row: Object) -> Budget:
    length = read_duration(row.get("duration") or "0s") or 0.0
    reasons = tuple(row.get("reasons") or ())
    return Budget(str(row.get("nodes", "10%")), reasons, row.get("schedule") or "", length)
