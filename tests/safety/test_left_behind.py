"""A stack that is killed by force takes nothing back: the next `foresail up` says what it left, and gives it back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bus.exit_codes import ExitCode
from tests.e2e.conftest import Cli, wait_until
from tests.safety.test_up import ACTIVE, EMPTY, REPOSITORY, cli, is_asleep, run
from tests.safety.world import World

__all__ = ["cli"]
NAMED = {
    "FORESAIL_EXECUTOR__WRITABLE_NODES": "sleeps=yes",
    "FORESAIL_EXECUTOR__LEAST_READY_RATIO": "0",
    "FORESAIL_EXECUTOR__LEASE_SECONDS": "5",
}
PATIENCE_SECONDS = 180
LEASE_SECONDS = 5.0


@contextmanager
def node_left_asleep(cli: Cli, world: World, folder: Path) -> Iterator[str]:
    """Have a stack put a node to sleep, and kill all of its processes at once; return the node's path."""
    path = f"/api/v1/nodes/{world.nodes[EMPTY]}"
    world.change(path, {"metadata": {"labels": {"sleeps": "yes"}}})
    first = Cli(folder)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FORESAIL_")}
    words = f"--kubeconfig {world.kubeconfig} --state {first.state} --profile baseline-rules"
    words += " --interval 1 --dashboard-port 0 --json"
    process = subprocess.Popen(
        [sys.executable, "-m", "foresail", "up", *words.split(), *ACTIVE, "shop"],
        cwd=first.folder,
        env={
            **kept,
            **NAMED,
            "FORESAIL_EXECUTOR__SETTLE_SECONDS": "0",
            "PYTHONPATH": str(REPOSITORY),
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        wait_until(lambda: is_asleep(world, path), PATIENCE_SECONDS, "the node sleeps")
        pids = [process.pid, *first.pids().values(), *first.json("status")["servers"].values()]
    finally:
        process.kill()  # what it had started is killed with it, below
        process.wait()
    try:
        for pid in pids[1:]:
            kill(pid)
        assert is_asleep(world, path)
        time.sleep(LEASE_SECONDS + 1.0)  # so long another stack that acts is refused
        yield path
    finally:
        meta = {"labels": {"sleeps": None}, "annotations": {"foresail.dev/power-state": None}}
        world.change(path, {"spec": {"unschedulable": None}, "metadata": meta})
        first.stop()


def kill(pid: int) -> None:
    """Kill one process, which may have ended with the one that started it."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


@pytest.mark.slow
@pytest.mark.timeout(420)
def test_the_next_start_gives_back(cli: Cli, world: World, tmp_path: Path) -> None:
    """It names the node in the log and wakes it, though its log knows of no execution; a shadow stack before it only
    says so.
    """
    (tmp_path / "first").mkdir()
    with node_left_asleep(cli, world, tmp_path / "first") as path:
        node = path.rpartition("/")[2]
        shadow = run(cli, world, until=lambda: cli.stored("outcome.left_behind"), **NAMED)
        asleep_still = is_asleep(world, path)
        writes = list(world.recorder.writes)

        woken: list[bool] = []

        def is_awake() -> bool:
            if not woken and cli.stored("outcome.left_behind") and not is_asleep(world, path):
                world.change(path, {"metadata": {"labels": {"sleeps": None}}})  # it stays awake now
                woken.append(True)
            return bool(woken)

        done = run(cli, world, *ACTIVE, "shop", until=is_awake, **NAMED)

    assert shadow.code == ExitCode.GOOD, shadow.errors
    assert asleep_still
    assert len(writes) == 1  # the first stack's
    assert woken, done.errors
    assert done.code == ExitCode.GOOD, done.errors
    for told in (shadow, done):
        assert f"node {node} set to sleep" in told.summary["left_behind"]


@pytest.mark.slow
@pytest.mark.timeout(420)
def test_on_request_it_is_taken_over(cli: Cli, world: World, tmp_path: Path) -> None:
    """`--left-behind take_over`: it stands as the new stack's own, and the end of that run gives it back."""
    (tmp_path / "first").mkdir()
    with node_left_asleep(cli, world, tmp_path / "first") as path:
        listed: list[dict[str, object]] = []

        def stands() -> bool:
            if cli.stored("outcome.left_behind") and not listed:
                listed.extend(cli.json("undo", "--list")["standing"])
            return bool(listed)

        words = (*ACTIVE, "shop", "--left-behind", "take_over")
        done = run(cli, world, *words, until=stands, **NAMED)
        given_back = not is_asleep(world, path)

    (standing,) = listed
    assert standing["objects"] == [
        {"resource": "nodes", "namespace": "", "name": path.rpartition("/")[2]}
    ]
    assert "left by an earlier stack" in str(standing["text"])
    assert done.code == ExitCode.GOOD, done.errors
    assert done.summary["given_back"] == {"taken_back": 1, "left": []}
    assert given_back
