"""SIGSTOP and kill -9 of what everything leans on: the stack replaces it, says why, and loses nothing."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
from typing import Any
from urllib.request import urlopen

import pytest

from bus.recording import open_recording
from foresail.audit import audit
from foresail.stack.state_folder import StateFolder
from schemas.registry import decode
from tests.patience import HANGS_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.nats, pytest.mark.twin]
FROZEN = ("referee", "twin", "nats-server", "executor")
KILLED = ("nats-server", "twin")


def pids(cli: Any) -> dict[str, int]:
    """Return the process ids of services and servers; empty while there is no stack."""
    if not (cli.state / "stack.json").exists():
        return {}
    stack = StateFolder(cli.state).read()
    return {**stack.processes, **stack.servers} if stack.running else {}


def replaced(cli: Any, wait_until: Callable[..., Any], name: str, number: int) -> None:
    """Send a process a signal, and wait until another one runs and the stack decides again."""
    # A signal to 0, which stands for a process between two starts, would reach this test's own group.
    gone = wait_until(lambda: pids(cli).get(name), f"{name} runs")
    before = cli.newest_decided_cycle()
    os.kill(gone, number)
    wait_until(lambda: pids(cli).get(name) not in {0, None, gone}, f"{name} is replaced")
    wait_until(lambda: cli.newest_decided_cycle() > before + 2, "the stack decides again")


def all_live(cli: Any) -> bool:
    """Say whether every process of the stack sends heartbeats and is live."""
    return all(one["state"] == "live" for one in cli.json("status")["processes"].values())


def test_what_is_frozen_or_killed_is_replaced(
    cli: Any, wait_until: Callable[..., Any], children_of: Callable[..., list[str]]
) -> None:
    """Referee, twin, nats-server and executor are stopped one after the other: each is killed and started
    again, nobody else is, decisions go on, and the reason stands in the output, in the stack's
    state and in the log. Then nats-server and the twin are killed: the same port, log and world come back, every
    process and the dashboard go on, cluster time never goes back, and the recording holds every event once.
    """
    stack = cli.start(
        *("up", "--workload", "openb", "--nodes", "10", "--interval", "1s", "--seed", "7"),
        *("--dashboard-port", "0", "--record", str(cli.folder / "run.fslog")),
    )
    # By then the supervisor has heard everybody, so that it waits for eight seconds and not for two minutes: what it
    # prints meanwhile has to fit into the pipe that this test reads at the end.
    wait_until(lambda: cli.newest_decided_cycle() >= 6, "some decisions")
    first = pids(cli)
    for name in FROZEN:
        replaced(cli, wait_until, name, signal.SIGSTOP)
    last, ends = pids(cli), StateFolder(cli.state).read().last_ends
    for name in KILLED:
        replaced(cli, wait_until, name, signal.SIGKILL)
    wait_until(lambda: all_live(cli), "every process is live")
    with urlopen(StateFolder(cli.state).read().dashboard_url, timeout=HANGS_SECONDS) as page:
        assert 200 == page.status

    stack.send_signal(signal.SIGINT)
    output, _ = stack.communicate(timeout=HANGS_SECONDS)
    assert 0 == stack.returncode, output
    wait_until(lambda: not children_of(cli.folder), "no process is left")
    assert set(FROZEN) == {name for name in first if first[name] != last[name]}
    for name in FROZEN:
        assert f"{name} frozen: no sign of life for" in output
        assert "frozen" in ends[name]
    assert "nats-server ended with signal SIGKILL; starting again" in output
    assert "re-ran" in next(cli.state.glob("incarnations/*/logs/twin.log")).read_text()

    recording = open_recording(cli.folder / "run.fslog")
    messages = list(recording)
    events = [decode(message.subject, message.headers, message.data).data for message in messages]
    texts = [event.text for event in events if event.TYPE == "foresail.run.error.v1"]
    assert [*FROZEN] == [text.split(" ")[0] for text in texts][: len(FROZEN)]
    assert [*range(1, len(messages) + 1)] == [message.seq for message in messages]
    assert 1 == max(Counter(message.headers["ce-id"] for message in messages).values())
    assert [] == audit(recording).problems
    times = [
        event.cluster_time_seconds
        for event in events
        if event.TYPE.startswith("foresail.observation.")
    ]  # of the untouched world not: it may lag a cycle behind
    assert times
    assert sorted(times) == times
