"""A second referee on the same log: exactly one of the two stops, and says why."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from foresail.stack.state_folder import StateFolder

pytestmark = [pytest.mark.slow, pytest.mark.nats, pytest.mark.twin, pytest.mark.timeout(300)]


def environment_of(pid: int) -> dict[str, str]:
    """Return the environment that a process was given, without the tie to its parent."""
    pairs = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    environment = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    return {name: value for name, value in environment.items() if name != "FORESAIL_PARENT"}


@pytest.fixture
def start_second() -> Iterator[Callable[[int, Path], subprocess.Popen[bytes]]]:
    """Give a function that starts a second referee beside the one with a given pid."""
    started: list[subprocess.Popen[bytes]] = []

    def start(pid: int, log: Path) -> subprocess.Popen[bytes]:
        with log.open("wb") as output:
            command = [sys.executable, "-m", "services.referee"]
            started.append(
                subprocess.Popen(command, env=environment_of(pid), stdout=output, stderr=output)
            )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_of_two_referees_exactly_one_stops(
    cli: Any, wait_until: Callable[..., Any], start_second: Callable[..., subprocess.Popen[bytes]]
) -> None:
    """Both compute the same decisions; at their first encounter one ends with exit code 3 and a line
    that says so, the other goes on, and each cycle has one decision.
    """
    cli.start(
        *("up", "--workload", "idle", "--nodes", "3", "--interval", "1s", "--dashboard-port", "0")
    )
    state = StateFolder(cli.state)
    wait_until(lambda: (cli.state / "stack.json").exists() and state.read().running, 60, "a stack")
    wait_until(lambda: cli.newest_decided_cycle() >= 0, 60, "a decision")
    first = state.read().processes["referee"]
    second = start_second(first, cli.folder / "second.log")

    def first_ended() -> bool:
        return state.read().last_ends.get("referee", "").startswith("exit code 3")

    wait_until(lambda: second.poll() is not None or first_ended(), 90, "one of them stops")
    alive = [second.poll() is None, not first_ended() and os.path.exists(f"/proc/{first}")]  # noqa: PTH110
    logs = next(cli.state.glob("incarnations/*/logs"))
    texts = [(cli.folder / "second.log").read_text(), (logs / "referee.log").read_text()]
    before = cli.newest_decided_cycle()
    wait_until(lambda: cli.newest_decided_cycle() > before + 2, 30, "decisions go on")
    done = cli.run("tap", "decision", "--since", "100000", "--no-follow", "--json")
    cycles = [line.split('"cycle":', 1)[1].split(",", 1)[0] for line in done.stdout.splitlines()]

    assert 1 == sum(alive)
    assert second.poll() in {None, 3}
    assert ["lost its subject" in text for text in texts] == [not one for one in alive]
    assert cycles
    assert len(cycles) == len(set(cycles))
