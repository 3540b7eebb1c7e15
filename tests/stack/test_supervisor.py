"""What is kept comes back: servers at once, then with growing pauses; some ends are for good; and
everything stops in its order.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bus.clock import ManualClock
from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.stack.processes import ProcessSpec
from foresail.stack.restarts import (
    LONGEST_PAUSE_SECONDS,
    MOST_FAILED_STARTS,
    SETTLED_SECONDS,
    Backoff,
    process_end,
)
from foresail.stack.supervised_processes import ServiceProcess, SupervisedProcess
from foresail.stack.supervisor import Supervisor
from tests.patience import HANGS_SECONDS
from tests.stack.scripted import Scripted


@asynccontextmanager
async def keeping(*processes: SupervisedProcess) -> AsyncIterator[tuple[Supervisor, list[str]]]:
    """Keep processes; give the supervisor and the list of what it reports."""
    supervisor, changes = Supervisor(ManualClock(), patience_seconds=0.0), list[str]()
    supervisor.add(*processes)
    supervisor.keep(lambda name, what: changes.append(f"{name} {what}"), lambda *_: None)
    try:
        yield supervisor, changes
    finally:
        await supervisor.stop()


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(HANGS_SECONDS):
        while not is_so():
            await asyncio.sleep(0.01)


async def test_it_comes_back_with_growing_pauses() -> None:
    """Each end is reported with its signal and the pause; pauses double, failed starts count."""
    server = Scripted(starts=[True, False, True], ends=[-9, -9])
    async with keeping(server) as (_, changes):
        await until(lambda: not server.starts and changes[-1] == "p started again")

    assert changes == [
        "p ended with signal SIGKILL; starting again in 0.2 s",
        "p started again",
        "p ended with signal SIGKILL; starting again in 0.4 s",
        "p ended with an error (the port is taken); starting again in 0.8 s",
        "p started again",
    ]


async def test_what_never_starts_is_given_up() -> None:
    """After several failed starts in a row the last reason ends the stack, and nobody tries again."""
    server = Scripted(starts=[False] * (MOST_FAILED_STARTS + 1), ends=[-9])
    async with keeping(server) as (supervisor, _):
        with pytest.raises(InputError, match="process p = the port is taken"):
            await asyncio.wait_for(supervisor.wait_failure(), HANGS_SECONDS)

    assert len(server.starts) == 1


async def test_bad_input_is_not_tried_again(tmp_path: Path) -> None:
    """A service that ends with exit code 2 is given up with its own last line."""
    program = "import sys; print('x = 1: set it to 2', file=sys.stderr); sys.exit(2)"
    async with keeping(service(tmp_path, "p", program)) as (supervisor, changes):
        with pytest.raises(InputError, match="process p = x = 1: set it to 2"):
            await asyncio.wait_for(supervisor.wait_failure(), HANGS_SECONDS)

    assert changes == ["p started"]


async def test_exit_code_2_of_a_foreign_program_means_nothing() -> None:
    """nats-server has exit codes of its own: it is started again."""
    server = Scripted(starts=[True], ends=[2], own_program=False)
    async with keeping(server) as (_, changes):
        await until(lambda: changes[-1:] == ["p started again"])

    assert changes[0] == "p ended with exit code 2; starting again in 0.2 s"


async def test_a_program_that_is_not_there_is_given_up(tmp_path: Path) -> None:
    """What the operating system cannot start is a failed start, too."""
    spec = ProcessSpec("p", (str(tmp_path / "nowhere"),), {}, 0)
    process = ServiceProcess(spec, tmp_path, first_pause_seconds=0.1)
    async with keeping(process) as (supervisor, _):
        with pytest.raises(InputError, match="No such file"):
            await asyncio.wait_for(supervisor.wait_failure(), HANGS_SECONDS)


def service(folder: Path, name: str, program: str, stop_order: int = 0) -> ServiceProcess:
    """Return a process that runs a Python program."""
    spec = ProcessSpec(name, (sys.executable, "-c", program), {}, stop_order)
    return ServiceProcess(spec, folder, first_pause_seconds=0.1)


def lines_of(path: Path) -> Sequence[str]:
    """Return the lines of a file; none when it is not there."""
    return path.read_text().split() if path.exists() else []


async def test_everything_stops_in_its_order(tmp_path: Path) -> None:
    """Sources first, up to the order asked for; services and servers alike; each one gets SIGTERM."""
    heard = tmp_path / "heard"
    program = (
        "import pathlib, signal, sys, time\n"
        "def stop(*_):\n"
        f"    with open({str(heard)!r}, 'a') as file: file.write(NAME + '\\n')\n"
        "    sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, stop)\n"
        f"pathlib.Path({str(tmp_path)!r}, NAME + '.up').touch()\n"
        "while True: time.sleep(60)\n"
    )
    orders = {"sink": 5, "source": 1, "first": 0}
    processes = [
        service(tmp_path, name, f"NAME = {name!r}\n{program}", order)
        for name, order in orders.items()
    ]
    server = Scripted(starts=[], ends=[], stop_order=9)
    async with keeping(*processes, server) as (supervisor, changes):
        await until(lambda: all((tmp_path / f"{name}.up").exists() for name in orders))
        await supervisor.stop(1)
        assert lines_of(heard) == ["first", "source"]
        assert supervisor.pids["source"] == 0 != supervisor.pids["sink"]
        assert not server.stopped
        await supervisor.stop()
        assert lines_of(heard) == ["first", "source", "sink"]
        assert server.stopped

    assert not [line for line in changes if "ended" in line]


async def test_a_process_that_ignores_the_signal_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The supervisor does not wait for ever for a process that does not end."""
    monkeypatch.setattr("foresail.stack.supervised_processes.STOP_SECONDS", 0.2)
    ready = tmp_path / "ready"
    program = (
        "import pathlib, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"pathlib.Path({str(ready)!r}).touch()\n"
        "time.sleep(600)\n"
    )
    async with keeping(service(tmp_path, "p", program)) as (supervisor, _):
        await until(ready.exists)
        await asyncio.wait_for(supervisor.stop(), HANGS_SECONDS)

        assert supervisor.pids["p"] == 0


async def test_stopping_ends_the_pause_before_a_start() -> None:
    """A process that waits for its next start is not started any more."""

    class Waiting(ManualClock):
        async def sleep(self, seconds: float) -> None:
            del seconds
            await asyncio.Event().wait()

    server = Scripted(starts=[True], ends=[-9])
    supervisor, changes = Supervisor(Waiting(), patience_seconds=0.0), list[str]()
    supervisor.add(server)
    supervisor.keep(lambda _, what: changes.append(what), lambda *_: None)
    await until(lambda: bool(changes))
    await asyncio.wait_for(supervisor.stop(), HANGS_SECONDS)

    assert len(server.starts) == 1


def test_a_process_that_settled_starts_afresh() -> None:
    """The pause doubles up to half a minute, and begins anew after a minute of life."""
    backoff, crash = Backoff(10.0), process_end(1, 5.0)

    pauses = [backoff.pause_seconds(crash) for _ in range(4)]
    assert pauses == [10.0, 20.0, LONGEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS]
    assert backoff.pause_seconds(process_end(1, SETTLED_SECONDS + 1)) == 10.0


def test_another_writer_waits_long() -> None:
    """Two processes of one name must not take the subject from each other in turn."""
    end = process_end(ExitCode.ANOTHER_WRITER, 1.0)

    assert Backoff(0.2).pause_seconds(end) == LONGEST_PAUSE_SECONDS
    assert "stop one of the two" in end.text


async def test_an_error_in_keeping_one_process_leaves_none_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What raises when an end is told is one line, and the process is started again all the same."""
    server, other = Scripted(ends=[-9]), Scripted(ends=[-9], name="q")
    supervisor, told = Supervisor(ManualClock(), patience_seconds=0.0), list[str]()

    def tell(name: str, what: str) -> None:
        told.append(name)
        if told.count(name) == 1 and name == "p":
            raise ValueError("poison")

    supervisor.add(server, other)
    supervisor.keep(tell, lambda *_: None)
    await until(lambda: server.pid == 101 and other.pid == 101)
    await supervisor.stop()

    assert "keep, p: ValueError: poison" in capsys.readouterr().err
