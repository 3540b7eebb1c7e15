"""What a new user meets in the first hour with a stack that runs: one stack, each stumble of its own. It is
also what scrapers and subscribers that know nothing of ours are tried on.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import nats
import pytest
from prometheus_client.parser import text_string_to_metric_families

from bus.exit_codes import ExitCode
from bus.logins import env_lines, read_logins
from foresail import doctor
from foresail.stack.state_folder import StateFolder
from tests.e2e.conftest import Cli, wait_until
from tests.patience import HANGS_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.nats, pytest.mark.twin]
SMALL = ("--workload", "idle", "--nodes", "3", "--interval", "2s", "--dashboard-port", "0")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    """Give a stack in shadow mode that has decided at least twice."""
    cli = Cli(tmp_path_factory.mktemp("first-hour"))
    cli.start("up", *SMALL, "--mode", "shadow")
    try:
        wait_until((cli.state / "stack.json").exists, "the stack is up")
        wait_until(lambda: len(cli.stored("decision")) >= 2, "two decisions")
        yield cli
    finally:
        cli.stop()


def events(cli: Cli, subject: str) -> list[dict[str, Any]]:
    """Return everything that is stored on a subject."""
    done = cli.run("tap", subject, "--since", "100000", "--no-follow", "--json")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_misspelt_layer_names_the_near_one(running: Cli) -> None:
    """An error and exit code 2; a layer that simply has no event yet is none."""
    wrong = running.run("tap", "decison")
    assert wrong.returncode == ExitCode.BAD_INPUT
    assert "did you mean decision?" in wrong.stderr

    empty = running.run("tap", "stimulus", "--no-follow")
    assert (empty.returncode, empty.stdout) == (ExitCode.GOOD, "")


def test_a_second_up_offers_to_attach_to_the_first(running: Cli) -> None:
    """It names the running stack and who holds its folder; `--attach` shows it and leaves it running."""
    refused = running.run("up", *SMALL)
    assert refused.returncode == ExitCode.BAD_INPUT
    (line,) = refused.stderr.splitlines()
    holder = f"pid {running.started[0].pid}"
    for verb in ("up --attach", "status", "tap"):
        assert f"foresail {verb}" in line
    for word in ("--state", holder, "http://127.0.0.1:"):
        assert word in line

    attached = running.run("up", "--attach", "--for", "10s")
    assert attached.returncode == ExitCode.GOOD, attached.stderr
    assert "mode shadow" in attached.stdout
    assert re.search(r"cycle +\d+", attached.stdout)
    assert "the stack goes on running" in attached.stdout
    assert running.json("status")["running"]


def test_mode_and_configuration_are_those_in_force(running: Cli) -> None:
    """`status`, the executor and the stack's own announcement agree."""
    assert running.json("status")["mode"] == "shadow"
    (stack,) = events(running, "config.stack")
    (executor,) = events(running, "config.executor")
    (collector,) = events(running, "config.collector")
    assert executor["data"]["settings"]["mode"] == "shadow"
    for name, own in (("executor", executor), ("collector", collector)):
        given = stack["data"]["settings"][name]
        announced = own["data"]["settings"]  # without groups that are off
        assert announced == {field: given[field] for field in announced}


def test_a_pause_is_seen_where_people_look(running: Cli) -> None:
    """In `status` with since when and why, until `resume`."""
    assert ExitCode.GOOD == running.run("pause", "--reason", "lunch").returncode
    hold = running.json("status")["hold"]
    assert (hold["command"], hold["reason"]) == ("pause", "lunch")
    assert hold["text"] in running.run("status").stdout
    assert ExitCode.GOOD == running.run("resume").returncode
    assert running.json("status")["hold"] is None


def test_a_stack_is_reached_by_its_server_alone(running: Cli, tmp_path: Path) -> None:
    """As one in containers is: tapped, explained, paused and killed with `--nats-url` and a login file."""
    stack = StateFolder(running.state).read()
    for name, login in read_logins(running.state / "incarnations" / stack.incarnation).items():
        (tmp_path / f"{name}.env").write_text(env_lines(login))

    def remote(identity: str, *words: str) -> subprocess.CompletedProcess[str]:
        where = ["--nats-url", stack.nats_url, "--incarnation", stack.incarnation]
        file = str(tmp_path / f"{identity}.env")
        empty = ["--state", str(tmp_path / "empty")]
        return running.run(*words, *where, "--nats-creds", file, *empty, "--json")

    assert json.loads(remote("reader", "tap", "decision", "--limit", "1").stdout)["data"]["cycle"]
    assert json.loads(remote("reader", "explain", "last").stdout)["cycle"]
    assert remote("reader", "pause").returncode == ExitCode.FAILED
    assert remote("operator", "kill").returncode == ExitCode.GOOD
    assert json.loads(remote("reader", "status").stdout)["hold"]["command"] == "kill"
    assert remote("operator", "resume").returncode == ExitCode.GOOD
    assert not (tmp_path / "empty").exists()


def test_doctor_knows_the_port_of_the_running_stack(running: Cli) -> None:
    """A port that is taken by our own dashboard is no fault."""
    url = running.json("status")["dashboard_url"]
    port = int(url.rsplit(":", 1)[1])
    finding = doctor.dashboard_port(port, running.state)
    assert finding.ok
    assert "the running stack's" in finding.found
    assert not doctor.dashboard_port(port, running.folder / "elsewhere").ok


def answer(port: int, path: str) -> tuple[int, str]:
    """Ask one process; 0 when nobody answers."""
    connection = HTTPConnection("127.0.0.1", port, timeout=HANGS_SECONDS)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    except OSError:
        return 0, ""
    finally:
        connection.close()


def samples(port: int) -> list[tuple[str, float]]:
    """Return name and value of every sample of one process."""
    families = text_string_to_metric_families(answer(port, "/metrics")[1])
    return [(sample.name, sample.value) for family in families for sample in family.samples]


def test_every_process_is_ready_and_can_be_scraped(running: Cli) -> None:
    """`status` names a port for each process; all get ready, and the numbers tell the same story."""
    status = wait_until(lambda: status_with_ports(running), "every process tells its port")
    ports: dict[str, int] = status["health"]
    for name, port in ports.items():
        wait_until(lambda port=port: answer(port, "/readyz")[0] == 200, f"{name} is ready")
        assert answer(port, "/healthz")[0] == 200

    def decided() -> float:
        return sum(
            value for name, value in samples(ports["referee"]) if name == "foresail_decisions_total"
        )

    def lag_is_known() -> bool:
        return any(one.get("lag") == 0 for one in running.json("status")["processes"].values())

    wait_until(decided, "a decision is counted")
    wait_until(lag_is_known, "heartbeats tell the lag")
    assert {*status["processes"], "twin"} == set(ports)
    assert dict(samples(ports["twin"]))["foresail_twin_cluster_time_seconds"] > 0


def status_with_ports(running: Cli) -> Any:
    """Return the status once every process has told its port; nothing before."""
    status = running.json("status")
    return status if {*status["processes"], "twin"} == set(status["health"]) else None


async def test_a_plain_subscriber_sees_readable_events(running: Cli) -> None:
    """On `live.foresail.>` every message has CloudEvents headers and JSON data, and all six layers pass by."""
    client = await nats.connect(json.loads((running.state / "stack.json").read_text())["nats_url"])
    seen: dict[str, Any] = {}

    async def take(message: Any) -> None:
        content = json.loads(message.data)
        seen[message.headers["ce-type"]] = (message.subject, dict(message.headers), content)

    await client.subscribe("live.foresail.>", cb=take)
    layers = ("snapshot", "observation", "prediction", "proposal", "decision", "outcome")
    async with asyncio.timeout(HANGS_SECONDS):
        while not all(any(f".{layer}." in kind for kind in seen) for layer in layers):
            await asyncio.sleep(0.2)
    await client.close()

    subject, headers, data = seen["foresail.decision.v2"]
    assert subject == "live.foresail.twin.decision"
    assert headers["ce-specversion"] == "1.0"
    assert headers["ce-source"].startswith("/foresail/twin/")
    assert headers["ce-correlationid"].endswith(f"/{data['cycle']}")
    assert data["rationale"]


def test_a_cluster_that_dies_is_said_everywhere(tmp_path: Path) -> None:
    """`status`, the terminal and the exit code of `up --for` say so, with since when."""
    cli = Cli(tmp_path)
    twin = subprocess.Popen(
        [sys.executable, "-m", "foresail", "twin", "up", "--json", "--workload", "idle", "--nodes", "3",
         "--state", str(tmp_path / "twin")],
        env=cli.environment(), stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert twin.stdout is not None
        ready = json.loads(twin.stdout.readline())
        stack = cli.start(
            "up", "--kubeconfig", ready["kubeconfig"], "--interval", "1s",
            "--dashboard-port", "0",
        )  # fmt: skip
        wait_until((cli.state / "stack.json").exists, "the stack is up")
        wait_until(lambda: cli.newest_decided_cycle() >= 0, "a decision")
        assert cli.json("status")["cluster_outage"] is None
        _kill_with_children(twin.pid)
        twin.wait(60)

        outage = wait_until(lambda: cli.json("status")["cluster_outage"], "status says so")
        assert "cannot be read since 20" in outage["text"]
        done = cli.run("status")
        assert done.returncode == ExitCode.DIFFERS
        since, _, _ = outage["text"].partition(" (")  # what it says after that is the newest error
        assert since in done.stdout
        stack.send_signal(signal.SIGINT)
        output, _ = stack.communicate(timeout=HANGS_SECONDS)
        assert stack.returncode == ExitCode.DIFFERS
        assert output.count("the cluster cannot be read since") >= 2
    finally:
        cli.stop()
        if twin.poll() is None:
            twin.kill()
            twin.wait()
        assert twin.stdout is not None
        twin.stdout.close()


def _kill_with_children(pid: int) -> None:
    """Kill a twin's command and the process that serves its API."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for one in (pid, *map(int, children)):
        os.kill(one, signal.SIGKILL)


def test_without_a_stack_attaching_is_one_line(cli: Any) -> None:
    """There is nothing to attach to."""
    done = cli.run("up", "--attach")
    assert done.returncode == ExitCode.BAD_INPUT
    assert "no stack has run here" in done.stderr
