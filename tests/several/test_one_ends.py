"""What ends one cluster of several ends it alone."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bus.clock import SystemClock
from bus.errors import InputError
from foresail.settings import StackSettings
from foresail.stack import several
from foresail.stack.keeper import Keeper
from foresail.stack.several import Member
from foresail.stack.state_folder import StateFolder

ENDED = "collector.prometheus.url = x: give a URL"


def member(name: str) -> Member:
    """Return a cluster whose stack is only looked at."""
    stack: Any = SimpleNamespace(watch=SimpleNamespace(listeners=[]), name=name)
    return Member(name, StackSettings(), StateFolder(Path(name)), stack=stack)


async def run(
    monkeypatch: pytest.MonkeyPatch, *failing: str, members: tuple[Member, ...]
) -> dict[str, Any]:
    """Run some clusters of which the named ones end with an error, and the others when those are over."""
    over = {one.name: asyncio.Event() for one in members}

    async def run_to_end(
        stack: Any, showing: Coroutine[Any, Any, None], stop: asyncio.Event
    ) -> dict[str, Any]:
        showing.close()
        if stack.name in failing:
            over[stack.name].set()
            raise InputError("collector.prometheus.url", "x", "give a URL")
        for name in failing:
            await over[name].wait()
        await asyncio.sleep(0.05)
        return {"status": "interrupted" if stop.is_set() else "complete"}

    monkeypatch.setattr(several, "run_to_end", run_to_end)
    keeper = Keeper(SystemClock(), patience_seconds=0)
    return await several._run_members(members, keeper, quiet=True)


async def test_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says which ended and why; the others come to their own end."""
    members = (member("a"), member("b"), member("c"))
    summary = await run(monkeypatch, "b", members=members)

    assert [one["status"] for one in summary["clusters"].values()] == [
        "failed",
        "complete",
        "complete",
    ]
    assert summary["clusters"]["b"]["ended"] == ENDED
    assert capsys.readouterr().err == f"foresail: b ended: {ENDED}\n"
    assert [one.over for one in members] == [True] * 3


async def test_when_all_have_ended_up_ends_with_the_first_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There is nothing left to run for."""
    members = (member("a"), member("b"))
    with pytest.raises(InputError, match="give a URL"):
        await run(monkeypatch, "a", "b", members=members)
