"""The stack as separate processes over a real nats-server: it decides, survives kills, obeys, and
leaves nothing behind.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bus.recording import open_recording
from foresail.audit import audit
from schemas.registry import LAYERS

pytestmark = [pytest.mark.slow, pytest.mark.nats, pytest.mark.twin, pytest.mark.timeout(300)]

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
    done = cli.run("status", "--json")
    if not done.stdout:
        return False
    processes = cli.json("status")["processes"]
    return EXPECTED <= {name for name, process in processes.items() if process["state"] == "live"}


def test_the_stack_survives_kills_and_obeys_its_operator(
    cli: Any, wait_until: Callable[..., Any], children_of: Callable[[Path], list[str]]
) -> None:
    """One stack, one recording: agent B and inference are killed and come back, the kill switch
    holds, Ctrl-C ends cleanly.
    """
    stack = cli.start(
        *("up", "--workload", "openb", "--nodes", "20", "--interval", "2s", "--seed", "7"),
        *("--record", str(cli.folder / "run.fslog"), "--dashboard-port", "0"),
    )
    wait_until(lambda: all_live(cli), 90, "every process is live")
    wait_until(lambda: cli.newest_decided_cycle() >= 0, 30, "a first decision")

    os.kill(cli.pids()["agent-efficiency"], signal.SIGKILL)
    without = wait_until(
        lambda: [one for one in cli.stored("decision") if one["missing"] == ["efficiency"]],
        30,
        "B is named missing",
    )[0]
    assert ["safety", "admission"] == [one["agent"] for one in without["considered"]]
    assert "deadline" == without["closed_by"]
    wait_until(lambda: cli.stored("decision")[-1]["closed_by"] == "all", 30, "B is back")

    os.kill(cli.pids()["inference"], signal.SIGKILL)
    blind = wait_until(
        lambda: [one for one in cli.stored("decision") if one["reason"] == "prediction_missing"],
        30,
        "a noop",
    )[0]
    assert "noop" == blind["action"]["kind"]
    wait_until(
        lambda: cli.stored("decision")[-1]["reason"] != "prediction_missing",
        30,
        "inference is back",
    )

    assert 0 == cli.run("kill").returncode
    wait_until(
        lambda: cli.stored("outcome.execution")[-1]["reason"] == "kill_switch",
        30,
        "the kill switch holds",
    )
    assert 0 == cli.run("resume").returncode
    wait_until(
        lambda: cli.stored("outcome.execution")[-1]["reason"] != "kill_switch", 30, "resumed"
    )

    stack.send_signal(signal.SIGINT)
    output, _ = stack.communicate(timeout=60)
    assert 0 == stack.returncode, output
    assert "cycles" in output
    wait_until(lambda: not children_of(cli.folder), 10, "no process is left")
    _check_recording(cli.folder / "run.fslog")


def _check_recording(path: Path) -> None:
    recording = open_recording(path)
    audit_result = audit(recording)

    assert recording.sealed
    assert [] == audit_result.problems
    assert audit_result.decisions == audit_result.complete_chains
    assert all(audit_result.layers.get(layer) for layer in LAYERS)
    assert audit_result.decisions > 5


def test_a_run_with_an_end_ends_by_itself(
    cli: Any, children_of: Callable[[Path], list[str]]
) -> None:
    """`up --for` ends with exit code 0 and a summary, and leaves a sealed recording and no process."""
    summary = cli.json(
        *(
            "up",
            "--for",
            "14s",
            "--workload",
            "idle",
            "--nodes",
            "10",
            "--interval",
            "2s",
            "--seed",
            "7",
        ),
        *("--record", str(cli.folder / "run.fslog"), "--dashboard-port", "0"),
    )

    assert "complete" == summary["status"]
    assert 4 <= summary["cycles"] <= 8
    assert all(summary["events"][layer] for layer in LAYERS)
    assert summary["latency_ms"]["decision"]["p50"] > 0
    assert [] == audit(open_recording(cli.folder / "run.fslog")).problems
    assert [] == children_of(cli.folder)
