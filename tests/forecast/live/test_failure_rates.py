"""How often attempts fail on a cluster, as it shows itself: a fold of its snapshots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from features.history import Kind
from features.live.age_hazard import age_hazard
from features.live.failure_rates import FailureRates, RowRates
from features.live.placements import placements_from
from features.live.pod_changes import MICROSECONDS, Change, PodSnapshot
from features.live.rates_text import decode_rates, encode_rates
from schemas.manifest import LiveRates
from schemas.snapshot import PodTable

RULES = LiveRates(
    horizon_seconds=900.0,
    ages_seconds=(0.0, 300.0, 1800.0),
    first=(0.2, 0.1, 0.01),
    strength_failures=0.5,
    machines=0.001,
    half_life_seconds=21_600.0,
    starts_half_life_seconds=1800.0,
    starts_strength=1.0,
)
STEP = 30
READY = {"n1": True, "n2": True}


class Cluster:
    """Jobs on two nodes, told by snapshots every half minute."""

    def __init__(self, *, program: str = "report") -> None:
        self.now, self.cycle, self.number = 0, 0, 0
        self.program = program
        self.rows: dict[str, int] = {}
        self.rates = FailureRates()

    def started(self, node: str, program: str = "") -> str:
        """Let a Job's only pod start just now, and return its row."""
        self.number += 1
        row = f"{node}|default/Job/{program or self.program}-{self.number}"
        self.rows[row] = 1
        return row

    def step(self, changes: Sequence[Change] = (), ready: dict[str, bool] | None = None) -> None:
        """Show the next snapshot."""
        self.now += STEP
        self.cycle += 1
        self.rates = self.rates.after(self.snapshot(), changes, ready or READY, RULES)

    def snapshot(self) -> PodSnapshot:
        """Return what is there."""
        ids = tuple(sorted(self.rows))
        ones = [self.rows[row] for row in ids]
        numbers = {"pods": ones, "cpu_request_cores": ones, "memory_request_bytes": ones}
        placed = placements_from(self.cycle, ids, numbers)
        return PodSnapshot(self.now * MICROSECONDS, placed, PodTable())

    def change(self, kind: Kind, row: str, before: float = 1.0) -> Change:
        """Return an event of a row, some seconds before the next snapshot."""
        at = round((self.now + STEP - before) * MICROSECONDS)
        return Change(at, kind, row, 1, 0.1, 0.1)

    def run(self, steps: int, *, fail_every: int = 0, program: str = "") -> None:
        """Let a Job start on n1 each step; every so many fail a step later."""
        for number in range(steps):
            row = self.started("n1", program)
            self.step([self.change(Kind.SCHEDULE, row)])
            kind = Kind.FAIL if fail_every and number % fail_every == 0 else Kind.FINISH
            del self.rows[row]
            self.step([self.change(kind, row)])

    def factor(self, program: str) -> float:
        """Return a program's factor."""
        name = f"default/Job/{program}"
        return self.rates.factors([name], RULES)[name]


def test_expected_failures_add_up_over_ages() -> None:
    """Within a step the rate is constant; over an edge both rates count, for their own time."""
    hazard = age_hazard(RULES.ages_seconds, RULES.first)
    within = hazard.within(np.array([0.0, 200.0, 5_000.0]), 300.0)
    third = 1 / 3
    assert within == pytest.approx([0.2 * third, (0.2 + 2 * 0.1) / 9, 0.01 * third])


def test_a_new_cluster_begins_at_the_rates_of_training_and_comes_to_its_own() -> None:
    """Without failures the factor falls, with many it rises far above 1."""
    quiet, busy = Cluster(), Cluster()
    assert quiet.factor("report") == 1.0
    quiet.run(20)
    busy.run(60, fail_every=4)
    assert 0.3 < quiet.factor("report") < 1.0
    assert busy.factor("report") > 20.0


def test_a_program_that_fails_more_often_stands_out() -> None:
    """Both have the cluster's level in common; the one that fails has a level of its own above it."""
    cluster = Cluster()
    for _ in range(10):
        cluster.run(3, fail_every=2, program="bad")
        cluster.run(12, program="good")
    assert cluster.factor("bad") > 2 * cluster.factor("good")
    assert cluster.factor("bad") > cluster.factor("never-seen") > cluster.factor("good")


def test_what_fails_again_is_no_first_failure() -> None:
    """It counts for repetition alone, and its workload's rows are told apart."""
    cluster = Cluster()
    row = cluster.started("n1")
    cluster.step([cluster.change(Kind.SCHEDULE, row)])
    cluster.step([cluster.change(Kind.FAIL, row)])
    first = cluster.rates.cluster.observed
    cluster.rates = cluster.rates.expecting_again(0.001)
    cluster.step([cluster.change(Kind.FAIL, row)])
    rates = cluster.rates
    assert rates.cluster.observed <= first
    assert [rates.again.observed, rates.again.expected] == pytest.approx([1.0, 0.03])
    assert RowRates.of(rates, cluster.snapshot(), np.array([0])).repeats.tolist() == [True]


def test_repetition_that_does_not_come_lowers_what_is_expected_of_it() -> None:
    """A booster that is sure of repetition is believed less each minute that brings none."""
    cluster = Cluster()
    row = cluster.started("n1")
    cluster.step([cluster.change(Kind.FAIL, row)])
    factors = [cluster.rates.again_factor(RULES)]
    for _ in range(20):
        cluster.rates = cluster.rates.expecting_again(2.0 / 900.0)
        cluster.step()
        factors.append(cluster.rates.again_factor(RULES))
    assert factors[0] == 1.0
    assert factors == sorted(factors, reverse=True)
    assert factors[-1] < 0.35


def test_what_died_with_its_machine_is_no_failure_of_the_program() -> None:
    """The machine counts once, however many pods it took; long after the outage a failure is one again."""
    cluster = Cluster()
    rows = [cluster.started("n1"), cluster.started("n1")]
    cluster.step([cluster.change(Kind.SCHEDULE, row) for row in rows])
    cluster.step(ready={"n1": False, "n2": True})
    cluster.step([cluster.change(Kind.FAIL, row) for row in rows])
    assert cluster.rates.cluster.observed == 0.0
    assert cluster.rates.machines.observed == 1.0
    assert not cluster.rates.repeats(cluster.snapshot())
    for _ in range(40):
        cluster.step()
    cluster.step([cluster.change(Kind.FAIL, rows[0])])
    assert cluster.rates.cluster.observed == 1.0


def test_starts_are_expected_where_they_were_but_not_from_the_first_look() -> None:
    """What is found at the first look began long ago; a node that gets what starts is expected to get more."""
    cluster = Cluster()
    found = [cluster.started("n2") for _ in range(50)]
    cluster.step([cluster.change(Kind.SCHEDULE, row) for row in found])
    cluster.run(60)
    busy, idle = cluster.rates.expected_starts(["n1", "n2"], RULES)
    assert busy == pytest.approx(900 / (2 * STEP), rel=0.2)
    assert 0.0 < idle < 0.1 * busy


def test_a_restarted_container_is_no_start() -> None:
    """It stays on its node: nothing is to be expected of it elsewhere."""
    cluster = Cluster()
    row = cluster.started("n1")
    for _ in range(4):
        cluster.step()
    for _ in range(8):
        cluster.step([cluster.change(Kind.FAIL, row), cluster.change(Kind.SCHEDULE, row)])
    assert cluster.rates.expected_starts(["n1", "n2"], RULES) == [0.0, 0.0]


def test_a_failure_counts_for_what_ran_and_for_what_was_to_start_by_its_age() -> None:
    """Of the 900 s before it a pod that failed after 90 s was there for a tenth."""
    cluster = Cluster()
    cluster.run(3)
    row = cluster.started("n1")
    cluster.step([cluster.change(Kind.SCHEDULE, row, before=30.0)])
    for _ in range(2):
        cluster.step()
    before = cluster.rates
    cluster.step([cluster.change(Kind.FAIL, row, before=0.0)])
    there = cluster.rates.running.observed - before.running.observed
    to_come = cluster.rates.coming.observed - before.coming.observed
    assert [there, to_come] == pytest.approx([120 / 900, 780 / 900])


def test_rates_survive_a_checkpoint_bit_for_bit() -> None:
    """As text and back the rates are equal, and go on equally."""
    cluster = Cluster()
    cluster.run(20, fail_every=3)
    text = encode_rates({"model/1": cluster.rates})
    assert text is not None
    restored = decode_rates(text)["model/1"]
    assert restored == cluster.rates
    cluster.run(5, fail_every=2)
    other = Cluster()
    other.now, other.cycle, other.number, other.rates = 1200, 40, 20, restored
    other.run(5, fail_every=2)
    assert other.rates == cluster.rates


@pytest.mark.parametrize("text", ["", "x", "eJw="])
def test_other_texts_are_no_rates(text: str) -> None:
    """They are refused as what they are."""
    with pytest.raises(ValueError, match=r"."):
        decode_rates(text)
