"""How far guard rails are used up: what the page tells is what the executor measured when it asked them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bus.events import read_entry
from bus.recording.bus import RecordingBus
from projections.rail_state import RailLedger, RailState
from schemas.outcome import GuardCheck, OutcomeExecution
from tests.architecture.source_tree import ROOT

COUNTED = ("cap_per_node", "cap_per_workload", "budget")
WAITED = ("cool_down", "cool_down_after_failure")


async def asked_and_told(name: str) -> list[tuple[GuardCheck, list[RailState], OutcomeExecution]]:
    """Return each answer of a guard rail in a recording, with what the ledger told of its target right before."""
    ledger, both = RailLedger(), []
    async for message in RecordingBus(ROOT / "tests" / "golden" / name).history([">"]):
        event = read_entry(message).event
        if event is None:
            continue
        data = event.data
        if isinstance(data, OutcomeExecution) and not data.rollback_of and data.phase != "finished":
            ledger.now_seconds = data.cluster_time_seconds
            told = ledger.rails(data.action.target.name)
            both += [(check, told, data) for check in data.guards]
        ledger.add(event)
    return both


@pytest.mark.parametrize("name", ["v1.fslog", "v2.fslog"])
async def test_counts_and_waits_are_those_of_the_executor(name: str) -> None:
    """Every cap, budget and cool-down that a decision met: the same count, the same age, the same limit."""
    compared = set()
    for check, told, data in await asked_and_told(name):
        mine = [one for one in told if one.rail == check.guard]
        kind = str(data.action.kind)
        if check.guard in COUNTED and check.measured is not None and mine:
            assert (check.measured, check.limit) in {(one.used, one.limit) for one in mine}, data
            compared.add(check.guard)
        if check.guard in WAITED and not check.passed:
            ages = {one.used for one in mine if kind in one.about or one.about == "any action"}
            assert check.measured in ages, data
            compared.add(check.guard)
    assert compared >= {"budget", "cap_per_node"}, compared


async def test_without_settings_nothing_is_claimed() -> None:
    """A log that does not say how the executor is set has no limits to show."""
    assert RailLedger().rails("node-1") == []


async def test_what_is_too_old_no_longer_counts() -> None:
    """Once a window is over, every counted rail is free and nothing cools down."""
    ledger = RailLedger()
    async for message in RecordingBus(ROOT / "tests" / "golden" / "v2.fslog").history([">"]):
        event = read_entry(message).event
        if event is not None:
            ledger.add(event)
    assert ledger.acted
    target = next(one.target for one in ledger.acted if one.on_node)
    ledger.acted = [replace(one, time_seconds=ledger.now_seconds) for one in ledger.acted]
    now = ledger.rails(target)
    ledger.now_seconds += 100_000

    assert any(one.used for one in now)
    assert {(one.used, one.holds) for one in ledger.rails(target)} == {(0.0, False)}
