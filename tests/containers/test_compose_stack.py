"""docker-compose.yml, driven to decisions: started in order, killed at two places, taken down."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bus.errors import BusUnavailable, ForesailError, NotPermitted
from bus.events import read_entry
from bus.login import Login
from bus.nats_adapter import NatsBus
from bus.port import Message, StoredMessage
from bus.ports import free_port
from foresail.audit import audit
from projections.figures import duration, number
from projections.foresight.log import READS, ForesightLog, Settled
from projections.log_audit import LogAudit
from schemas.outcome import Mode
from schemas.registry import LAYERS
from schemas.score import OutcomeCounterfactual, difference_text
from tests.containers.engine import (
    NATS_IMAGE,
    PYTHON_IMAGE,
    Stack,
    build,
    compose_command,
    missing,
    run,
)
from tests.patience import HANGS_SECONDS

IMAGE = f"foresail:test-{os.getpid()}"
STREAM = "FORESAIL_twin_compose"
ENDED = {"log", "prepare"}
"""Services that do one thing and end."""
CALM = {"FORESAIL_SPEED": "5", "FORESAIL_INTERVAL": "3"}
"""The reader's cycles of the cluster's time at a third of the pace: a signal is stale, and the one opening of the day
missed, after three times as long. Beside other work the reader's pace was lost."""

pytestmark = [pytest.mark.docker, pytest.mark.slow]


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    """Give the stack of docker-compose.yml, up and running; take it down with its volumes."""
    lacking = missing(PYTHON_IMAGE, NATS_IMAGE) or ("" if compose_command() else "no compose")
    if lacking:
        pytest.skip(lacking)
    if os.geteuid() != 0:
        pytest.skip("killing a container's process from outside needs root")
    build(IMAGE)
    port, nats_port = free_port(), free_port()
    project = Stack(
        f"foresail-{uuid.uuid4().hex[:8]}",
        {
            "FORESAIL_IMAGE": IMAGE,
            "FORESAIL_DASHBOARD_PORT": str(port),
            "FORESAIL_NATS_PORT": str(nats_port),
            "COMPOSE_PROFILES": "twin",
            **CALM,
        },
    )
    try:
        began = time.time()
        project.compose("up", "--detach", "--no-build", timeout=HANGS_SECONDS)
        project.environment["STARTED"] = str(began)
        yield project
    finally:
        project.compose("down", "--volumes", "--timeout", "5", timeout=HANGS_SECONDS)
        run(["docker", "rmi", "--force", IMAGE], timeout=HANGS_SECONDS)  # a busy disk takes minutes
    left = run(["docker", "ps", "-aq", "--filter", f"name={project.project}"])
    assert not left.strip()


@pytest.fixture(scope="module")
def reader(stack: Stack) -> Login:
    """Return the login that the stack made for who only reads."""
    return stack.login("reader")


@pytest_asyncio.fixture
async def bus(stack: Stack, reader: Login) -> AsyncIterator[NatsBus]:
    """Give a connection to the stack's log."""
    connection = await NatsBus.connect(bus_url(stack), cluster="twin", stream=STREAM, login=reader)
    yield connection
    await connection.close()


def bus_url(stack: Stack) -> str:
    """Return where NATS listens in the project's network."""
    return f"nats://{stack.address('nats')}:4222"


async def found_in(bus: NatsBus) -> LogAudit:
    """Check the whole log."""
    return audit([message async for message in bus.history(["foresail.twin.>"])])


async def until(bus: NatsBus, holds: Callable[[LogAudit], bool], what: str) -> LogAudit:
    """Check the log until something holds."""
    found = LogAudit()
    for _ in range(180):
        try:
            found = await found_in(bus)
        except ForesailError:  # the server is on its way back
            await asyncio.sleep(0.5)
            continue
        if holds(found):
            return found
        await asyncio.sleep(0.5)
    pytest.fail(f"not in 90 s: {what}; {found}")


async def time_to_decisions(stack: Stack, bus: NatsBus) -> str:
    """Return how long the first two decisions took from `up` on, and on what."""
    stored = [message.time_ns async for message in bus.history(["foresail.twin.decision"])]
    first, second = (since_up(stack, time_ns) for time_ns in stored[:2])
    return (
        f"from up to the first decision {first}, to the second {second}: "
        f"{' '.join(compose_command())}, {os.cpu_count()} cores, load {number(os.getloadavg()[0])}"
    )


def since_up(stack: Stack, time_ns: int) -> str:
    """Return how long after `up` something was stored."""
    return duration(time_ns / 1e9 - float(stack.environment["STARTED"]))


async def foreseen_rise(bus: NatsBus) -> tuple[Settled, int]:
    """Wait for a rise that was foreseen and acted on, and in which requests fail without us; return what the events
    say of it, and when the first decision that rested on its forecast was stored (ns).
    """
    log, read, stored_ns = ForesightLog(), 0, dict[int, int]()
    ends = time.monotonic() + HANGS_SECONDS
    while time.monotonic() < ends:
        async for message in bus.history(
            [f"foresail.twin.{layer}" for layer in READS], start_seq=read + 1
        ):
            read, stored_ns[message.seq] = message.seq, message.time_ns
            event = read_entry(message).event
            log = log if event is None else log.after(event)
        for one in log.outcomes():
            if one.outcome.rise_seconds is not None and (one.outcome.spared or 0.0) > 0.0:
                return one, stored_ns[one.rise.first.seq]
        await asyncio.sleep(1.0)
    pytest.fail(f"no rise was foreseen: {list(log.outcomes())}")


async def acting_changed(bus: NatsBus, component: str) -> tuple[float, str]:
    """Return by how much acting has changed one component of the outcome score so far, and the whole sentence."""
    stored = await bus.last("foresail.twin.outcome.counterfactual")
    assert stored is not None
    event = read_entry(stored).event
    assert event is not None
    assert isinstance(event.data, OutcomeCounterfactual)
    totals = {one.name: one.total for one in event.data.components}
    return totals[component], difference_text(event.data)


async def test_it_decides_and_its_page_answers(stack: Stack, bus: NatsBus) -> None:
    """Every layer speaks, decisions follow from snapshots, and the dashboard is published."""
    actual = await until(
        bus, lambda one: one.decisions >= 2 and set(LAYERS) <= set(one.layers), "two decisions"
    )
    sys.stderr.write(f"{await time_to_decisions(stack, bus)}\n")
    status, _ = page_state(stack)

    assert [] == actual.problems
    assert 200 == status


async def test_a_rise_is_foreseen_and_its_requests_do_not_fail(stack: Stack, bus: NatsBus) -> None:
    """The trained model speaks of yesterday's shape, a decision that rests on it is executed, replicas are ready, and
    only then the site opens: more requests fail in the world without us.
    """
    one, decided_ns = await foreseen_rise(bus)
    action, outcome = one.rise.first, one.outcome

    assert action.ground.model.startswith("rates-ahead/")
    assert action.foreseen is not None
    assert action.foreseen.prediction_id in action.ground.prediction_ids
    assert action.mode is Mode.ACTIVE
    assert action.ready_seconds is not None
    assert action.executed_seconds is not None
    assert outcome.rise_seconds is not None
    assert action.spoke_seconds <= action.decided_seconds <= action.executed_seconds
    assert action.executed_seconds < action.ready_seconds < outcome.rise_seconds
    failed, sentence = await acting_changed(bus, "requests_failed")
    assert failed < 0.0
    sys.stderr.write(
        f"from up to the first foreseen raise {since_up(stack, decided_ns)}, "
        f"{duration(outcome.rise_seconds - action.ready_seconds)} of the cluster's time from ready to the rise; "
        f"acting changed {sentence}\n"
    )


async def test_the_untouched_world_is_compared(stack: Stack, bus: NatsBus) -> None:
    """The container `untouched` follows this world's journal: what acting changed arrives, and the page shows it."""
    compared: StoredMessage | None = None
    for _ in range(180):
        compared = await bus.last("foresail.twin.outcome.counterfactual")
        if compared is not None:
            break
        await asyncio.sleep(0.5)
    assert compared is not None, stack.compose("logs", "--tail", "20", "untouched", "scoreboard")
    difference = read_entry(compared).event
    assert difference is not None
    names = {component.name for component in difference.data.components}
    assert {"jobs_completed", "requests_served", "energy"} <= names
    assert difference.data.total_seconds > 0.0

    for _ in range(60):
        _, state = page_state(stack)
        if state["sections"]["acting"]["verdict"] is not None:
            break
        await asyncio.sleep(0.5)
    assert state["sections"]["acting"]["verdict"] in {"helps", "harms", "no difference"}


def page_state(stack: Stack) -> tuple[int, dict[str, Any]]:
    """Return the status of the page's state, and what it says."""
    page = HTTPConnection(
        "127.0.0.1", int(stack.environment["FORESAIL_DASHBOARD_PORT"]), timeout=HANGS_SECONDS
    )
    page.request("GET", "/api/state")
    answer = page.getresponse()
    content: dict[str, Any] = json.loads(answer.read())
    page.close()
    return answer.status, content


def test_it_is_tapped_explained_paused_and_killed_from_this_machine(
    stack: Stack, tmp_path: Path
) -> None:
    """By the commands of docs/containers.md, through the published port alone."""
    url = f"nats://127.0.0.1:{stack.environment['FORESAIL_NATS_PORT']}"

    def foresail(*words: str, identity: str = "reader") -> Any:
        file = tmp_path / f"{identity}.env"
        if not file.exists():
            file.write_text(stack.compose("run", "--rm", "-T", "login", f"{identity}/login.env"))
        remote = ["--nats-url", url, "--nats-creds", str(file), "--json"]
        out = run([sys.executable, "-m", "foresail", *words, *remote], timeout=HANGS_SECONDS)
        return json.loads(out.splitlines()[-1])

    assert foresail("tap", "decision", "--limit", "1")["data"]["rationale"]
    assert foresail("explain", "last")["decision"]["data"]["rationale"]
    for command in ("pause", "kill"):
        foresail(command, "--reason", "a test", identity="operator")
        hold = _status(url, tmp_path)["hold"]
        assert (hold["command"], hold["reason"]) == (command, "a test")
    foresail("resume", identity="operator")
    assert _status(url, tmp_path)["hold"] is None


def _status(url: str, folder: Path) -> dict[str, Any]:
    """Return what `status` says; its exit code is not 0 while a process complains."""
    words = ["status", "--nats-url", url, "--nats-creds", str(folder / "reader.env"), "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "foresail", *words], capture_output=True, text=True, check=False
    )
    content: dict[str, Any] = json.loads(done.stdout)
    return content


async def test_every_container_is_healthy_and_may_do_little(stack: Stack) -> None:
    """Health checks pass; nobody is root, writes to its image or holds a capability."""
    containers = await _healthy(stack)

    assert 12 <= len(containers)
    for name, container in containers.items():
        assert container["Config"]["User"] not in {"", "root", "0"}, name
        assert container["HostConfig"]["ReadonlyRootfs"], name
        assert ["ALL"] == container["HostConfig"]["CapDrop"], name
        assert not container["HostConfig"]["Privileged"], name


def test_the_page_may_write_more_than_fits_in_memory(stack: Stack) -> None:
    """Its past states and parts of logs, on disk: other containers have 16 MB for such files."""
    write = "import tempfile; tempfile.TemporaryFile().write(bytes(64_000_000)); print('written')"
    out = stack.compose("exec", "-T", "dashboard", "python", "-c", write)

    assert "written" in out


async def test_each_container_can_say_only_what_is_its_own(stack: Stack, bus: NatsBus) -> None:
    """Nobody connects without a login, and the reader's does not write the log."""
    with pytest.raises(BusUnavailable, match="Authorization"):
        await NatsBus.connect(bus_url(stack), cluster="twin", stream=STREAM)
    mounts = {name: stack.container(name)["Mounts"] for name in ("referee", "executor")}
    logins = {
        name: [one["Name"] for one in found if one["Destination"] == "/login"]
        for name, found in mounts.items()
    }
    forged = Message("foresail.twin.decision", {"Nats-Msg-Id": "forged"}, b"{}")
    before = (await found_in(bus)).decisions
    with pytest.raises(NotPermitted, match=r"foresail\.twin\.decision"):
        await bus.publish([forged])

    assert [f"{stack.project}_login-{name}" for name in logins] == [
        one for (one,) in logins.values()
    ]
    assert [] == (await found_in(bus)).problems
    assert before >= 1


@pytest.mark.parametrize("victim", ["referee", "nats"])
async def test_a_killed_container_comes_back_and_the_log_holds(
    stack: Stack, bus: NatsBus, victim: str
) -> None:
    """After a crash the engine starts it again, decisions go on, and no promise is broken."""
    before = (await found_in(bus)).decisions
    stack.kill(victim)
    after = await until(bus, lambda one: one.decisions >= before + 2, f"decisions after {victim}")

    assert [] == after.problems
    assert after.decisions == after.complete_chains
    assert stack.container(victim)["RestartCount"] >= 1


async def _healthy(stack: Stack) -> dict[str, dict[str, Any]]:
    """Return all containers that stay, once those that are asked for their health are well."""
    ill: dict[str, Any] = {}
    for _ in range(120):
        containers = {name: one for name, one in stack.containers().items() if name not in ENDED}
        states = {name: one["State"] for name, one in containers.items() if name != "nats"}
        ill = {
            name: state for name, state in states.items() if state["Health"]["Status"] != "healthy"
        }
        if not ill:
            return containers
        await asyncio.sleep(0.5)
    pytest.fail(f"not healthy: {ill}")
