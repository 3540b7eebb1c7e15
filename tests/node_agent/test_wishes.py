"""What annotations come to on a machine, and what is refused: bounds, owners, ends."""

from __future__ import annotations

import pytest

from schemas.node_annotations import NodeLimit
from schemas.node_limits import (
    AgentReport,
    LimitReport,
    LimitState,
    RefusedBecause,
    limit_annotations,
    live_report,
    read_report,
    read_requests,
)
from services.node_agent.machine import CPU_MAX, CpuGroup, Machine, Policy
from services.node_agent.settings import NodeAgentSettings
from services.node_agent.wishes import Wish, read_wishes

NOW = 1_767_225_600.0
CLOCK, CPU = NodeLimit.CLOCK_SCALE, NodeLimit.CPU_CAP
FAST = Policy("policy0", 800_000, 3_200_001, 3_200_001)
SLOW = Policy("policy4", 600_000, 1_800_000, 1_800_000)
MACHINE = Machine("boot", (FAST, SLOW), CpuGroup(None, 100_000))
SETTINGS = NodeAgentSettings()


def wish(
    value: str, limit: NodeLimit = CLOCK, machine: Machine = MACHINE, **changed: str | None
) -> Wish:
    """Return the wish of a limit for ten minutes, with annotations changed or left out."""
    notes = {**limit_annotations(limit, 0.5, "d", NOW + 600.0), limit.value: value}
    keys = {"decision": limit.decision_key, "expires": limit.expires_key}
    for name, text in changed.items():
        notes.pop(keys[name])
        if text is not None:
            notes[keys[name]] = text
    (found,) = read_wishes(notes, machine, SETTINGS, now_seconds=NOW, allocatable_cores=3.92)
    return found


def test_each_policy_gets_its_own_share_rounded_down() -> None:
    """Large and small cores have different clocks; a limit is never above what was asked."""
    assert wish("0.65").values == {FAST.knob: "2080000", SLOW.knob: "1170000"}


def test_a_cpu_cap_is_a_share_of_what_the_node_offers() -> None:
    """Of allocatable cores, in the period that the cgroup has."""
    assert wish("0.5", CPU).values == {CPU_MAX: "196000 100000"}


@pytest.mark.parametrize(
    ("value", "limit", "reason"),
    [
        ("0", CLOCK, RefusedBecause.OUT_OF_BOUNDS),
        ("1.000001", CLOCK, RefusedBecause.OUT_OF_BOUNDS),
        ("0.29", CLOCK, RefusedBecause.OUT_OF_BOUNDS),  # least_clock_ratio
        ("0.3", CLOCK, RefusedBecause.OUT_OF_BOUNDS),  # 540 MHz of 600 on the small cores
        ("0.19", CPU, RefusedBecause.OUT_OF_BOUNDS),
        ("-0.5", CLOCK, RefusedBecause.UNREADABLE),
        ("nan", CLOCK, RefusedBecause.UNREADABLE),
        ("5e-1", CLOCK, RefusedBecause.UNREADABLE),
        ("0.6543217", CLOCK, RefusedBecause.UNREADABLE),
        ("", CLOCK, RefusedBecause.UNREADABLE),
        ("0.5", NodeLimit.MEMORY_CAP, RefusedBecause.UNSUPPORTED),
    ],
)
def test_what_is_out_of_bounds_is_refused_not_rounded(
    value: str, limit: NodeLimit, reason: RefusedBecause
) -> None:
    """Nothing is to be written, and the sentence names the value."""
    found = wish(value, limit)
    assert (dict(found.values), found.state, found.reason) == ({}, LimitState.REFUSED, reason)
    assert f"{limit.word} {value}:" in found.text


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"decision": None}, RefusedBecause.NO_DECISION),
        ({"expires": None}, RefusedBecause.NO_EXPIRY),
        ({"expires": "soon"}, RefusedBecause.UNREADABLE),
        ({"expires": "2026-01-01T00:05:00"}, RefusedBecause.UNREADABLE),  # of which zone?
        ({"expires": "2026-01-02T00:00:01Z"}, RefusedBecause.LEASE_TOO_LONG),
        ({"expires": "2026-01-02T00:00:00Z"}, None),
        ({"expires": "2026-01-01T01:05:00+01:00"}, None),
    ],
)
def test_a_limit_has_an_owner_and_an_end(
    changed: dict[str, str | None], reason: RefusedBecause | None
) -> None:
    """A day ahead at most; without either it is nobody's and would stand for ever."""
    assert wish("0.65", **changed).reason is reason


def test_a_limit_ends_at_its_second() -> None:
    """Then nothing is wanted, and it is not refused either."""
    over = wish("0.65", expires="2026-01-01T00:00:00Z")
    assert (over.state, dict(over.values)) == (LimitState.EXPIRED, {})
    assert wish("0.65", expires="2026-01-01T00:00:01Z").state is LimitState.IN_FORCE


def test_what_a_machine_lacks_is_said_with_the_remedy() -> None:
    """A virtual machine has no cpufreq; a kubelet without a cgroupRoot no cgroup above its own."""
    bare = Machine("boot", (), None, "start the kubelet with a cgroupRoot")
    assert bare.can == ()
    for limit in (CLOCK, CPU):
        assert wish("0.65", limit, bare).reason is RefusedBecause.UNSUPPORTED
    assert "start the kubelet with a cgroupRoot" in wish("0.65", CPU, bare).text


def test_what_the_executor_asks_is_what_the_agent_reads() -> None:
    """One definition for both: the annotations come back as they were meant."""
    (asked,) = read_requests(limit_annotations(CLOCK, 0.654321, "id", NOW + 0.9))
    assert (asked.ratio, asked.decision, asked.expires_seconds) == (0.654321, "id", NOW)


def test_what_the_agent_says_is_what_others_read() -> None:
    """A message survives the condition; one of somebody else's is none."""
    (asked,) = read_requests(limit_annotations(CLOCK, 0.65, 'a "quoted" one', NOW))
    limit = LimitReport(**asked.model_dump(), state=LimitState.IN_FORCE, read="2 x 1 kHz")
    said = AgentReport(version="1", can=(CLOCK, CPU), heartbeat_seconds=300.0, limits=(limit,))
    assert read_report(said.message()) == said
    assert limit.answers(asked)
    assert read_report("kubelet is posting ready status") is None
    assert read_report("[" * 10_000) is None


def test_an_agent_that_has_missed_three_heartbeats_is_gone() -> None:
    """Nobody relies on what it once said."""
    message = AgentReport(version="1", can=(CLOCK,), heartbeat_seconds=10.0).message()
    assert live_report(message, NOW - 30.0, NOW) is not None
    assert live_report(message, NOW - 31.0, NOW) is None
    assert live_report(message, None, NOW) is None
