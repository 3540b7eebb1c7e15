"""Every object of a busy engine says what it keeps; what is forgotten here would be lost in a clone."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import is_dataclass
from pathlib import PurePath
from random import Random
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import pytest

from twin.config import TwinConfig
from twin.config.behaviour import MetricsConfig
from twin.config.health import HealthConfig
from twin.config.kueue import KueueConfig
from twin.engine import Engine
from twin.part import Part, attributes, objects_of, parts_of
from twin.workloads.arrival import NodeShape, WorkloadArrival

GIB = 2**30
FIXED = (
    type(None), bool, int, float, str, bytes, FunctionType, MethodType, BuiltinFunctionType, type,
    PurePath,
)  # fmt: skip
NOT_STATE = {("Engine", "parts")}


@pytest.fixture(params=["metrics-server", "prometheus"])
def busy(arrival: Callable[..., WorkloadArrival], request: pytest.FixtureRequest) -> Engine:
    """A cluster in which everything happens that happens by itself, with either metrics source."""
    metrics = MetricsConfig(source=request.param)
    health = HealthConfig(weather="rough", pod_crashes_per_day=1.0)
    config = TwinConfig(
        node_failures_per_day=60.0,
        metrics=metrics,
        health=health,
        kueue=KueueConfig(served=True),
    )
    engine = Engine(config, seed=4)
    engine.add_nodes([NodeShape(f"n{i}", 4_000, 8 * GIB, 1, {}) for i in range(6)])
    engine.load(
        arrival(
            f"w-{i}",
            time_seconds=i * 4.0,
            kind="service" if i % 3 == 0 else "task",
            cpu_request_millicores=300 * (1 + i % 5),
            memory_usage_ratio=0.7 + 0.1 * (i % 5),
            duration_seconds=40.0 + i,
            outcome="fail" if i % 5 == 0 else "succeed",
        )
        for i in range(200)
    )
    return engine


def declared_attributes(owner: object) -> tuple[str, ...]:
    """Return the attributes that a part has declared."""
    return (*owner.KEEPS, *owner.LEAVES) if isinstance(owner, Part) else ()


def is_wiring(value: Any) -> bool:
    """True for what cannot change, and for objects that are looked at on their own."""
    if isinstance(value, (*FIXED, Part)) or type(value).__module__.startswith("twin."):
        return True
    if isinstance(value, tuple | frozenset):
        return all(is_wiring(entry) for entry in value)
    return is_dataclass(value) and value.__dataclass_params__.frozen


def forgotten(root: object) -> list[str]:
    """Return the mutable attributes that nobody has declared."""
    return [
        f"{type(owner).__name__}.{name} ({type(value).__name__})"
        for owner in objects_of(root)
        for name, value in attributes(owner).items()
        if name not in declared_attributes(owner)
        and (type(owner).__name__, name) not in NOT_STATE
        and not is_wiring(value)
    ]


def undeclared_values(root: object) -> dict[tuple[str, str], Any]:
    """Return every attribute that is taken for fixed, by class and name."""
    return {
        (type(owner).__name__, name): value
        for owner in objects_of(root)
        for name, value in attributes(owner).items()
        if name not in declared_attributes(owner)
    }


def test_no_behaviour_has_state_that_it_does_not_declare(busy: Engine) -> None:
    """Each list, dict, set and array is in KEEPS or in LEAVES."""
    busy.advance(busy.now + 900.0)

    assert forgotten(busy) == []


def test_what_is_taken_for_fixed_stays_fixed(busy: Engine) -> None:
    """No undeclared attribute is another one after a busy quarter of an hour."""
    before = undeclared_values(busy)
    busy.advance(busy.now + 900.0)
    after = undeclared_values(busy)

    assert before.keys() == after.keys()
    assert [key for key, value in after.items() if value is not before[key]] == []


def test_kept_attributes_exist_and_are_kept(busy: Engine) -> None:
    """What a part names it has, and `kept` returns all of it."""
    busy.advance(busy.now + 100.0)
    for name, part in parts_of(busy).items():
        assert set(declared_attributes(part)) <= set(attributes(part)), name
        assert tuple(part.kept()) == part.KEEPS, name


def test_parts_are_known_from_the_start(busy: Engine) -> None:
    """No part appears after construction: checkpoints of one version have one form."""
    before = list(busy.parts)
    busy.advance(busy.now + 900.0)

    assert before == list(parts_of(busy))


@pytest.mark.parametrize(
    "value", [[1], {"a": 1}, {1}, deque([1]), Random(1), iter([1]), bytearray(b"a"), ([],)]
)
def test_a_forgotten_attribute_is_found(busy: Engine, value: object) -> None:
    """The walk can fail: any mutable value on a part, a controller or the engine is named."""
    for owner in (busy, busy.kubelet, busy.contention._memory):
        owner.extra = value  # type: ignore[attr-defined]
        assert [f"{type(owner).__name__}.extra ({type(value).__name__})"] == forgotten(busy)
        del owner.extra  # type: ignore[attr-defined]
