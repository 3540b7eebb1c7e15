"""The node agent as a process against an API server over HTTP: the embedded cluster's, and a real one."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from deploy.manifests.values import DEFAULTS
from schemas.node_annotations import NodeLimit
from schemas.node_limits import CONDITION, AgentReport, LimitState, read_report
from services.official_client import OfficialClientTransport
from services.quantities import parse_whole
from tests.node_agent.machine_tree import MOST_KHZ, MachineTree, make_machine
from tests.real_api_server import ApiServer, api_server  # noqa: F401 - a fixture

KUBECTL = Path(sys.executable).with_name("kubectl")
CLOCK = NodeLimit.CLOCK_SCALE
LOWERED = [2_080_000, 2_080_000]
PATIENCE_SECONDS = 60.0
UNTOUCHED = [MOST_KHZ, MOST_KHZ]


@dataclass
class Ground:
    """One node of an API server, and the machine under it."""

    kubeconfig: Path
    node: str
    machine: MachineTree
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    def kubectl(self, *words: str, stdin: str = "") -> str:
        """Run kubectl; it has to succeed."""
        command = [str(KUBECTL), "--kubeconfig", str(self.kubeconfig), *words]
        done = subprocess.run(command, capture_output=True, text=True, input=stdin, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def annotate(self, *words: str) -> None:
        """Change annotations of the node."""
        self.kubectl("annotate", "node", self.node, "--overwrite", *words)

    def ask(self, value: str, seconds: float = 600.0, limit: NodeLimit = CLOCK) -> None:
        """Ask for a limit that stands for so long."""
        ends = datetime.now(UTC) + timedelta(seconds=seconds)
        self.annotate(
            f"{limit.value}={value}",
            f"{limit.decision_key}=decision-of-{value}",
            f"{limit.expires_key}={ends:%Y-%m-%dT%H:%M:%SZ}",
        )

    def take_back(self, limit: NodeLimit = CLOCK) -> None:
        """Remove a limit's annotations."""
        self.annotate(*(f"{key}-" for key in (limit.value, limit.decision_key, limit.expires_key)))

    def condition(self) -> dict[str, Any]:
        """Return the agent's condition; empty where there is none."""
        return next((one for one in self.conditions() if one["type"] == CONDITION), {})

    def conditions(self) -> list[dict[str, Any]]:
        """Return all conditions of the node."""
        found: list[dict[str, Any]] = self.get(f"/api/v1/nodes/{self.node}")["status"].get(
            "conditions", []
        )
        return found

    def get(self, path: str) -> Any:
        """Read something of the API."""

        async def read() -> bytes:
            transport = OfficialClientTransport(self.kubeconfig)
            try:
                return (await transport.request("GET", path)).body
            finally:
                await transport.close()

        return json.loads(asyncio.run(read()))

    def report(self) -> AgentReport | None:
        """Return what the agent says."""
        return read_report(self.condition().get("message", ""))

    def states(self) -> dict[str, tuple[LimitState, str]]:
        """Return the state of each limit by its word, with what was read back."""
        report = self.report()
        limits = () if report is None else report.limits
        return {one.limit.word: (one.state, one.read) for one in limits}

    def events(self) -> list[str]:
        """Return reason and note of each event about the node by the agent."""
        listed = self.get("/apis/events.k8s.io/v1/namespaces/default/events")
        return [
            f"{one['reason']}: {one['note']}"
            for one in listed["items"]
            if one["regarding"]["name"] == self.node
            and one.get("reportingInstance") == "node-agent"
        ]

    def start(self, kubeconfig: Path | None = None, **more: float) -> subprocess.Popen[str]:
        """Start an agent of this node."""
        environment = {
            **os.environ,
            "FORESAIL_KUBECONFIG": str(kubeconfig or self.kubeconfig),
            "FORESAIL_NODE_NAME": self.node,
            "FORESAIL_REQUIRE_RIGHTS": "read",
            "FORESAIL_SETTINGS": self.machine.settings(**more).model_dump_json(),
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "services.node_agent"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.running.append(process)
        return process

    def end(self, process: subprocess.Popen[str], number: int = signal.SIGTERM) -> int:
        """End an agent by a signal; return its exit code."""
        process.send_signal(number)
        process.communicate(timeout=PATIENCE_SECONDS)
        return process.returncode


def until(expected: Any, what: Callable[[], Any]) -> None:
    """Wait until something is as expected."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (found := what()) != expected:
        assert time.monotonic() < deadline, f"{found!r} is not {expected!r}"
        time.sleep(0.1)


@contextmanager
def ended_agents(ground: Ground) -> Iterator[Ground]:
    """End what a test has left running."""
    try:
        yield ground
    finally:
        for process in ground.running:
            if process.poll() is None:
                process.kill()
                process.wait()
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


@pytest.fixture(scope="session")
def twin_kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Serve the embedded cluster, in the machine's own time."""
    folder = tmp_path_factory.mktemp("twin")
    options = ("--nodes", "3", "--workload", "idle", "--kubeconfig-dir", str(folder))
    command = [sys.executable, "-m", "twin", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Path(json.loads(process.stdout.readline())["admin_kubeconfig"])
        finally:
            process.terminate()


@pytest.fixture(scope="session", params=["twin", pytest.param("real", marks=pytest.mark.slow)])
def kubeconfig(request: pytest.FixtureRequest) -> Path:
    """Return each kind of API server in turn."""
    if request.param == "twin":
        served: Path = request.getfixturevalue("twin_kubeconfig")
        return served
    server: ApiServer = request.getfixturevalue("api_server")
    return server.kubeconfig


@pytest.fixture
def ground(kubeconfig: Path, tmp_path: Path) -> Iterator[Ground]:
    """Return a node of its own."""
    made = Ground(kubeconfig, f"agent-{os.getpid()}-{time.monotonic_ns()}", make_machine(tmp_path))
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": made.node},
        "status": {"allocatable": {"cpu": "4"}, "capacity": {"cpu": "4"}},
    }
    made.kubectl("create", "-f", "-", stdin=json.dumps(node))
    status = json.dumps({"status": node["status"]})
    made.kubectl("patch", "node", made.node, "--subresource=status", "-p", status)
    with ended_agents(made):
        yield made


def test_a_limit_is_held_reported_and_given_back_when_its_time_is_over(ground: Ground) -> None:
    """Annotated with kubectl, in force by read-back, said as condition and event, over by its own end."""
    agent = ground.start()
    until(
        ("True", "Idle"),
        lambda: (ground.condition().get("status"), ground.condition().get("reason")),
    )
    assert ground.machine.limits() == UNTOUCHED
    ground.ask("0.65", seconds=6.0)
    until(LOWERED, ground.machine.limits)
    read = "2 x 2080000 kHz of 3200000"
    until({"clock-scale": (LimitState.IN_FORCE, read)}, ground.states)
    assert ground.condition()["status"] == "True"
    assert ground.condition()["reason"] == "InForce"
    until(UNTOUCHED, ground.machine.limits)
    until({"clock-scale": (LimitState.EXPIRED, "2 x 3200000 kHz of 3200000")}, ground.states)
    until(True, lambda: any(one.startswith("LimitEnded") for one in ground.events()))
    told = ground.events()
    assert any(one.startswith(f"LimitInForce: clock-scale 0.65 in force: {read}") for one in told)
    assert ground.end(agent) == 0


def test_it_is_given_back_when_the_annotation_goes(ground: Ground) -> None:
    """Both kinds of limit; the kubelet's own cgroup below is never touched."""
    ground.start()
    ground.ask("0.65")
    ground.ask("0.5", limit=NodeLimit.CPU_CAP)
    until("200000 100000", lambda: ground.machine.cpu_max)
    until(LOWERED, ground.machine.limits)
    for limit in (CLOCK, NodeLimit.CPU_CAP):
        ground.take_back(limit)
    until(UNTOUCHED, ground.machine.limits)
    until("max 100000", lambda: ground.machine.cpu_max)
    until({}, ground.states)
    below = ground.machine.group / "foresail-kubepods.slice"
    assert (below / "cpu.max").read_text() == "max 100000\n"


def test_an_orderly_end_gives_back_and_leaves_nothing(ground: Ground) -> None:
    """SIGTERM: the limits are off, the condition is gone, the exit code is 0."""
    agent = ground.start()
    ground.ask("0.65")
    until({"clock-scale": (LimitState.IN_FORCE, "2 x 2080000 kHz of 3200000")}, ground.states)
    assert ground.end(agent) == 0
    assert ground.machine.limits() == UNTOUCHED
    assert ground.condition() == {}


def test_other_conditions_stay_as_they_are(ground: Ground) -> None:
    """A condition is merged by its type: what others write beside it is not ours to touch."""
    theirs = {"type": "KernelDeadlock", "status": "False", "reason": "None", "message": "as before"}
    patch = json.dumps({"status": {"conditions": [theirs]}})
    ground.kubectl("patch", "node", ground.node, "--subresource=status", "-p", patch)
    before = [one for one in ground.conditions() if one["type"] == "KernelDeadlock"]
    agent = ground.start()
    until("True", lambda: ground.condition().get("status"))
    ground.end(agent)
    assert [one for one in ground.conditions() if one["type"] == "KernelDeadlock"] == before
    assert before[0]["message"] == "as before"


def test_what_a_killed_agent_left_is_given_back_by_the_next(ground: Ground) -> None:
    """SIGKILL leaves the limit; the next start takes it off although nobody asks for it any more."""
    agent = ground.start()
    ground.ask("0.65")
    until(LOWERED, ground.machine.limits)
    ground.end(agent, signal.SIGKILL)
    assert ground.machine.limits() == LOWERED
    ground.take_back()
    ground.start()
    until(UNTOUCHED, ground.machine.limits)
    until(True, lambda: any(one.startswith("LimitsGivenBack") for one in ground.events()))


def test_it_is_given_back_before_anybody_is_asked(ground: Ground, tmp_path: Path) -> None:
    """Without an API server, too: what a killed agent left does not wait for one."""
    agent = ground.start()
    ground.ask("0.65")
    until(LOWERED, ground.machine.limits)
    ground.end(agent, signal.SIGKILL)
    ground.take_back()
    nowhere = tmp_path / "nowhere.yaml"
    server = json.loads(ground.kubectl("config", "view", "--raw", "-o", "json"))["clusters"][0]
    text = ground.kubeconfig.read_text().replace(server["cluster"]["server"], "https://127.0.0.1:9")
    nowhere.write_text(text)
    ground.start(kubeconfig=nowhere)
    until(UNTOUCHED, ground.machine.limits)


@pytest.mark.parametrize(
    ("value", "reason"),
    [("0.1", "out_of_bounds"), ("fast", "unreadable")],
)
def test_a_value_out_of_bounds_is_refused_and_said(ground: Ground, value: str, reason: str) -> None:
    """Nothing is written; condition and event say which value, and what would do."""
    ground.start()
    ground.ask(value)
    until("False", lambda: ground.condition().get("status"))
    report = ground.report()
    assert report is not None
    assert [one.reason for one in report.limits] == [reason]
    assert value in report.limits[0].text
    assert ground.machine.limits() == UNTOUCHED
    until(True, lambda: any(one.startswith("LimitRefused") for one in ground.events()))


def test_a_second_agent_of_a_machine_is_refused(ground: Ground) -> None:
    """Two would undo each other: the second ends with code 3."""
    ground.start()
    until("True", lambda: ground.condition().get("status"))
    second = ground.start()
    output, _ = second.communicate(timeout=PATIENCE_SECONDS)
    assert second.returncode == 3, output
    assert "another agent holds" in output


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("FORESAIL_NODE_NAME", "", "FORESAIL_NODE_NAME = (unset): give the name of the node"),
        ("FORESAIL_SETTINGS", '{"cpu_folder": "/nowhere/at/all"}', "cpu_folder = /nowhere/at/all"),
        ("FORESAIL_SETTINGS", '{"least_clock_ratio": 2}', "least_clock_ratio = 2"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    tmp_path: Path, twin_kubeconfig: Path, variable: str, value: str, said: str
) -> None:
    """The line names field, value and remedy."""
    environment = {
        **os.environ,
        "FORESAIL_NODE_NAME": "node-0",
        "FORESAIL_KUBECONFIG": str(twin_kubeconfig),
        "FORESAIL_SETTINGS": make_machine(tmp_path).settings().model_dump_json(),
        variable: value,
    }
    command = [sys.executable, "-m", "services.node_agent"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1


def test_its_memory_stays_below_the_manifests_limit(ground: Ground) -> None:
    """Peak resident memory while a limit stands, as the kernel counts it; run with -s it is printed."""
    agent = ground.start()
    ground.ask("0.65")
    until(LOWERED, ground.machine.limits)
    status = Path(f"/proc/{agent.pid}/status").read_text(encoding="ascii")
    (peak_kib,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    peak_mib = int(peak_kib) / 1024
    sys.stdout.write(f"peak resident memory: {peak_mib:.0f} MiB\n")
    assert peak_mib < parse_whole(DEFAULTS["nodeAgent"]["resources"]["limits"]["memory"]) / 2**20
