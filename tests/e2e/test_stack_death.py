"""kill -9 of `foresail up` at any moment: nothing is left running, and the next start is clean."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from typing import Any

import pytest

from bus.recording import open_recording
from foresail.audit import audit
from foresail.stack.state_folder import StateFolder
from schemas.registry import LAYERS
from tests.patience import HANGS_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.nats, pytest.mark.twin]

SMALL = ("--workload", "idle", "--nodes", "3", "--interval", "1s", "--dashboard-port", "0")
EARLY_SIGNS = ("lock", "incarnations/*/nats/nats.conf", "incarnations/*/twin.journal", "stack.json")
"""Files by which a start has come so far: the folder, the log, the twin, the services."""


def test_a_stack_killed_at_any_moment_leaves_nothing(
    cli: Any, wait_until: Callable[..., Any], children_of: Callable[..., list[str]]
) -> None:
    """Killed while it starts and while it runs: all is gone soon after, what was recorded
    can be read and is true, the folder is free, and a start after it runs as if nothing had been, until
    it is stopped: with a summary, a sealed recording and no process left.
    """
    for sign in EARLY_SIGNS:
        stack = cli.start("up", *SMALL)
        wait_until(lambda sign=sign: list(cli.state.glob(sign)), f"the start has made {sign}")
        stack.kill()
        stack.wait()
        wait_until(lambda: not children_of(cli.folder), f"nothing is left after {sign}")
        assert 0 == cli.run("reset").returncode

    stack = cli.start("up", *SMALL, "--record", str(cli.folder / "run.fslog"))
    state = StateFolder(cli.state)
    wait_until(lambda: (cli.state / "stack.json").exists() and state.read().running, "a stack")
    wait_until(lambda: "outcome" in cli.layers(), "the first outcome")
    before = cli.newest_decided_cycle()
    wait_until(lambda: cli.newest_decided_cycle() > before + 1, "some more")
    stack.kill()
    stack.wait()
    wait_until(lambda: not children_of(cli.folder), "nothing is left")

    assert not state.read().running
    recording = open_recording(cli.folder / "run.fslog")
    assert [] == audit(recording).problems
    assert not recording.sealed
    assert cli.json("explain", "last")["cycle"] > before  # the log of the dead stack can be read
    (cli.state / "stack.json.part").write_text("{", encoding="utf-8")
    stack = cli.start("up", *SMALL, "--record", str(cli.folder / "again.fslog"), "--json")
    wait_until(lambda: cli.layers() >= set(LAYERS), "an event of every layer")
    stack.send_signal(signal.SIGINT)
    output, _ = stack.communicate(timeout=HANGS_SECONDS)
    again = json.loads(output[output.index("{") :])
    assert "interrupted" == again["status"]
    assert again["cycles"] > 0
    assert all(again["events"][layer] for layer in LAYERS)
    assert again["latency_ms"]["decision"]["p50"] > 0
    sealed = open_recording(cli.folder / "again.fslog")
    assert [] == audit(sealed).problems
    assert sealed.sealed
    assert [] == children_of(cli.folder)
