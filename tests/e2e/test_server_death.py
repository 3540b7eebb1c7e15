"""kill -9 of what every process leans on: the stack brings it back, and the log stays true."""

from __future__ import annotations

import json
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
from schemas.subjects import parse
from tests.patience import HANGS_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.nats, pytest.mark.twin]


def up(cli: Any, *more: str) -> Any:
    """Start a small stack."""
    return cli.start(
        *("up", "--workload", "openb", "--nodes", "10", "--interval", "1s", "--seed", "7"),
        *("--dashboard-port", "0", *more),
    )


def server_pid(cli: Any, name: str) -> int:
    """Return the process id of one of the stack's servers; 0 while there is none."""
    if not (cli.state / "stack.json").exists():
        return 0
    return StateFolder(cli.state).read().servers.get(name, 0)


def all_live(cli: Any) -> bool:
    """Say whether every process of the stack sends heartbeats and is live."""
    said = cli.run("status", "--json").stdout
    return bool(said) and all(
        process["state"] == "live" for process in json.loads(said)["processes"].values()
    )


def replace_killed(cli: Any, wait_until: Callable[..., Any], name: str) -> None:
    """Kill a server of the stack with -9, and wait until another one runs and the stack decides again."""
    before, killed = cli.newest_decided_cycle(), server_pid(cli, name)
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: server_pid(cli, name) not in {0, killed}, f"{name} is back")
    wait_until(
        lambda: cli.newest_decided_cycle() > before + 2, f"decisions after the death of {name}"
    )


def test_killed_servers_come_back_and_nothing_is_lost(
    cli: Any, wait_until: Callable[..., Any], children_of: Callable[..., list[str]]
) -> None:
    """nats-server and the twin are killed, each while the stack runs: the same port, log and world come
    back, every process and the dashboard go on, cluster time never goes back, and the recording holds
    every event once.
    """
    stack = up(cli, "--record", str(cli.folder / "run.fslog"))
    wait_until(
        lambda: server_pid(cli, "nats-server") and cli.newest_decided_cycle() >= 2, "decisions"
    )
    for name in ("nats-server", "twin"):
        replace_killed(cli, wait_until, name)
    wait_until(lambda: all_live(cli), "every process is live")
    url = StateFolder(cli.state).read().dashboard_url
    with urlopen(url, timeout=HANGS_SECONDS) as page:
        assert 200 == page.status

    stack.send_signal(signal.SIGINT)
    output, _ = stack.communicate(timeout=HANGS_SECONDS)
    assert 0 == stack.returncode, output
    assert "nats-server ended with signal SIGKILL; starting again" in output
    wait_until(lambda: not children_of(cli.folder), "no process is left")
    assert "re-ran" in next(cli.state.glob("incarnations/*/logs/twin.log")).read_text()
    recording = open_recording(cli.folder / "run.fslog")
    seqs = [message.seq for message in recording]
    ids = Counter(message.headers["ce-id"] for message in recording)
    assert list(range(1, len(seqs) + 1)) == seqs
    assert 1 == max(ids.values())
    assert [] == audit(recording).problems
    observed = [
        decode(message.subject, message.headers, message.data).data
        for message in recording
        if parse(message.subject).layer
        == "observation"  # the untouched world may lag a cycle behind
    ]
    times = [one.cluster_time_seconds for one in observed]
    assert sorted(times) == times
