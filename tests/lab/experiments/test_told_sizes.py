"""Arms that are told other sizes: of the true future, and of another workload."""

from __future__ import annotations

import pytest

from foresail.experiment.told_sizes import KNOWN_SECONDS, foreseen, shuffled
from foresail.experiment.trial import run_trial
from lab.experiments.arms import Arm, Sizes
from lab.experiments.spec import Trial, Workload, World
from schemas.envelope import Event
from schemas.model import EventData
from schemas.sizes import PredictionSizes, SizeTable
from schemas.tables import table_of

TABLE = SizeTable(
    ids=("a/Job/1", "a/Job/2", "a/Job/3"), pods=(1, 1, 1), cpu_request_cores=(1.0, 2.0, 4.0),
    memory_request_bytes=(100, 200, 400), cpu_peak_cores=(0.1, 0.4, 1.2), memory_peak_bytes=(50, 120, 280),
    known_seconds=(300, 600, 900), rule=("pooled",) * 3,
)  # fmt: skip


def _ratios(table: SizeTable) -> list[float]:
    pairs = zip(table.cpu_peak_cores, table.cpu_request_cores, strict=True)
    return [round(peak / asked, 6) for peak, asked in pairs]


def test_each_workload_gets_the_ratio_of_another() -> None:
    """None keeps its own, all are there, and cores and memory come from the same other one."""
    for seed in range(5):
        other = shuffled(TABLE, seed)
        mine, theirs = _ratios(TABLE), _ratios(other)
        assert sorted(mine) == sorted(theirs)
        assert all(one != two for one, two in zip(mine, theirs, strict=True))
        bytes_told = zip(other.memory_peak_bytes, other.memory_request_bytes, strict=True)
        expected = {0.1: 0.5, 0.2: 0.6, 0.3: 0.7}
        assert [peak / asked for peak, asked in bytes_told] == pytest.approx(
            [expected[ratio] for ratio in theirs]
        )


def test_who_comes_changes_what_one_other_is_told() -> None:
    """Places in the circle stay, so that nobody's requests flap with who comes and goes."""
    names = [f"a/Job/{number}" for number in range(20)]
    rows = {
        name: {**TABLE.row(0), "cpu_peak_cores": float(number)} for number, name in enumerate(names)
    }
    all_told = shuffled(table_of(SizeTable, rows), 1)
    without = shuffled(table_of(SizeTable, {name: rows[name] for name in names[1:]}), 1)
    told = dict(zip(all_told.ids, all_told.cpu_peak_cores, strict=True))
    changed = [
        name
        for name, peak in zip(without.ids, without.cpu_peak_cores, strict=True)
        if told[name] != peak
    ]
    assert len(changed) == 1


def test_the_oracle_says_what_it_knows_and_keeps_the_rest() -> None:
    """A workload that runs no pod keeps what inference says."""
    table = foreseen(TABLE, {"a/Job/2": (0.7, 90.0)})
    assert table.cpu_peak_cores == (0.1, 0.7, 1.2)
    assert table.memory_peak_bytes == (50, 90, 280)
    assert set(table.known_seconds) == {KNOWN_SECONDS}


def _told(sizes: Sizes | None) -> SizeTable:
    """Return the newest sizes in the log of a quarter of an hour."""
    settings = {"agents.value": {"right_size": True}}
    arm = Arm(name="told", base="karpenter+foresail", settings=settings, sizes=sizes)
    world = World(nodes=3, warm_up="15s", length="15m", cycle="60s", rented=True)
    told: list[SizeTable] = []

    def listen(event: Event[EventData]) -> None:
        if isinstance(event.data, PredictionSizes):
            told.append(event.data.workloads)

    run_trial(Trial(world, Workload(name="azure"), arm, 1), "", None, listen)
    return told[-1]


def test_an_arm_is_told_the_future_or_that_of_another() -> None:
    """In a trial the oracle knows what each workload's pods will want, and shuffled sizes are not the arm's own."""
    true, wrong = _told("oracle"), _told("shuffled")
    assert len(true)
    assert set(true.known_seconds) == {KNOWN_SECONDS}
    assert all(0.0 < peak for peak in true.cpu_peak_cores)
    assert wrong.cpu_peak_cores != _told(None).cpu_peak_cores


def test_who_does_not_act_is_told_nothing() -> None:
    """Nobody would notice; and an arm is told wrong hours or other sizes."""
    with pytest.raises(ValueError, match="sizes: nobody here acts"):
        Arm(name="vpa", base="vpa+karpenter", sizes="oracle")
    with pytest.raises(ValueError, match="make two of it"):
        Arm(name="both", base="foresail", sizes="oracle", wrong_hours=True)
