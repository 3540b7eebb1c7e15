"""The pure parts of a comparison: what both get, what a look says, who is called better."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from lab.live.figures import ROWS, CycleTables, figures_of
from lab.live.loads import mirrored_plan, unequal_text
from lab.live.scorecards import CARDS, difference_rows, scorecards
from lab.live.windows import Comparison, SideWindow, StimulusWindow
from schemas.reasons import Reason
from schemas.snapshot import NodeTable, PlacementTable, PodTable, SnapshotWorkloads, WorkloadTable
from schemas.tables import Frame, table_of
from services.exerciser.phases import PHASES
from services.exerciser.plan import NodeLoad
from services.exerciser.settings import ExerciserSettings
from tests import builders

GIB = 1 << 30


def _node(name: str, cpu: int = 4_000, requested: int = 0, *, schedulable: bool = True) -> NodeLoad:
    return NodeLoad(name, schedulable, cpu, 16 * GIB, requested, 0, 0, 0)


def test_both_get_what_fits_into_either() -> None:
    """The smallest of the emptiest nodes decides; every_node counts the smaller cluster's nodes."""
    nodes = {
        "a": [_node("a1", 8_000), _node("a2", 8_000), _node("a3", 8_000)],
        "b": [_node("b1", 4_000, 500), _node("b2", 4_000), _node("b3", 4_000, schedulable=False)],
    }
    (load,) = mirrored_plan(PHASES[1], nodes, ExerciserSettings()).loads
    assert (load.replicas, load.cpu_millicores) == (2, math.floor(0.22 * 4_000) - 500)
    (one,) = mirrored_plan(PHASES[3], nodes, ExerciserSettings()).loads
    assert (one.replicas, one.cpu_millicores, one.node, one.anywhere) == (1, 3_440, "", True)
    (queue,) = mirrored_plan(PHASES[7], nodes, ExerciserSettings()).loads
    assert (queue.replicas, queue.anywhere) == (90, False)


def test_a_load_that_adds_nothing_is_none() -> None:
    """Nodes that already carry more than a phase wants get no load of 0, but a reason."""
    nodes = {"a": [_node("a1")], "b": [_node("b1", requested=3_000)]}
    plan = mirrored_plan(PHASES[1], nodes, ExerciserSettings())
    assert (plan.loads, plan.reason) == ((), Reason.PHASE_UNREACHABLE)


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ([_node("b1", 4_010)], ""),
        ([_node("b1"), _node("b2")], "1 (a) and 2 (b) schedulable workers"),
        ([_node("b1", 2_000)], "4,000 (a) and 2,000 (b) millicores on them"),
        ([_node("b1"), _node("b2", schedulable=False)], ""),
    ],
)
def test_clusters_are_equal_by_the_room_that_takes_pods(
    second: Sequence[NodeLoad], words: str
) -> None:
    """One schedulable worker beside three is no comparison; a hundredth of difference is."""
    assert unequal_text({"a": [_node("a1")], "b": list(second)}) == words


def _look(missing: Sequence[str] = (), *, usage: float | None = 1.5) -> CycleTables:
    nodes = builders.observed_nodes(1)
    rows = {
        name: {
            "ready": True, "schedulable": name != "cordoned", "cpu_allocatable_cores": 4.0,
            "memory_allocatable_bytes": 16 * GIB, "pods_allocatable": 110, "gpus_allocatable": 0,
            "cpu_usage_cores": usage if name == "cordoned" else 0.5, "memory_usage_bytes": GIB,
            "usage_time_seconds": 0.0, "power_state": "on", "clock_scale_ratio": 1.0, "memory_scale_ratio": 1.0,
            "cpu_cap_ratio": 1.0, "memory_cap_ratio": 1.0, "created_time_seconds": 0.0, "ready_time_seconds": 0.0,
        }
        for name in ("control", "cordoned", "worker")
    }  # fmt: skip
    placed = {
        f"{node}|shop/Deployment/web": {
            "pods": 1, "cpu_request_cores": cores, "memory_request_bytes": GIB, "gpus_requested": 0, "unhealthy": 1,
            "restarted": 0,
        }
        for node, cores in (("control", 2.0), ("worker", 1.0))
    }  # fmt: skip
    workloads = {
        f"{where}/{kind}/web": {
            "wanted": wanted, "ready": 1, "succeeded": 0, "failed": 0, "suspended": False, "created_time_seconds": 0.0,
        }
        for where, kind, wanted in (("shop", "Deployment", 3), ("ours", "Deployment", 2), ("shop", "Job", 9))
    }  # fmt: skip
    state = SnapshotWorkloads(
        cycle=1, frame=Frame(frame="keyframe", keyframe_cycle=1, state_hash=""), cluster_time_seconds=0.0,
        pods_running=5, pods_total=7, waiting_omitted={"ours": 4}, bare_pods_succeeded=0, workloads=None, pods=None,
    )  # fmt: skip
    return CycleTables(
        table_of(NodeTable, rows), table_of(PlacementTable, placed), table_of(WorkloadTable, workloads), PodTable(),
        state, builders.make_totals(nodes), missing,
    )  # fmt: skip


def test_workers_alone_are_counted() -> None:
    """The control plane's node is no worker, and what runs on it is no request of the workers."""
    figures = figures_of(_look(), {"control"}, "ours")
    assert (figures["workers_ready"], figures["workers_schedulable"]) == (2.0, 1.0)
    assert (figures["cpu_requested"], figures["cpu_requested_ratio"]) == (1_000.0, 1.0 / 8.0)
    assert (figures["cpu_used"], figures["memory_used"]) == (2_000.0, 2_048.0)
    assert (figures["pods_running"], figures["pods_pending"]) == (5.0, 4.0)
    assert (figures["stimulus_wanted"], figures["stimulus_ready"]) == (2.0, 1.0)
    assert (figures["stimulus_pending"], figures["replicas_elsewhere"]) == (4.0, 3.0)
    assert set(ROWS) <= figures.keys()


def test_what_was_not_seen_is_no_zero() -> None:
    """A list that failed, and usage of a part of the nodes, give no number."""
    assert math.isnan(figures_of(_look(usage=None), {"control"}, "ours")["cpu_used"])
    pods = figures_of(_look(["pods"]), {"control"}, "ours")
    assert math.isnan(pods["pods_pending"] + pods["restarts"])
    assert math.isnan(pods["cpu_requested"])
    assert pods["workers_ready"] == 2.0
    assert math.isnan(figures_of(_look(["nodes"]), {"control"}, "ours")["workers_ready"])


def _window(sequence: int, **second: float) -> StimulusWindow:
    rows = dict.fromkeys(ROWS, 1.0)
    card = {name: 10.0 for figures in CARDS.values() for name in figures}
    sides = (SideWindow(3, rows, card), SideWindow(3, rows, {**card, **second}))
    return StimulusWindow(sequence, "made", 1, False, 60.0, 0.0, sides)


def _comparison(count: int, **second: float) -> Comparison:
    windows = tuple(
        _window(number, **{name: value + 0.1 * number for name, value in second.items()})
        for number in range(count)
    )
    return Comparison(("a", "b"), windows, (), (), ())


def test_better_needs_enough_windows_and_an_interval() -> None:
    """Five windows in which b waits longer make a better; four make nothing shown."""
    few, enough = (
        {card.name: card.verdict for card in scorecards(_comparison(count, most_pending=12.0))}
        for count in (4, 5)
    )
    assert few == {**dict.fromkeys(CARDS, "matched"), "admission": ""}
    assert enough == {**dict.fromkeys(CARDS, "matched"), "admission": "first"}


def test_a_card_whose_lines_contradict_each_other_is_mixed() -> None:
    """b keeps fewer machines and waits less in one line, and serves less in the other: no winner."""
    cards = scorecards(_comparison(6, most_pending=5.0, served_ratio=3.0, watts=4.0))
    verdicts = {card.name: card.verdict for card in cards}
    assert (verdicts["admission"], verdicts["efficiency"]) == ("mixed", "second")


def test_less_than_a_hundredth_is_no_difference() -> None:
    """A difference that is surely there and surely tiny counts as matched."""
    tiny = Comparison(
        ("a", "b"), tuple(_window(n, watts=10.05 + 0.001 * n) for n in range(6)), (), (), ()
    )
    verdicts = {card.name: card.verdict for card in scorecards(tiny)}
    assert verdicts["efficiency"] == "matched"


def test_more_of_a_difference_row_is_not_called_better() -> None:
    """The eleven rows have differences and no verdict; what neither side shows has none."""
    comparison = _comparison(5, activations=20.0, served_ratio=math.nan)
    assert {line.verdict for line in difference_rows(comparison)} == {""}
    lines = {line.name: line for card in scorecards(comparison) for line in card.lines}
    assert (lines["activations"].verdict, lines["served_ratio"].windows) == ("", 0)
