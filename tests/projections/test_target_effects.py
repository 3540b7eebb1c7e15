"""Effect of acting on a target: proposed against left targets, on logs whose effect is known."""

from __future__ import annotations

from typing import Any

import pytest

from projections.target_effects import KindEffect, TargetEffects, estimate_of
from schemas.actions import ActionKind
from schemas.effect import Effect
from schemas.observation import ObservedServices
from schemas.proposal import LeftUntouched, UntouchedDraw
from schemas.tables import table_of
from schemas.work import LATENCY_BOUNDS, ServiceCounters, WorkCounters
from services.agents.value_settings import ValueSettings
from tests.builders import (
    START_SECONDS,
    make_action,
    make_config,
    make_observation,
    make_proposal,
    stamp_event,
)

SETTINGS = ValueSettings(core_hour=1.0, memory_gib_hour=0.0, slo_service_minute=0.1)
STEP = 60.0
HORIZON = 600.0
EFFECT = Effect(
    horizon_seconds=HORIZON, terms={}, net=1.0, low=1.0, high=1.0, per_hour=6.0, currency="USD"
)
NAMES = ("a", "b", "c", "d")
LEFT = ("c", "d")


def target(name: str) -> str:
    """Return a workload."""
    return f"shop/Deployment/{name}"


class Log:
    """A log of minutes in which Services violate their objective or not."""

    def __init__(self) -> None:
        """Begin with the settings of an agent."""
        self.effects = TargetEffects()
        value = SETTINGS.model_dump(mode="json")
        self.effects.add(stamp_event(make_config("agent-safety", value=value)))
        self.minute = 0
        self.counts = dict.fromkeys(NAMES, (0.0, 0.0))

    def observe(self, violated: set[str], replicas: int = 2) -> None:
        """Add an observation; of each Service 100 requests came since the one before."""
        self.minute += 1
        for name, (served, in_time) in self.counts.items():
            late = 50.0 if name in violated else 0.0
            self.counts[name] = (served + 100.0, in_time + 100.0 - late)
        counters = tuple(
            ServiceCounters(
                service=f"shop/{name}", served=served, failed=0.0, lost=0.0, workload=target(name),
                served_within=(in_time,) * len(LATENCY_BOUNDS),
            )
            for name, (served, in_time) in self.counts.items()
        )  # fmt: skip
        rows: dict[str, dict[str, Any]] = {
            f"shop/{name}": {
                "workload": target(name), "wanted": 2 if name in LEFT else replicas, "ready": 2, "autoscaled": False,
                "least": 0, "most": 0, "replica_cpu_cores": 0.5, "replica_memory_bytes": 0,
            }
            for name in NAMES
        }  # fmt: skip
        observation = make_observation(
            3,
            cycle=self.minute,
            cluster_time_seconds=START_SECONDS + STEP * self.minute,
            work=WorkCounters(services=counters),
            services=table_of(ObservedServices, rows),
        )
        self.effects.add(stamp_event(observation))

    def propose(self, ends: float = 3_600.0) -> None:
        """Add a proposal: `a`, and `b` as a further wish; `c` and `d` are left."""
        actions = {
            name: make_action("safety", ActionKind.REPLICATE, target=target(name), replicas=4)
            for name in NAMES
        }
        draw = UntouchedDraw(
            seed=7,
            ratio=0.5,
            epoch=1,
            ends_seconds=START_SECONDS + ends,
            eligible=(target("a"),),
            left=tuple(
                LeftUntouched(action=actions[name], effect=EFFECT, text="") for name in LEFT
            ),
        )
        proposal = make_proposal(
            "safety", ActionKind.REPLICATE, cycle=self.minute, target=target("a")
        )
        update = {
            "cluster_time_seconds": START_SECONDS + STEP * self.minute,
            "action": actions["a"],
            "effect": EFFECT,
            "untouched": draw,
        }
        self.effects.add(stamp_event(proposal.model_copy(update=update)))


def test_the_estimate_is_what_the_proposed_gain_more_than_the_left() -> None:
    """A violation costs 6 an hour and four replicas 1 more than two: 5 an hour more than a target that goes on so."""
    log = Log()
    log.observe(set())
    log.observe({"a", "c", "d"})
    log.propose()
    for _ in range(10):
        log.observe({"c", "d"}, replicas=4)
        log.propose()
    kind = log.effects.kinds["replicate"]
    assert (kind.proposed, kind.left, kind.expected) == (
        [pytest.approx(5.0)],
        pytest.approx([0.0, 0.0]),
        [6.0],
    )
    estimate = estimate_of(kind)
    assert estimate is not None
    assert (estimate.per_hour, estimate.low) == (pytest.approx(5.0), None)
    assert log.effects.open == [], "once an epoch"


def test_units_whose_horizon_goes_beyond_their_epoch_are_left_out_on_both_sides() -> None:
    """The target may be treated otherwise in the next one."""
    log = Log()
    log.observe(set())
    log.observe({"a", "c", "d"})
    log.propose(ends=HORIZON)
    for _ in range(12):
        log.observe(set())
    kind = log.effects.kinds["replicate"]
    assert (kind.proposed, kind.left, kind.cut) == ([], [], 3)


def test_an_interval_covers_what_two_groups_differ_by() -> None:
    """By hand: variances of the means 1/6 and 1/3, so 3.86 degrees of freedom, rounded down to 3, of which the tables
    give 3.182 standard errors of 0.7071.
    """
    kind = KindEffect(proposed=[3.0, 4.0, 5.0, 4.0], left=[1.0, 2.0, 3.0])
    estimate = estimate_of(kind)
    assert estimate is not None
    assert estimate.per_hour == pytest.approx(2.0)
    assert (estimate.low, estimate.high) == pytest.approx((2.0 - 2.250, 2.0 + 2.250), abs=1e-3)


def test_a_log_without_draws_has_no_estimate() -> None:
    """Nothing is made up where nothing was left."""
    log = Log()
    log.observe(set())
    assert log.effects.kinds == {}
    assert log.effects.draw is None
    assert estimate_of(KindEffect(proposed=[1.0])) is None
