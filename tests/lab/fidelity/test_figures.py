"""What a recording's figures and its comparison with another one say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lab.fidelity.compare import compare
from lab.fidelity.metrics import measure, node_counts
from lab.fidelity.recording import NodeLife, PodLife, Recording
from lab.fidelity.scenario import Promise, Scenario

PODS = [
    PodLife("web#1", "web", "1", 0.0, 0.5, "n1", 2.0, None, 30.0, 31.0),
    PodLife("web#2", "web", "1", 0.0, 0.5, "n2", 2.0, 50.0, None, None),
    PodLife("web#3", "web", "2", 30.0, 30.5, "n2", 33.0, None, None, None),
    PodLife("late", "late", "", 40.0),
]
NODES = [
    NodeLife("n1", "", 0.0),
    NodeLife("small#1", "small", 10.0, 11.0, None, 80.0, 90.0),
    NodeLife("small#2", "small", 20.0),
    NodeLife("large/spot#1", "large/spot", 30.0),
]
RECORDING = Recording("made-up", {"program": "1"}, 120.0, PODS, NODES, [(5.0, "eviction", 201), (9.0, "eviction", 429)],
                      {"Pod Preempted": 4.0})  # fmt: skip
SCENARIO = Scenario("made-up", "Nothing.", "control-plane", 120.0, (), (), ())


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("most_pods web 0", 2.0),
        ("fewest_ready web 3", 1.0),
        ("ready_at web 40", 2.0),
        ("ready_of_version web 2", 1.0),
        ("left_of_version web 1", 1.0),
        ("ready_elsewhere web n2", 0.0),
        ("made_between web 29 31", 1.0),
        ("done_after web 2 20", None),  # one of version 1 never goes
        ("all_ready_after web 3 30", 3.0),
        ("bound_after web#3", 0.5),
        ("bound_after late", None),
        ("node_of web#1", "n1"),
        ("on_node_at web n2 32", 2.0),
        ("terminated_between 0 99", "web#1"),
        ("terminated_count_between 31 99", 0.0),
        ("terminating_at_end", 0.0),
        ("pending_at_end", 1.0),
        ("answers eviction 0 8", "201"),
        ("answers_of eviction 429", 1.0),
        ("event Pod Preempted", "yes"),
        ("event Pod Evicted", "no"),
        ("machines_chosen", "1 large/spot, 2 small"),
        ("machines_removed", "1 small"),
        ("machines_at_end", "1 large/spot, 1 small"),
        ("machines_at 25", "2 small"),
        ("first_node_after 15", 5.0),
        ("first_removal_after 60", 30.0),
        ("first_bound_after_node", -10.5),
    ],
)
def test_a_figure_follows_from_the_lives(metric: str, expected: object) -> None:
    """Each figure says what happened to the pods and nodes that it is about, None where nothing did."""
    assert measure(metric, RECORDING) == expected


def test_node_counts_are_means_of_minutes() -> None:
    """A node counts for the part of each minute in which it is there."""
    assert node_counts(RECORDING) == pytest.approx([120 / 60, 150 / 60])


@pytest.mark.parametrize(
    ("documented", "near", "twin_first_node", "holds"),
    [
        ("= 10", 0.0, 10.0, True),
        ("= 11", 0.0, 10.0, False),
        ("<= 9", 0.0, 10.0, False),
        (">= 11", 0.0, 10.0, False),
        ("9 .. 11", 0.0, 10.0, True),
        ("11 .. 12", 0.0, 10.0, False),
        ("", 1.0, 11.0, True),
        ("", 0.5, 11.0, False),
    ],
)
def test_a_row_holds_when_documented_and_near(
    documented: str, near: float, twin_first_node: float, holds: bool
) -> None:
    """The twin has to be as documented and near the real program; one of both is not enough."""
    promise = Promise("first node", "first_node_after 0", "nowhere", documented, near)
    nodes = [replace(one, registered=max(one.registered, twin_first_node)) for one in NODES[1:]]
    twin = replace(RECORDING, nodes=nodes)
    (row,) = compare(replace(SCENARIO, promises=(promise,)), twin, [RECORDING]).rows
    assert row.holds is holds


def test_node_counts_may_differ_by_one_in_every_minute() -> None:
    """Two nodes more in one of two minutes is too much; one is not."""
    scenario = replace(SCENARIO, kind="cluster-autoscaler")
    more = [NodeLife(f"more#{number}", "small", 60.0) for number in range(2)]
    for added, holds in ((more[:1], True), (more, False)):
        twin = replace(RECORDING, nodes=[*NODES, *added])
        (row,) = compare(scenario, twin, [RECORDING]).rows
        assert row.holds is holds


def test_without_a_recording_only_documentation_counts() -> None:
    """A scenario that was not measured shows no figure of the real side and claims no likeness."""
    promise = Promise("first node", "first_node_after 0", "nowhere", "= 10")
    comparison = compare(replace(SCENARIO, promises=(promise,)), RECORDING, [])
    assert comparison.programs == {}
    (row,) = comparison.rows
    assert (row.real, row.alike, row.holds) == ((), None, True)


def test_one_of_several_real_runs_is_enough() -> None:
    """The twin may be as any run of a real program that does not repeat itself, but as documented in any case."""
    other = replace(RECORDING, nodes=NODES[2:])
    for documented, holds in (("", True), ("= 20", False)):
        promise = Promise("first node", "first_node_after 0", "nowhere", documented)
        (row,) = compare(replace(SCENARIO, promises=(promise,)), RECORDING, [other, RECORDING]).rows
        assert (row.real, row.holds) == ((20.0, 10.0), holds)
