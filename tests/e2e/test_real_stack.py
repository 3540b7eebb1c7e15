"""The stack as separate processes over a real nats-server: it decides, survives kills, obeys, and
leaves nothing behind.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bus.recording import open_recording
from foresail.audit import audit
from schemas.registry import LAYERS
from tests.patience import HANGS_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.nats, pytest.mark.twin]

EXPECTED = {
    "agent-admission",
    "agent-efficiency",
    "agent-safety",
    "collector",
    "dashboard",
    "executor",
    "inference",
    "referee",
    "scoreboard",
}


def all_live(cli: Any) -> bool:
    """Say whether every expected process sends heartbeats and is live."""
    said = cli.run("status", "--json").stdout
    processes = json.loads(said)["processes"] if said else {}
    return EXPECTED <= {name for name, process in processes.items() if process["state"] == "live"}


def test_the_stack_survives_kills_and_obeys_its_operator(
    cli: Any, wait_until: Callable[..., Any], children_of: Callable[[Path], list[str]]
) -> None:
    """One stack, one recording: agent B and inference are killed and come back, the kill switch
    holds, Ctrl-C ends cleanly.
    """
    stack = cli.start(
        *("up", "--workload", "openb", "--nodes", "20", "--interval", "2s", "--seed", "7"),
        *("--profile", "baseline-rules"),
        *("--record", str(cli.folder / "run.fslog"), "--dashboard-port", "0"),
    )
    # Looked for in this process; each `foresail status` is one of its own.
    wait_until(lambda: cli.newest_decided_cycle() >= 0, "a first decision")
    wait_until(lambda: all_live(cli), "every process is live")

    os.kill(cli.pids()["agent-efficiency"], signal.SIGKILL)
    without = wait_until(
        lambda: [one for one in cli.stored("decision") if one["missing"] == ["efficiency"]],
        "B is named missing",
    )[0]
    assert ["safety", "admission"] == [one["agent"] for one in without["considered"]]
    assert "deadline" == without["closed_by"]
    wait_until(lambda: cli.stored("decision")[-1]["closed_by"] == "all", "B is back")

    os.kill(cli.pids()["inference"], signal.SIGKILL)
    blind = wait_until(
        lambda: [one for one in cli.stored("decision") if one["reason"] == "prediction_missing"],
        "a noop",
    )[0]
    assert "noop" == blind["parts"][0]["action"]["kind"]
    wait_until(
        lambda: cli.stored("decision")[-1]["reason"] != "prediction_missing",
        "inference is back",
    )

    assert 0 == cli.run("kill").returncode
    wait_until(
        lambda: cli.stored("outcome.execution")[-1]["reason"] == "kill_switch",
        "the kill switch holds",
    )
    assert 0 == cli.run("resume").returncode
    wait_until(lambda: cli.stored("outcome.execution")[-1]["reason"] != "kill_switch", "resumed")

    stack.send_signal(signal.SIGINT)
    output, _ = stack.communicate(timeout=HANGS_SECONDS)
    assert 0 == stack.returncode, output
    assert "cycles" in output
    wait_until(lambda: not children_of(cli.folder), "no process is left")
    _check_recording(cli.folder / "run.fslog")


def _check_recording(path: Path) -> None:
    recording = open_recording(path)
    audit_result = audit(recording)

    assert recording.sealed
    assert [] == audit_result.problems
    assert audit_result.decisions == audit_result.complete_chains
    assert all(audit_result.layers.get(layer) for layer in LAYERS)
    assert audit_result.decisions > 5
