"""What a process counts: events by type, failed publishes, what became of decisions, and its lag."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from bus.clock import ManualClock
from bus.errors import AnotherWriter
from bus.link import LinkCounts
from bus.measured_bus import MeasuredBus
from bus.memory_adapter import MemoryBus, MemoryLog
from bus.metrics import ProcessMetrics
from bus.port import Message
from schemas.control import Command
from schemas.envelope import Event
from schemas.outcome import ExecutionPhase
from schemas.reasons import Reason
from schemas.registry import encode
from schemas.snapshot import SnapshotNodes
from tests.builders import (
    make_control,
    make_decision,
    make_execution,
    make_observation,
    make_snapshot,
    stamp_event,
)
from tests.score_events import make_breaker_change

EVERYTHING = ["foresail.c.>"]


@dataclass
class Counted:
    """A counting bus over a log in memory."""

    log: MemoryLog = field(default_factory=MemoryLog)
    link: LinkCounts = field(default_factory=LinkCounts)
    metrics: ProcessMetrics = field(default_factory=lambda: ProcessMetrics("p", "c", "i1"))

    def __post_init__(self) -> None:
        """Connect."""
        self.bus = MeasuredBus(
            MemoryBus(self.log, "c"), lambda: self.link, self.metrics, ManualClock()
        )

    def value(self, name: str, **labels: str) -> float | None:
        """Return one number of the registry."""
        registry: CollectorRegistry = self.metrics.registry
        return registry.get_sample_value(name, labels)


def as_message(data: Any, cycle: int = 3) -> Message:
    """Return an event as a message of cluster `c`."""
    event: Event[Any] = stamp_event(data, cycle=cycle)
    encoded = encode(event)
    tail = event.subject.split(".", 2)[2]
    return Message(f"foresail.c.{tail}", encoded.headers, encoded.data)


async def test_what_is_published_and_read_is_counted_by_type() -> None:
    """Each stored event counts once for its writer and once for each reader, with its cycle."""
    counted = Counted()
    await counted.bus.publish([as_message(make_observation(cycle=3))])
    async with aclosing(counted.bus.read(EVERYTHING)) as messages:
        await anext(messages)

    kind = "foresail.observation.v1"
    assert 1 == counted.value("foresail_events_published_total", type=kind)
    assert 1 == counted.value("foresail_events_folded_total", type=kind)
    assert 1 == counted.value("foresail_publish_seconds_count")
    assert 3 == counted.value("foresail_newest_cycle")


async def test_decisions_are_counted_by_rule_and_executions_by_outcome() -> None:
    """The referee's rules and the executor's outcomes are numbers that one can plot."""
    counted = Counted()
    decision = make_decision(cycle=3)
    execution = make_execution(cycle=3, phase=ExecutionPhase.FINISHED, succeeded=False)
    await counted.bus.publish([as_message(decision)])
    await counted.bus.publish([as_message(execution)])

    rule, action = str(decision.rule), str(decision.action.kind)
    reason = str(execution.reason or "")
    assert 1 == counted.value("foresail_decisions_total", rule=rule, action=action)
    assert 1 == counted.value("foresail_executions_total", outcome="failed", reason=reason)


async def test_breakers_are_counted_by_their_new_state() -> None:
    """Each state is 0 from the start, so that the first trip is an increase an alert can see."""
    counted = Counted()
    assert 0 == counted.value("foresail_breaker_changes_total", state="shadow")
    await counted.bus.publish([as_message(make_breaker_change(cycle=3))])
    assert 1 == counted.value("foresail_breaker_changes_total", state="shadow")
    assert 0 == counted.value("foresail_breaker_changes_total", state="closed")


async def test_a_publish_that_fails_is_counted_by_its_error_and_raised() -> None:
    """Counting hides nothing: the service still gets the error."""
    counted = Counted()
    subject = "foresail.c.decision"
    await MemoryBus(counted.log, "c").publish([Message(subject, {"Nats-Msg-Id": "theirs"}, b"{}")])
    counted.bus = MeasuredBus(
        MemoryBus(counted.log, "c"), lambda: counted.link, counted.metrics, ManualClock()
    )
    await counted.bus.publish([Message(subject, {"Nats-Msg-Id": "ours"}, b"{}")])
    await MemoryBus(counted.log, "c").publish([Message(subject, {"Nats-Msg-Id": "again"}, b"{}")])
    with pytest.raises(AnotherWriter):
        await counted.bus.publish([Message(subject, {"Nats-Msg-Id": "late"}, b"{}")])

    assert 1 == counted.value("foresail_publish_failures_total", error="AnotherWriter")
    assert 1 == counted.value("foresail_publish_seconds_count")


async def test_the_lag_counts_only_what_the_process_reads() -> None:
    """Positions on other subjects are no lag, and a process that reads nothing has none."""
    counted = Counted()
    counted.link.newest = {"foresail.c.observation": 40, "foresail.c.decision": 90}
    assert 0 == counted.bus.lag(0)

    await counted.bus.publish([as_message(make_observation(cycle=3))])
    async with aclosing(counted.bus.read(["foresail.c.observation"])) as messages:
        await anext(messages)

    assert 39 == counted.bus.lag(1)
    assert 0 == counted.bus.lag(40)


async def test_catching_up_is_a_lag() -> None:
    """While history is read, the lag is what is left of it."""
    counted = Counted()
    await counted.bus.publish([as_message(make_observation(cycle=3))])
    async with aclosing(counted.bus.history(EVERYTHING, end_seq=1)) as messages:
        await anext(messages)

    assert 1 == counted.bus.lag(0)
    assert 0 == counted.bus.lag(1)


async def test_a_lost_source_is_a_number_until_it_comes_back() -> None:
    """Since when, in seconds; 0 while it can be read or where the cluster does not have it."""
    counted = Counted()
    (data, *_) = make_snapshot(1, cycle=3)
    assert isinstance(data, SnapshotNodes)
    name = "foresail_source_failing_since_seconds"
    for reason, expected in (
        (Reason.FORBIDDEN, 1_700_000_000.0),
        (Reason.NOT_INSTALLED, 0.0),
        (None, 0.0),
    ):
        changes = {
            "source": "jobs",
            "ok": reason is None,
            "reason": reason,
            "failing_since_seconds": None if reason is None else 1_700_000_000.0,
        }
        source = data.sources[0].model_copy(update=changes)
        await counted.bus.publish([as_message(data.model_copy(update={"sources": (source,)}))])
        assert counted.value(name, source="jobs") == expected


async def test_what_the_operator_holds_is_a_number() -> None:
    """As the executor reads the commands; `resume` ends both."""
    counted = Counted()
    for number, (command, expected) in enumerate(
        [(Command.PAUSE, (0, 1)), (Command.KILL, (1, 1)), (Command.RESUME, (0, 0))]
    ):
        control = make_control(command, nonce=str(number))
        await counted.bus.publish([as_message(control, cycle=0)])
        async for _ in counted.bus.history(EVERYTHING):
            pass
        held = [counted.value("foresail_held", command=one) or 0 for one in ("kill", "pause")]
        assert tuple(held) == expected
