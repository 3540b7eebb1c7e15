"""Incidents of a log without end: the same as of the whole log, from little of it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from projections.incidents import book
from projections.incidents.book import IncidentBook
from projections.incidents.chain import incidents
from projections.incidents.history import ClusterHistory
from projections.incidents.incident import Incident
from schemas.envelope import Event
from schemas.reaction import Reaction, ReactionItem, ReactionKind
from schemas.reasons import PendingClass
from tests import builders

CYCLE_SECONDS = 15.0
MOST = 100


def happens(chance: random.Random, at: float, number: int) -> Iterator[ReactionItem]:
    """Yield what belongs to one thing that goes wrong, of four kinds."""
    workload, node = f"shop/Deployment/web-{number % 7}", f"node-{number % 5}"

    def item(kind: ReactionKind, later: float, name: str, **fields: Any) -> ReactionItem:
        given = {"workload": workload, "lag_seconds": None, "text": f"{kind} {name}", **fields}
        return ReactionItem(kind=kind, object=name, time_seconds=at + later, **given)

    lasts = chance.choice((20.0, 90.0, 400.0, 9_000.0))
    match number % 4:
        case 0:
            pods = [f"shop/web-{number}-{one}" for one in range(chance.randint(1, 12))]
            waits = {"pending_class": PendingClass.INSUFFICIENT_CPU}
            for pod in pods:
                yield item(ReactionKind.POD_PENDING, 0.0, pod, **waits)
                yield item(ReactionKind.POD_SCHEDULED, lasts, pod, node=node)
        case 1:
            yield item(ReactionKind.NODE_NOT_READY, 0.0, node, workload="", node=node)
            yield item(ReactionKind.NODE_READY, lasts, node, workload="", node=node)
        case 2:
            for one in range(chance.randint(1, 5)):
                name = f"shop/fails-{number}-{one}"
                yield item(ReactionKind.POD_FAILED, 50.0 * one, name, node=node)
        case _:
            scaler = f"shop/HorizontalPodAutoscaler/{number % 7}"
            yield item(ReactionKind.HPA_CHANGE, 0.0, scaler, before=2.0, after=4.0)
            for one in range(2):
                yield item(ReactionKind.POD_READY, lasts, f"shop/up-{number}-{one}", node=node)


def log_of(seed: int, things: int, waiting: int = 0) -> Iterator[Event[Any]]:
    """Yield the events of a cluster where one thing after another goes wrong, some of them at once; some pods wait from
    the beginning on.
    """
    chance = random.Random(seed)
    begins = sorted(chance.uniform(0.0, 900.0 * things) for _ in range(things))
    items = sorted(
        (one for number, at in enumerate(begins) for one in happens(chance, at, number)),
        key=lambda one: one.time_seconds,
    )
    cycle, place, seq = 1, 0, 1
    while place < len(items):
        at, first = CYCLE_SECONDS * cycle, place
        while place < len(items) and items[place].time_seconds <= at:
            place += 1
        new = tuple(items[first:place])
        waiting += sum(one.kind is ReactionKind.POD_PENDING for one in new)
        waiting -= sum(one.kind is ReactionKind.POD_SCHEDULED for one in new)
        totals = {"queue_length": waiting}
        seen = builders.make_observation(1, cycle=cycle, cluster_time_seconds=at, totals=totals)
        happened = Reaction(cycle=cycle, cluster_time_seconds=at, reactions=new)
        for data in (seen, happened):
            yield builders.stamp_event(data, seq=seq)
            seq += 1
        cycle += 1


def told(found: list[Incident]) -> list[dict[str, Any]]:
    """Return incidents, without what may lack a part of the past of a long one."""
    return [one.model_dump(exclude={"curves", "steps"} if is_long(one) else set()) for one in found]


def is_long(one: Incident) -> bool:
    """Say whether an incident lasted for longer than all is held of it."""
    end = one.last_seconds if one.end_seconds is None else one.end_seconds
    return end - one.begin_seconds > book.LASTING_SECONDS


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_a_long_log_is_told_as_from_all_of_it(seed: int) -> None:
    """At several moments, also within incidents; most of what they were made of is held no more."""
    whole, short = ClusterHistory(), IncidentBook(most=MOST)
    for number, event in enumerate(log_of(seed, 50)):
        whole.add(event)
        short.add(event)
        if number % 500 == 499:
            assert told(incidents(whole)) == told(short.incidents())

    expected = incidents(whole)
    assert len(expected) > 12
    assert {is_long(one) for one in expected} == {True, False}
    assert told(expected) == told(short.incidents())
    assert len(short.history.reactions) < len(whole.reactions) / 1.5
    assert len(short.history.queue) < len(whole.queue) / 4


def test_memory_is_bounded_and_numbers_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the oldest incidents only their number is left."""
    monkeypatch.setattr(book, "MOST_OVER", 8)
    whole, short = ClusterHistory(), IncidentBook(most=MOST)
    held = 0
    for event in log_of(9, 60):
        whole.add(event)
        short.add(event)
        held = max(held, len(short.history.reactions) + len(short.history.queue))

    expected, found = incidents(whole), short.incidents()
    assert held < 8 * MOST
    assert short.forgotten > 10
    assert len(found) + short.forgotten == len(expected)
    assert told(found) == told(expected[-len(found) :])


def test_what_never_ends_stays_whole() -> None:
    """A pod that waits for days keeps its beginning and its alarms, while all else is gone through."""
    short, whole = IncidentBook(most=MOST), ClusterHistory()
    lost = ReactionItem(
        kind=ReactionKind.POD_PENDING,
        object="shop/never",
        time_seconds=7.0,
        lag_seconds=None,
        workload="shop/Job/never",
        pending_class=PendingClass.VOLUME,
        text="waits",
    )
    first = Reaction(cycle=0, cluster_time_seconds=10.0, reactions=(lost,))
    for event in (builders.stamp_event(first, seq=1), *log_of(3, 40, waiting=1)):
        short.add(event)
        whole.add(event)

    (never,) = [one for one in short.incidents() if "shop/Job/never" in one.workloads]
    assert (never.number, never.begin_seconds, never.end_seconds) == (1, 7.0, None)
    assert told(short.incidents()) == told(incidents(whole))
    (curve,) = [one for one in never.curves if one.name == "pods pending"]
    assert curve.times_seconds[0] == CYCLE_SECONDS
