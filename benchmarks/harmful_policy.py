"""A policy that does harm on purpose: agent A wants half as many replicas more of every workload, without end."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from schemas.actions import Evidence, ReplicateAction, Target, TargetKind
from schemas.effect import Effect
from services.agents.appraisal import Appraisal, Candidate, PolicyInput, pods_without_capacity
from services.agents.registry import agents_by_name

AGENT = "safety"
GUARDS_OFF = """
[executor]
cool_down_seconds = 0.0
[executor.caps]
per_workload = 100000
per_namespace = 100000
surge_ratio = 100000.0
surge_pods = "100000%"
"""
"""Settings under which no other guard rail stops it."""
CLAIM = Effect(
    horizon_seconds=600.0,
    terms={"slo_services": 100.0},
    net=100.0,
    low=99.0,
    high=101.0,
    per_hour=600.0,
    currency="USD",
)
"""What it says it brings, whatever it does."""


MOST_WAITING = 200
"""Pods without a place from which it pauses: more show nothing more, and cost the computer dear."""


def replicate_without_end(situation: PolicyInput) -> Appraisal:
    """Want half as many replicas more of everything behind a Service."""
    table = situation.view.services
    if table is None or pods_without_capacity(situation) > MOST_WAITING:
        return Appraisal((), "nothing to replicate")
    needs = Evidence(name="replicas", value=1.0, comparison=">=", threshold=0.0, holds=True)
    wanted = tuple(
        Candidate(
            ReplicateAction(
                target=Target(kind=TargetKind.WORKLOAD, name=workload),
                replicas=replicas + max(1, math.ceil(replicas / 2)),
            ),
            CLAIM,
            (needs,),
            "more of it",
        )
        for workload, replicas in zip(table.workload, table.wanted, strict=True)
    )
    return Appraisal(wanted, "everything needs more replicas")


@contextmanager
def planted() -> Iterator[None]:
    """Let agent A of this process judge so."""
    agents = agents_by_name()
    sound = agents[AGENT]
    agents[AGENT] = replace(sound, code=replace(sound.code, appraise=replicate_without_end))
    try:
        yield
    finally:
        agents[AGENT] = sound
