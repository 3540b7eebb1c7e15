"""`foresail up` over three clusters at once: twins over TLS, and a real API server among them where one is at hand."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nats
import pytest
import yaml

from bus.cluster_list import cluster_folder, read_clusters
from bus.errors import ForesailError
from bus.exit_codes import ExitCode
from bus.login import read_logins
from bus.port import StoredMessage
from foresail.log_source import LogSource, connect
from foresail.stack.state_folder import StackFile, StateFolder
from proofs.identities.ground import flush
from tests.e2e.conftest import REPOSITORY, Cli, children_of, wait_until
from tests.real_api_server import real_server_in
from tests.twin.contract.faces import MERGE, OverHttp

pytestmark = [pytest.mark.slow, pytest.mark.nats, pytest.mark.twin, pytest.mark.timeout(900)]
HANGING = pytest.mark.skipif(
    "FORESAIL_SEVERAL_ACTING" not in os.environ,
    reason="three stacks for two minutes, until a server that hangs is given up: FORESAIL_SEVERAL_ACTING=1",
)
REAL = pytest.mark.skipif(
    "KUBEBUILDER_ASSETS" not in os.environ,
    reason="no real API server here: KUBEBUILDER_ASSETS names no folder of etcd and kube-apiserver",
)
NODES = 3
INTERVAL_SECONDS = 1.0
PATIENCE_SECONDS = 300
MORE = 5
"""Cycles in which a wrong write would come, too."""
ACTING = {
    "FORESAIL_EXECUTOR__SETTLE_SECONDS": "0",
    "FORESAIL_EXECUTOR__WRITABLE_NODES": "sleeps=yes",
    "FORESAIL_EXECUTOR__LEAST_READY_RATIO": "0",
}
"""A node that is labelled so is put to sleep as soon as it is idle."""
LABEL = {"metadata": {"labels": {"sleeps": "yes"}}}


@dataclass
class Cluster:
    """One of the three."""

    name: str
    kubeconfig: Path
    face: OverHttp
    process: subprocess.Popen[str] | None = None
    """The twin's; None for a real API server."""
    node: str = ""
    """One of its nodes, which is idle."""

    def has_cordoned(self) -> bool:
        """Say whether its node was put to sleep."""
        return bool(self.face.ask("GET", self.path).body["spec"].get("unschedulable"))

    @property
    def path(self) -> str:
        """Where its node is."""
        return f"/api/v1/nodes/{self.node}"


@dataclass
class Several:
    """The stack over all of them."""

    cli: Cli
    clusters: dict[str, Cluster]
    up: subprocess.Popen[str]
    environment: dict[str, str] = field(default_factory=dict)

    def stack(self, name: str) -> tuple[StackFile, StateFolder]:
        """Return what stands in a cluster's folder."""
        state = StateFolder(cluster_folder(self.cli.state, name))
        return state.read(), state

    def decisions(self, name: str) -> list[StoredMessage]:
        """Return all decisions about a cluster; none while nobody answers."""

        async def read() -> list[StoredMessage]:
            stack, state = self.stack(name)
            async with connect(stack, state) as bus:
                log = LogSource(bus, name, running=True, now_ns=0)
                return [message async for message in log.messages(("decision",))]

        with suppress(ForesailError):
            return asyncio.run(read())
        return []

    def wait_for_more(self, name: str, count: int = MORE) -> None:
        """Wait until a cluster has so many decisions more."""
        before = len(self.decisions(name))
        wait_until(
            lambda: len(self.decisions(name)) >= before + count,
            PATIENCE_SECONDS,
            f"{count} more decisions about {name}",
        )


def _twin(name: str, folder: Path, cleanup: ExitStack) -> Cluster:
    """Serve a simulated cluster over TLS."""
    command = [sys.executable, "-m", "twin", "--nodes", str(NODES), "--workload", "idle"]
    command += ["--kubeconfig-dir", str(folder / name)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)
    cleanup.callback(process.wait, 60)
    cleanup.callback(process.kill)
    assert process.stdout is not None
    cleanup.callback(process.stdout.close)
    ready = json.loads(process.stdout.readline())
    kubeconfig = Path(ready["admin_kubeconfig"])
    config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    assert config["clusters"][0]["cluster"]["server"].startswith("https://")
    face = OverHttp(kubeconfig, "twin", simulated=True)
    cleanup.callback(face.close)
    return Cluster(name, kubeconfig, face, process)


def _real(name: str, folder: Path, cleanup: ExitStack) -> Cluster:
    """Start a real API server with a node that says it is ready; skip where there is none."""
    (folder / name).mkdir()
    server = cleanup.enter_context(real_server_in(folder / name))
    face = OverHttp(server.kubeconfig, "real", simulated=False)
    cleanup.callback(face.close)
    amounts = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    for number in range(NODES):
        meta = {"name": f"node-{number}", "labels": {"kubernetes.io/hostname": f"node-{number}"}}
        body = {"apiVersion": "v1", "kind": "Node", "metadata": meta}
        assert face.ask("POST", "/api/v1/nodes", body=body).status == 201
        status = {"allocatable": amounts, "capacity": amounts, "conditions": [ready]}
        _change(face, f"/api/v1/nodes/node-{number}/status", {"status": status})
    return Cluster(name, server.kubeconfig, face)


def _change(face: OverHttp, path: str, change: dict[str, Any]) -> None:
    answer = face.ask("PATCH", path, body=change, content_type=MERGE)
    assert answer.status == 200, answer.text


@pytest.fixture(
    scope="module",
    params=["three twins", pytest.param("a real one", marks=[pytest.mark.slow, REAL])],
)
def several(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Several]:
    """Give a stack over three clusters that has decided about each of them."""
    folder = tmp_path_factory.mktemp("several")
    with ExitStack() as cleanup:
        third = _twin if request.param == "three twins" else _real
        clusters = {"c": third("c", folder, cleanup)}
        clusters = {name: _twin(name, folder, cleanup) for name in ("a", "b")} | clusters
        for one in clusters.values():
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
            assert one.face.ask("POST", "/api/v1/namespaces", body=namespace).status == 201
            listed = one.face.ask("GET", "/api/v1/nodes").body["items"]
            one.node = min(item["metadata"]["name"] for item in listed)
        cli = Cli(folder)
        cleanup.callback(cli.stop)
        words = [f"--kubeconfig={name}={one.kubeconfig}" for name, one in clusters.items()]
        words += ["--interval", str(INTERVAL_SECONDS), "--dashboard-port", "0", "--json"]
        words += ["--mode", "active", "--namespaces", "shop", "--profile", "baseline-rules"]
        up = _start(cli, words)
        running = Several(cli, clusters, up)
        wait_until(
            lambda: (
                all(len(running.decisions(name)) >= 2 for name in clusters) or up.poll() is not None
            ),
            PATIENCE_SECONDS,
            "two decisions about each",
        )
        assert up.poll() is None, up.communicate()
        yield running


def _start(cli: Cli, words: Sequence[str]) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        cli.command("up", *words),
        cwd=cli.folder,
        env={**cli.environment(), **ACTING},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    cli.started.append(process)
    return process


def test_status_shows_all_and_one(several: Several) -> None:
    """Every cluster well, with a page of its own that lists the others; and the processes of one."""
    status = several.cli.json("status")["clusters"]
    assert list(status) == ["a", "b", "c"]
    assert [one["mode"] for one in status.values()] == ["active"] * 3
    urls = {one["dashboard_url"] for one in status.values()}
    assert len(urls) == 3
    listed = wait_until(
        lambda: [one for one in read_clusters(several.cli.state).values() if one.cycle > 0],
        PATIENCE_SECONDS,
        "a list of clusters with cycles",
    )
    assert {one.dashboard_url for one in listed} <= urls

    one = several.cli.json("status", "--cluster", "b")
    assert one["cluster"] == "b"
    assert one["log"]["stream"] == "FORESAIL_b_i1"
    refused = several.cli.run("explain", "last")
    assert refused.returncode == ExitCode.BAD_INPUT
    assert "name one of a, b, c" in refused.stderr
    assert several.cli.json("explain", "last", "--cluster", "c")["cycle"] > 0


def test_a_login_of_one_is_refused_in_another(several: Several) -> None:
    """The operator of a cannot command b, nor can a's executor speak for b's."""
    stack, state = several.stack("a")
    logins = read_logins(state.incarnation(stack.incarnation))

    async def attempt() -> list[str]:
        refusals: list[str] = []

        async def note(error: Exception) -> None:
            refusals.append(str(error))

        for name in ("operator", "executor", "reader"):
            login = logins[name]
            client = await nats.connect(
                stack.nats_url,
                user=login.user,
                password=login.password,
                inbox_prefix=login.inbox_prefix,
                error_cb=note,
            )
            await client.publish("foresail.b.control", b"{}")
            await client.publish("foresail.b.outcome.execution", b"{}")
            await flush(client)
            await client.close()
        return refusals

    refusals = asyncio.run(attempt())
    assert sum("foresail.b.control" in line for line in refusals) == 3
    assert sum("foresail.b.outcome.execution" in line for line in refusals) == 3
    assert several.cli.json("status", "--cluster", "b")["hold"] is None


def test_a_kill_for_one_leaves_the_others_acting(several: Several) -> None:
    """A node that may sleep on each: the others' are put to sleep, the killed one's stays as it is; without a name
    all are stopped.
    """
    killed, *others = several.clusters.values()
    kill = ("kill", "--cluster", killed.name, "--reason", "that one")
    assert several.cli.run(*kill).returncode == ExitCode.GOOD
    for one in several.clusters.values():
        _change(one.face, one.path, LABEL)

    for one in others:
        wait_until(one.has_cordoned, PATIENCE_SECONDS, f"the node of {one.name} sleeps")
    several.wait_for_more(killed.name)
    assert not killed.has_cordoned()

    refused = several.cli.run("resume")
    assert refused.returncode == ExitCode.BAD_INPUT
    assert "--all-clusters" in refused.stderr
    told = several.cli.json("kill", "--reason", "all of them")["clusters"]
    assert list(told) == ["a", "b", "c"]
    holds = [one["hold"] for one in several.cli.json("status")["clusters"].values()]
    reasons = ["that one", "all of them", "all of them"]  # who was stopped before stays so
    assert [hold["reason"] for hold in holds] == reasons
    assert several.cli.run("resume", "--all-clusters").returncode == ExitCode.GOOD
    wait_until(killed.has_cordoned, PATIENCE_SECONDS, f"the node of {killed.name} sleeps")


@HANGING
def test_a_cluster_that_hangs_delays_no_other(several: Several) -> None:
    """Its API server accepts and never answers; its stack says so, and the others decide as often as before."""
    hanging = several.clusters["b"].process
    assert hanging is not None
    others = [name for name in several.clusters if name != "b"]
    several.wait_for_more("a", 2 * MORE)
    before = {name: several.decisions(name) for name in others}
    hanging.send_signal(signal.SIGSTOP)
    try:
        wait_until(
            lambda: "cannot be read" in read_clusters(several.cli.state)["b"].trouble,
            PATIENCE_SECONDS,
            "the outage of b is noticed",
        )
        for name in others:
            several.wait_for_more(name, 2 * MORE)
        after = {name: several.decisions(name) for name in others}
        status = several.cli.json("status")["clusters"]
    finally:
        hanging.send_signal(signal.SIGCONT)
    for name in others:
        usual = _longest_gap_seconds(before[name])
        gap = _longest_gap_seconds(after[name][len(before[name]) - 1 :])
        assert gap <= max(2 * usual, 5 * INTERVAL_SECONDS), (name, gap, usual)
        assert status[name]["cluster_outage"] is None
    wait_until(
        lambda: read_clusters(several.cli.state)["b"].trouble == "",
        PATIENCE_SECONDS,
        "b can be read again",
    )


def _longest_gap_seconds(messages: Sequence[StoredMessage]) -> float:
    """Return the longest pause between two decisions, by the log's own time stamps."""
    times = [message.time_ns / 1e9 for message in messages]
    return max(later - earlier for earlier, later in itertools.pairwise(times))


def test_the_end_gives_back_on_each_and_leaves_nothing(several: Several) -> None:
    """One Ctrl-C; each cluster's summary; the logs can be read afterwards."""
    several.up.send_signal(signal.SIGINT)
    output, errors = several.up.communicate(timeout=PATIENCE_SECONDS)
    assert several.up.returncode == ExitCode.GOOD, errors
    clusters = json.loads(output)["clusters"]
    assert [one["status"] for one in clusters.values()] == ["interrupted"] * 3
    assert [one["given_back"]["left"] for one in clusters.values()] == [[]] * 3
    assert [one.has_cordoned() for one in several.clusters.values()] == [False] * 3
    status = several.cli.run("status", "--json")
    assert status.returncode == ExitCode.DIFFERS
    assert not any(one["running"] for one in json.loads(status.stdout)["clusters"].values())
    assert several.cli.json("explain", "last", "--cluster", "a")["cycle"] > 0
    assert [line for line in children_of(several.cli.state) if "nats-server" in line] == []


def test_one_that_cannot_be_reached_ends_the_start(tmp_path: Path) -> None:
    """One line that names it, code 2, and nothing is left running."""
    with ExitStack() as cleanup:
        good = _twin("good", tmp_path, cleanup)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        config = yaml.safe_load(good.kubeconfig.read_text(encoding="utf-8"))
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
        gone = tmp_path / "gone.yaml"
        gone.write_text(yaml.safe_dump(config), encoding="utf-8")
        cli = Cli(tmp_path)
        cleanup.callback(cli.stop)
        began = time.monotonic()
        done = cli.run(
            "up", f"--kubeconfig=good={good.kubeconfig}", f"--kubeconfig=gone={gone}", "--json"
        )
    assert done.returncode == ExitCode.BAD_INPUT
    (line,) = done.stderr.splitlines()
    assert f"gone={gone}" in line
    assert "does not answer" in line
    assert time.monotonic() - began < PATIENCE_SECONDS
    assert not (cli.state / "lock").exists()
    assert not list(cli.folder.glob("**/nats.pid"))
