"""Read models: the same events give the same state, earlier states stay, and every reader shares them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bus.events import LogEntry, read_events
from bus.port import Messages, StoredMessage
from projections.cycle_record import CycleRecord, CycleRecords
from projections.frame_states import FrameStates
from projections.objects.names import ObjectKind, ObjectNames
from projections.overview import Overview
from projections.run_totals import RunTotals
from schemas.control import Command
from schemas.observation import Observation
from schemas.subjects import parse
from tests import builders
from tests.dashboard.built_cycles import cycles, stored_messages


def log_entries(messages: list[StoredMessage]) -> list[LogEntry]:
    """Return what `read_events` makes of some messages."""

    async def source() -> Messages:
        for message in messages:
            yield message

    async def read() -> list[LogEntry]:
        return [entry async for entry in read_events(source())]

    return asyncio.run(read())


def overview_after(overview: Overview, entry: LogEntry) -> Overview:
    """Return an overview after one message."""
    message = entry.message
    after = overview.after_message(parse(message.subject).layer, message.seq, message.time_ns)
    return after if entry.event is None else after.after(entry.event)


ENTRIES = log_entries(stored_messages(cycles(6, nodes=3)))
OBSERVATIONS = [
    entry.event
    for entry in log_entries(stored_messages(cycles(12, nodes=3)))
    if entry.event is not None and isinstance(entry.event.data, Observation)
]


def test_a_message_that_cannot_be_read_stays_an_entry_with_its_reason() -> None:
    """Nothing is lost or raised: the message is there, without an event."""
    good, *_ = stored_messages(cycles(1))
    bad = replace(good, seq=2, headers={})
    first, second = log_entries([good, bad])
    assert (first.problem, first.event is None) == ("", False)
    assert (second.seq, second.event) == (2, None)
    assert "not a CloudEvents" in second.problem


@settings(deadline=None)
@given(st.integers(min_value=0, max_value=len(ENTRIES)))
def test_earlier_states_stay_as_they_were(cut: int) -> None:
    """An overview of a prefix is the same whether or not more events came after it."""
    states = [Overview()]
    for entry in ENTRIES:
        states.append(overview_after(states[-1], entry))
    alone = Overview()
    for entry in ENTRIES[:cut]:
        alone = overview_after(alone, entry)
    assert states[cut] == alone


def test_the_page_and_explain_share_a_cycle() -> None:
    """What the overview keeps of a cycle is what a reader of that cycle alone gets of it."""
    overview = Overview()
    for entry in ENTRIES:
        overview = overview_after(overview, entry)
    record = CycleRecord(3)
    for entry in ENTRIES:
        if entry.event is not None and entry.event.cycle == 3:
            record = record.after(entry.event)
    kept = overview.cycles.by_cycle[3]
    assert (kept.decision, kept.proposals, kept.executions, kept.reward) == (
        record.decision,
        record.proposals,
        record.executions,
        record.reward,
    )
    assert record.result == kept.result == "verified"
    assert record.observation is not None
    assert kept.observation is None  # whole tables are not kept for each cycle


def test_records_of_old_cycles_are_dropped() -> None:
    """No more cycles are kept than were asked for, the newest ones."""
    records = CycleRecords(limit=2)
    for entry in ENTRIES:
        assert entry.event is not None
        records = records.after(entry.event)
    assert sorted(records.by_cycle) == [5, 6]


@settings(deadline=None)
@given(st.sets(st.integers(min_value=0, max_value=11)))
def test_a_lost_frame_gives_no_state_instead_of_a_wrong_one(lost: set[int]) -> None:
    """Whatever frames are missing, a state that is given is the one that nothing missing gives."""
    complete, partial = FrameStates(), FrameStates()
    for number, event in enumerate(OBSERVATIONS):
        whole = complete.add(event)
        if number not in lost:
            state = partial.add(event)
            assert state is None or (whole is not None and state.hash == whole.hash)


def test_the_hold_and_its_reason_are_part_of_the_run() -> None:
    """A pause holds until it is taken back, and only then."""
    pause = builders.stamp_event(builders.make_control(Command.PAUSE))
    resume = builders.stamp_event(builders.make_control(Command.RESUME, nonce="2"))
    paused = Overview().after(pause)
    assert paused.run.operating.hold == "pause"
    assert paused.after(resume).run.operating.hold == ""


def test_totals_count_every_event_once() -> None:
    """The events of each layer, the decisions and the scored rewards are the log's."""
    totals = RunTotals()
    for entry in ENTRIES:
        assert entry.event is not None
        totals.add(entry.event)
    summary = totals.summary()
    assert summary["events_total"] == len(ENTRIES)
    assert (summary["cycles"], sum(summary["decisions"].values())) == (6, 6)
    assert summary["rewards_scored"] == summary["events"]["decision"]


@pytest.mark.parametrize(
    ("expected", "full"),
    [
        ("web", ["batch/Deployment/web", "shop/Deployment/web"]),
        ("shop/Deployment/web", ["shop/Deployment/web"]),
    ],
)
def test_a_short_name_means_every_object_that_ends_with_it(expected: str, full: list[str]) -> None:
    """A full name means itself alone."""
    names = ObjectNames()
    names.names[ObjectKind.WORKLOAD] = {
        "shop/Deployment/web",
        "batch/Deployment/web",
        "shop/Deployment/web-2",
    }
    assert names.matching(ObjectKind.WORKLOAD, expected) == full
