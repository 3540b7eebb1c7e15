"""SIGSTOP of what everything leans on: the stack replaces what is frozen, says why, and loses nothing."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from bus.recording import open_recording
from foresail.audit import audit
from foresail.stack.state_folder import StateFolder
from schemas.registry import decode
from tests.patience import HANGS_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.nats, pytest.mark.twin]
FROZEN = ("referee", "twin", "nats-server", "executor")


def pids(cli: Any) -> dict[str, int]:
    """Return the process ids of services and servers; empty while there is no stack."""
    if not (cli.state / "stack.json").exists():
        return {}
    stack = StateFolder(cli.state).read()
    return {**stack.processes, **stack.servers} if stack.running else {}


def test_what_is_frozen_is_replaced(
    cli: Any, wait_until: Callable[..., Any], children_of: Callable[..., list[str]]
) -> None:
    """Referee, twin, nats-server and executor are stopped one after the other: each is killed and started
    again, nobody else is, decisions go on, and the reason stands in the output, in the stack's
    state and in the log, which is whole.
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
        frozen, before = pids(cli)[name], cli.newest_decided_cycle()
        os.kill(frozen, signal.SIGSTOP)
        wait_until(
            lambda name=name, frozen=frozen: pids(cli).get(name) not in {0, None, frozen},
            f"{name} is replaced",
        )
        wait_until(
            lambda before=before: cli.newest_decided_cycle() > before + 2,
            "the stack decides again",
        )
    last, ends = pids(cli), StateFolder(cli.state).read().last_ends

    stack.send_signal(signal.SIGINT)
    output, _ = stack.communicate(timeout=HANGS_SECONDS)
    assert 0 == stack.returncode, output
    wait_until(lambda: not children_of(cli.folder), "no process is left")
    recording = open_recording(cli.folder / "run.fslog")
    events = [decode(message.subject, message.headers, message.data).data for message in recording]
    texts = [event.text for event in events if event.TYPE == "foresail.run.error.v1"]
    assert set(FROZEN) == {name for name in first if first[name] != last[name]}
    for name in FROZEN:
        assert f"{name} frozen: no sign of life for" in output
        assert "frozen" in ends[name]
    assert [*FROZEN] == [text.split(" ")[0] for text in texts]
    assert 1 == max(Counter(message.headers["ce-id"] for message in recording).values())
    assert [] == audit(recording).problems
