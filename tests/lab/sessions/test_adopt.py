"""A running stack takes other settings: in shadow at first, then in use, each step told by its own config events."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bus.clock import SystemClock
from bus.errors import InputError
from bus.events import event_of
from foresail.__main__ import main
from foresail.log_source import LogSource, connect
from foresail.session.adopting import adopt
from foresail.session.profile_file import profile_text, tables_of
from foresail.settings import resolve
from foresail.stack.adoption import adopted_settings
from foresail.stack.state_folder import StateFolder
from inputs.limited_files import read_toml
from lab.sessions.jobs_file import write_jobs_file
from projections.session_state import SessionState
from tests.lab.sessions.harness import Harness, payload_of
from tests.patience import HANGS_SECONDS

WORLD = Path("experiments/worlds/ripples.csv")


def test_a_profile_changes_what_it_names_and_nothing_else() -> None:
    """Tables are merged, so that one field of a table leaves the others as they are."""
    own = resolve(None, {}, {})
    wanted = adopted_settings(own, {"agents": {"value": {"headroom_ratio": 0.33}}})

    assert wanted.agents.value.headroom_ratio == 0.33
    assert wanted.agents.value.most_growth == own.agents.value.most_growth
    assert (wanted.executor, wanted.run) == (own.executor, own.run)


@pytest.mark.parametrize(
    ("tables", "why"),
    [
        ({"run": {"nodes": 3}}, "a running stack takes"),
        ({"agents": {"value": {"headroom_ratio": 7.0}}}, "headroom_ratio"),
        ({"agents": 3}, "table"),
    ],
)
def test_what_a_running_stack_cannot_take_is_refused(tables: dict[str, Any], why: str) -> None:
    """One line says what."""
    with pytest.raises(InputError, match=why):
        adopted_settings(resolve(None, {}, {}), tables)


def test_a_profile_comes_back_from_its_file(tmp_path: Path) -> None:
    """Tables in tables, numbers, words and lists."""
    settings = {
        "agents.profile": "foresail", "agents.value": {"headroom_ratio": 0.2},
        "agents.value.forecast": False, "executor.namespaces": ["a", "b"],
    }  # fmt: skip
    path = tmp_path / "profile.toml"
    path.write_text(profile_text(tables_of(settings), ["because"]))

    assert read_toml(path) == {
        "agents": {"profile": "foresail", "value": {"headroom_ratio": 0.2, "forecast": False}},
        "executor": {"namespaces": ["a", "b"]},
    }


@pytest.fixture
async def stack(tmp_path: Path) -> AsyncIterator[Path]:
    """Run a small stack in active mode; yields its state folder."""
    folder = tmp_path / "state"
    words = ["up", "--nodes", "4", "--workload", str(WORLD), "--mode", "active", "--json"]
    more = ["--state", str(folder), "--dashboard-port", "0", "--for", "5m"]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "foresail", *words, *more), stdout=subprocess.DEVNULL
    )
    try:
        while not await told(folder, "decision"):
            assert process.returncode is None
            await asyncio.sleep(1.0)
        yield folder
    finally:
        process.send_signal(signal.SIGINT)
        await asyncio.wait_for(process.wait(), HANGS_SECONDS)


async def told(folder: Path, pattern: str, *, whole: bool = False) -> list[Any]:
    """Return what a running stack has stored on a subject: the data of events, or whole ones."""
    state = StateFolder(folder)
    try:
        stack = state.read()
    except InputError:
        return []
    if not stack.running:
        return []
    async with connect(stack, state) as bus:
        log = LogSource(bus, stack.cluster, running=True, now_ns=SystemClock().wall_ns())
        events = [event_of(message) async for message in log.messages((pattern,))]
        return list(events) if whole else [event.data for event in events]


@pytest.mark.slow
@pytest.mark.nats
@pytest.mark.twin
async def test_a_stack_shadows_a_profile_and_then_uses_it(stack: Path, tmp_path: Path) -> None:
    """Its executor announces shadow and its old mode again, its agents the profile's value; nobody else begins anew."""
    profile = tmp_path / "tuned.toml"
    profile.write_text("[agents.value]\nheadroom_ratio = 0.33\n")

    assert await adopt(stack, profile, 10.0)

    modes = [one.settings["mode"] for one in await told(stack, "config.executor")]
    assert modes == ["active", "shadow", "active"]
    first, second = await told(stack, "config.agent-safety")
    assert "0.33" not in json.dumps(first.settings)
    assert "0.33" in json.dumps(second.settings)
    assert len(await told(stack, "config.collector")) == 1
    await _a_session_is_told_in_its_log(stack, tmp_path)


async def _a_session_is_told_in_its_log(stack: Path, tmp_path: Path) -> None:
    """Begun in the stack's state folder, a session's events stand in the stack's log as in its own."""
    harness = Harness("local", tmp_path, None)  # type: ignore[arg-type]
    jobs = harness.jobs([{"do": "succeed"}, {"do": "fail"}])
    write_jobs_file(tmp_path / "jobs.jsonl", payload_of("{python}"), jobs)
    words = ["session", "run", "--jobs-file", str(tmp_path / "jobs.jsonl"), "--state", str(stack)]

    for _ in range(2):  # the second one finds everything done, and tells it once more
        assert await asyncio.to_thread(main, [*words, "--session", "both"]) == 1

    state = SessionState()
    for event in await told(stack, "run.session.both", whole=True):
        state.add(event)
    assert (state.total, state.counts["succeeded"], state.counts["failed"]) == (2, 1, 1)
    assert state.ended is not None
    assert (state.ended.status, state.ended.exit_code) == ("complete", 1)
