"""`foresail twin up`: a cluster for kubectl in the foreground, found by other verbs, and cleanly gone."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.workloads.convert import main as convert
from services.official_client import OfficialClientTransport
from tests.architecture.source_tree import ROOT
from tests.patience import HANGS_SECONDS

pytestmark = [pytest.mark.twin, pytest.mark.slow]
EXAMPLE = ROOT / "examples" / "workload.csv"


class Twins:
    """Runs `foresail twin` in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen[str]] = []
        clean = {k: v for k, v in os.environ.items() if not k.startswith("FORESAIL_")}
        self.environment = {**clean, "PYTHONPATH": str(ROOT)}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one action to its end."""
        return subprocess.run(
            [sys.executable, "-m", "foresail", "twin", *arguments],
            cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=HANGS_SECONDS,
            check=False,
        )  # fmt: skip

    def up(self, *arguments: str) -> tuple[subprocess.Popen[str], dict[str, Any]]:
        """Start a twin and return what it says when it is ready."""
        process = subprocess.Popen(
            [sys.executable, "-m", "foresail", "twin", "up", "--json", *arguments],
            cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.started.append(process)
        assert process.stdout is not None
        return process, json.loads(process.stdout.readline())


@pytest.fixture
def twins(tmp_path: Path) -> Iterator[Twins]:
    """Give the command line in an empty folder; what was started is stopped."""
    runner = Twins(tmp_path)
    yield runner
    for process in runner.started:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(120)
        assert process.stdout is not None
        process.stdout.close()


async def pods_of(kubeconfig: str) -> list[dict[str, Any]]:
    """List the pods as a client with this kubeconfig sees them."""
    transport = OfficialClientTransport(Path(kubeconfig))
    try:
        answer = await transport.request("GET", "/api/v1/pods")
    finally:
        await transport.close()
    items: list[dict[str, Any]] = json.loads(answer.body)["items"]
    return items


async def web_nodes(kubeconfig: str) -> list[str]:
    """Wait until the three pods of the example's service run; return their nodes."""
    deadline = time.monotonic() + HANGS_SECONDS
    while time.monotonic() < deadline:
        nodes = [
            pod["spec"]["nodeName"]
            for pod in await pods_of(kubeconfig)
            if pod["metadata"]["labels"]["app.kubernetes.io/name"] == "web"
            and pod["status"]["phase"] == "Running"
        ]
        if len(nodes) == 3:
            return sorted(nodes)
        await asyncio.sleep(0.2)
    pytest.fail("not three running pods within two minutes")


def alive(pid: int) -> bool:
    """Say whether a process is there."""
    return Path(f"/proc/{pid}").exists()


async def test_a_cluster_for_kubectl_and_back(twins: Twins) -> None:
    """Ready with a kubeconfig of its own; exported, it can be begun with again; SIGTERM ends it."""
    process, ready = twins.up(
        "--workload", str(EXAMPLE), "--speed", "10", "--kubeconfig-out", "mine.kubeconfig"
    )
    kubeconfig = twins.folder / "mine.kubeconfig"
    assert ready["kubeconfig"] == str(kubeconfig)
    assert stat.S_IMODE(kubeconfig.stat().st_mode) == 0o600
    nodes = await web_nodes(str(kubeconfig))
    assert set(nodes) <= {"plain-1", "gpu-1"}

    exported = twins.run("export", "--output", "start.jsonl", "--json")
    assert exported.returncode == 0, exported.stderr
    assert json.loads(exported.stdout)["nodes"] == 2
    second = twins.run("up", "--for", "1s")
    assert second.returncode == 2
    assert f"pid {process.pid}" in second.stderr

    process.send_signal(signal.SIGTERM)
    assert process.wait(120) == 0
    assert "no twin runs here" in twins.run("export", "--output", "later.jsonl").stderr
    assert not alive(ready["pid"])

    again, told = twins.up("--workload", "start.jsonl", "--kubeconfig-out", "mine.kubeconfig")
    assert any("start state" in line for line in told["workload"])
    assert await web_nodes(str(kubeconfig)) == nodes
    again.send_signal(signal.SIGINT)
    assert again.wait(120) == 0


def test_it_stops_by_itself_and_says_how_to_use_it(twins: Twins) -> None:
    """With --for it ends; without --json it prints a ready kubectl line, and what is played: a parquet
    file, too, that was made of another.
    """
    assert convert([str(EXAMPLE), str(twins.folder / "w.parquet")]) == 0
    done = twins.run("up", "--workload", "w.parquet", "--for", "1s")
    assert done.returncode == 0, done.stderr
    path = twins.folder / ".foresail" / "twin" / "admin.kubeconfig"
    assert f"kubectl --kubeconfig {path} get nodes" in done.stdout
    assert "3 arrivals" in done.stdout


async def test_keep_goes_on_with_the_same_world(twins: Twins) -> None:
    """With --keep the next start continues; without it a new world begins."""
    first, ready = twins.up("--workload", str(EXAMPLE), "--speed", "20", "--keep")
    await web_nodes(ready["kubeconfig"])
    before = {pod["metadata"]["uid"] for pod in await pods_of(ready["kubeconfig"])}
    first.send_signal(signal.SIGTERM)
    first.wait(120)

    second, ready = twins.up("--workload", str(EXAMPLE), "--speed", "20", "--keep")
    uids = {pod["metadata"]["uid"] for pod in await pods_of(ready["kubeconfig"])}
    assert before & uids
    second.send_signal(signal.SIGTERM)
    second.wait(120)


async def dead_nodes(kubeconfig: str) -> list[str]:
    """Wait until a node is not ready; return the names of those that are not."""
    transport = OfficialClientTransport(Path(kubeconfig))
    deadline = time.monotonic() + HANGS_SECONDS
    try:
        while time.monotonic() < deadline:
            answer = await transport.request("GET", "/api/v1/nodes")
            dead = [
                node["metadata"]["name"]
                for node in json.loads(answer.body)["items"]
                for condition in node["status"]["conditions"]
                if condition["type"] == "Ready" and condition["status"] != "True"
            ]
            if dead:
                return dead
            await asyncio.sleep(0.2)
    finally:
        await transport.close()
    pytest.fail("every node is ready after two minutes")


async def test_a_scenario_reaches_a_running_twin(twins: Twins) -> None:
    """What shall go wrong does, when it is given to the running twin; from its start: `tests/faults` of the twin."""
    scenario = twins.folder / "storm.yaml"
    scenario.write_text(
        "faults:\n  - fault: node_death\n    nodes: {names: [node-0001]}\n    at_seconds: 5\n",
        encoding="utf-8",
    )
    _, ready = twins.up("--workload", "idle", "--nodes", "3", "--speed", "60")
    done = twins.run("scenario", "storm.yaml", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["events"] == 1
    assert await dead_nodes(ready["kubeconfig"]) == ["node-0001"]
