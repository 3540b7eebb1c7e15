"""The rules by which damage is found, joined and announced, on small logs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foresail.timeline.terminal import acting_line
from projections.incidents.chain import incidents
from projections.incidents.damage import damages
from projections.incidents.grouping import group_damages
from projections.incidents.history import ClusterHistory, Crossing, LoggedReaction
from projections.incidents.incident import Damage, DamageKind, Incident, IncidentKind
from projections.incidents.onset import rise_before
from schemas.reaction import ReactionItem, ReactionKind
from schemas.reasons import PendingClass
from tests.score_events import make_difference

WEB = "shop/Deployment/web"
CPU = PendingClass.INSUFFICIENT_CPU


def reaction(kind: ReactionKind, at: float, name: str = "", **fields: Any) -> LoggedReaction:
    """Return one reaction."""
    given = {"object": name, "time_seconds": at, "lag_seconds": None, "text": f"{kind} {name}"}
    return LoggedReaction(ReactionItem(kind=kind, **{**given, **fields}), seq=1, cycle=1)


def log(*reactions: LoggedReaction, last: float = 1000.0, **fields: Any) -> ClusterHistory:
    """Return a log with these reactions."""
    differences = fields.pop("differences", ())
    history = ClusterHistory(reactions=list(reactions), last_seconds=last, **fields)
    for one in differences:
        history.differences.add(one)
    return history


def waiting(name: str, begin: float, end: float | None, **fields: Any) -> list[LoggedReaction]:
    """Return a pod that waits for a node from `begin` to `end`."""
    given = {"workload": WEB, "pending_class": CPU, **fields}
    found = [reaction(ReactionKind.POD_PENDING, begin, name, **given)]
    if end is not None:
        found.append(reaction(ReactionKind.POD_SCHEDULED, end, name, workload=WEB, node="n1"))
    return found


def only(history: ClusterHistory) -> Incident:
    """Return the one incident of a log."""
    (found,) = incidents(history)
    return found


@pytest.mark.parametrize(("seconds", "count"), [(29.9, 0), (30.0, 1)])
def test_a_wait_of_thirty_seconds_is_damage(seconds: float, count: int) -> None:
    """A pod that is scheduled sooner did not wait."""
    assert len(incidents(log(*waiting("shop/a", 100.0, 100.0 + seconds)))) == count


def test_a_pod_held_on_purpose_does_not_wait() -> None:
    """Scheduling gates and suspended owners are no damage."""
    held = waiting("shop/a", 100.0, None, pending_class=PendingClass.GATED)
    assert incidents(log(*held)) == []


def test_the_class_is_the_one_that_held_longest() -> None:
    """The time before the scheduler's first try counts for no class."""
    first = reaction(
        ReactionKind.POD_PENDING, 0.0, "shop/a", pending_class=PendingClass.NOT_YET_TRIED
    )
    then = reaction(ReactionKind.POD_PENDING, 50.0, "shop/a", pending_class=CPU, lag_seconds=50.0)
    last = reaction(
        ReactionKind.POD_PENDING,
        *(60.0, "shop/a"),
        pending_class=PendingClass.TAINT,
        lag_seconds=60.0,
    )
    (group,) = only(log(first, then, last, last=100.0)).waits
    assert (group.pending_class, group.max_seconds, group.still_waiting) == ("taint", 100.0, 1)


def test_a_pod_that_was_deleted_waits_no_longer() -> None:
    """The first look without it ends its wait."""
    gone = log(*waiting("shop/a", 100.0, None))
    gone.waiting_at = [(100.0, frozenset({"shop/a"})), (150.0, frozenset())]
    incident = only(gone)
    assert (incident.end_seconds, incident.waits[0].still_waiting) == (150.0, 0)


def test_an_empty_node_that_goes_is_no_damage() -> None:
    """Only a node on which something ran is missed."""
    gone = reaction(ReactionKind.NODE_GONE, 100.0, "n1", node="n1")
    assert damages(log(gone)) == []
    missed = log(gone, workloads_on={"n1": {WEB: 0.0}})
    assert [damage.kind for damage in damages(missed)] == [DamageKind.NODE_DOWN]


def test_an_autoscaler_is_short_until_its_pods_are_ready() -> None:
    """The damage ends with as many ready pods as it had asked for more."""
    change = reaction(
        ReactionKind.HPA_CHANGE,
        *(100.0, "shop/HorizontalPodAutoscaler/web"),
        workload=WEB,
        before=2.0,
        after=4.0,
    )
    ready = [
        reaction(ReactionKind.POD_READY, at, f"shop/{at}", workload=WEB)
        for at in (90.0, 110.0, 140.0)
    ]
    incident = only(log(change, *ready))
    assert (incident.kind, incident.end_seconds) == (IncidentKind.HPA_LAG, 140.0)


@pytest.mark.parametrize(("failures", "count"), [(2, 0), (3, 1)])
def test_three_failures_in_a_row_are_damage(failures: int, count: int) -> None:
    """Single failures are everyday life."""
    items = [
        reaction(ReactionKind.POD_FAILED, 100.0 + 60 * number, f"shop/{number}", workload=WEB)
        for number in range(failures)
    ]
    assert len(incidents(log(*items))) == count


def test_ten_waits_within_two_minutes_are_a_burst() -> None:
    """Fewer are pods that wait."""
    for pods, kind in ((9, IncidentKind.PODS_WAITING), (10, IncidentKind.UNSCHEDULABLE_BURST)):
        items = [one for n in range(pods) for one in waiting(f"shop/{n}", 100.0 + n, 400.0)]
        assert only(log(*items)).kind is kind


def damage(begin: float, end: float | None, *places: str) -> Damage:
    """Return damage at some places."""
    return Damage(DamageKind.WAITING, begin, end, frozenset(places))


def test_what_overlaps_at_one_place_is_one_incident() -> None:
    """Up to a minute between them; another place, or a longer pause, is another incident."""
    given = [
        damage(0.0, 100.0, "a"),
        damage(50.0, 120.0, "b"),
        damage(160.0, 200.0, "a"),
        damage(181.0, None, "b"),
    ]
    damages = group_damages(given, 500.0)
    assert [len(one.damages) for one in damages] == [2, 1, 1]
    assert [one.end_seconds for one in damages] == [200.0, 120.0, None]


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 500),
            st.integers(0, 300),
            st.sets(st.sampled_from("abcd"), min_size=1, max_size=2),
        ),
        max_size=12,
    )
)
def test_joining_is_the_closure_of_touching(rows: list[tuple[int, int, set[str]]]) -> None:
    """Every damage is in one incident; damages of two incidents that share a place lie far apart."""
    given_ = sorted(
        (damage(float(begin), float(begin + length), *places) for begin, length, places in rows),
        key=lambda one: (one.begin_seconds, sorted(one.places)),
    )
    damages = group_damages(given_, 1000.0)

    assert sum(len(one.damages) for one in damages) == len(given_)
    for number, one in enumerate(damages):
        for other in damages[number + 1 :]:
            for left in one.damages:
                for right in other.damages:
                    if left.places & right.places:
                        first, second = sorted((left, right), key=lambda each: each.begin_seconds)
                        assert second.begin_seconds > (first.end_seconds or 0.0) + 60.0


def crossing(at: float, *, above: bool = True, node: str = "n1", shadow: bool = False) -> Crossing:
    """Return a risk that comes to its threshold, or falls below it."""
    model = "big/1" if shadow else "small/1"
    return Crossing(model, shadow, node, 0.9, 0.5, at, above, seq=7, cycle=3)


def node_down(*crossings: Crossing) -> Incident:
    """Return the incident of a node that goes down at 1000, with these crossings."""
    down = reaction(ReactionKind.NODE_NOT_READY, 1000.0, "n1", node="n1")
    return only(log(down, last=1500.0, crossings=list(crossings)))


def test_a_risk_that_stands_when_the_damage_comes_leads() -> None:
    """The lead is the damage's time minus the crossing's, for each model by itself."""
    incident = node_down(crossing(700.0), crossing(990.0, shadow=True))
    assert [(alarm.model_id, alarm.lead_seconds) for alarm in incident.alarms] == [
        ("small/1", 300.0),
        ("big/1", 10.0),
    ]
    assert incident.lead_seconds == 300.0


def test_a_false_alarm_does_not_lead() -> None:
    """A risk that fell back before the damage is forgotten; the next crossing is late."""
    incident = node_down(crossing(700.0), crossing(710.0, above=False), crossing(1005.0))
    assert incident.lead_seconds == -5.0


def test_what_stood_there_for_long_announces_nothing() -> None:
    """Beyond the look-back of 600 s there is no lead, and it is said."""
    incident = node_down(crossing(100.0))
    assert incident.lead_seconds is None
    assert "announced nothing" in next(step.text for step in incident.steps if "small" in step.text)


def test_another_nodes_risk_says_nothing() -> None:
    """Only nodes of the incident count."""
    assert node_down(crossing(700.0, node="n2")).alarms == ()


def test_a_rise_begins_with_the_last_low_sample() -> None:
    """Noise before it and the plateau after it do not matter."""
    values = [1.0, 1.2, 1.0, 1.1, 1.1, 2.5, 4.0, 3.9]
    samples = [(10.0 * number, value) for number, value in enumerate(values)]
    rises = rise_before(samples, 70.0, 600.0)

    assert rises is not None
    assert (rises.time_seconds, rises.seen_seconds) == (40.0, 50.0)
    assert (rises.floor, rises.peak) == (1.0, 4.0)


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 1.1, 1.15], [4.0, 3.0, 1.0]])
def test_what_did_not_rise_has_no_beginning(values: list[float]) -> None:
    """Nothing, one sample, a ripple, or a fall."""
    samples = [(10.0 * number, value) for number, value in enumerate(values)]
    assert rise_before(samples, 70.0, 600.0) is None


def test_an_incident_says_what_acting_changed_while_it_went_on() -> None:
    """From the last comparison before it to the first after it; what was changed earlier is not in it."""
    differences = [
        make_difference(cycle, at, waiting=waited)
        for cycle, at, waited in (
            (1, 50.0, 5.0),
            (2, 90.0, 7.0),
            (3, 150.0, 7.0),
            (4, 210.0, 17.0),
            (5, 270.0, 90.0),
        )
    ]
    change = only(log(*waiting("shop/a", 100.0, 200.0), differences=differences)).acting
    assert change is not None
    assert (change.verdict, change.money, change.currency) == ("harms", -0.2, "USD")
    assert "waiting/none +10 pod-hours" in change.text
    assert "cycles 3 to 4" in change.text


def test_without_a_comparison_nobody_knows_what_acting_changed() -> None:
    """No untouched world, or one that was last seen before: that is said, not taken for no difference."""
    for differences in ([], [make_difference(1, 50.0, waiting=5.0)]):
        incident = only(log(*waiting("shop/a", 100.0, 200.0), differences=differences))
        assert incident.acting is None
        assert acting_line(incident) == "not known: no untouched world was compared in that time"
    equal = [make_difference(1, 150.0, waiting=0.0)]
    assert acting_line(only(log(*waiting("shop/a", 100.0, 200.0), differences=equal))).startswith(
        "no difference: nothing"
    )
