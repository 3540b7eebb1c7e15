"""kubectl where one command is not enough: what goes on while something else happens."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from twin.tests.kubectl.commands import WEB
from twin.tests.kubectl.conftest import Kubectl

pytestmark = pytest.mark.twin
NODE = "node-0001"
CLOCK = "/foresail/v1/clock"


@pytest.fixture
def shop(kubectl: Kubectl) -> Iterator[str]:
    """Return a namespace with a running application."""
    assert kubectl.run(["create", "namespace", "talk"]).returncode == 0
    assert kubectl.run(["-n", "talk", "apply", "-f", "-"], WEB).returncode == 0
    done = kubectl.run(["-n", "talk", "rollout", "status", "deployment/web", "--timeout=60s"])
    assert done.returncode == 0, done.stderr
    yield "talk"
    assert kubectl.run(["delete", "namespace", "talk", "--timeout=60s"]).returncode == 0


@contextmanager
def going_on(kubectl: Kubectl, words: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Run a command beside others; both of its streams come as one."""
    with subprocess.Popen(
        [str(kubectl.binary), "--kubeconfig", kubectl.ready["admin_kubeconfig"], *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _until(process: subprocess.Popen[str], words: str) -> str:
    """Read lines until one holds some words."""
    assert process.stdout is not None
    seen = ""
    for line in process.stdout:
        seen += line
        if words in line:
            return seen
    raise AssertionError(f"it ended without {words!r}: {seen}")


def test_drain_waits_for_the_budget(kubectl: Kubectl, shop: str) -> None:
    """A drain that a PodDisruptionBudget refuses tries again until the budget lets it."""
    patch = ["-n", shop, "patch", "pdb", "web", "--type=merge", "-p"]
    assert kubectl.run([*patch, '{"spec":{"minAvailable":6}}']).returncode == 0
    words = ["drain", NODE, "--ignore-daemonsets", "--timeout=120s"]
    with going_on(kubectl, words) as drain:
        _until(drain, "will retry after 5s")
        assert kubectl.run([*patch, '{"spec":{"minAvailable":0}}']).returncode == 0
        _until(drain, "drained")
        assert drain.wait() == 0
    assert kubectl.run(["uncordon", NODE]).returncode == 0


def test_watch_prints_rows_as_they_change(kubectl: Kubectl, shop: str) -> None:
    """`get -w` prints the columns once, and a row of the same form for each change."""
    words = ["-n", shop, "get", "deployment", "web", "-w"]
    with going_on(kubectl, words) as watch:
        _until(watch, "UP-TO-DATE")
        scale = ["-n", shop, "scale", "deployment", "web", "--replicas=5"]
        assert kubectl.run(scale).returncode == 0
        output = _until(watch, "5/5")
    assert "NAME" not in output


def test_a_followed_log_ends_with_its_pod(kubectl: Kubectl, shop: str) -> None:
    """`logs -f` goes on while the pod lives, and ends when it is gone."""
    assert kubectl.run(["-n", shop, "run", "one", "--image=one:1"]).returncode == 0
    ready = ["-n", shop, "wait", "--for=condition=Ready", "pod/one", "--timeout=60s"]
    assert kubectl.run(ready).returncode == 0
    with going_on(kubectl, ["-n", shop, "logs", "one", "-f"]) as log:
        _until(log, "msg=starting")
        assert kubectl.run(["-n", shop, "delete", "pod", "one"]).returncode == 0
        assert log.wait() == 0


def test_files_are_the_owners_alone(kubectl: Kubectl) -> None:
    """Keys, tokens and kubeconfigs can be read by their owner only; nothing is in ~/.kube."""
    files = [path for path in kubectl.folder.iterdir() if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    config = yaml.safe_load(Path(kubectl.ready["admin_kubeconfig"]).read_text(encoding="utf-8"))
    assert config["clusters"][0]["cluster"]["server"].startswith("https://127.0.0.1:")


def test_the_clock_is_set_through_kubectl(kubectl: Kubectl) -> None:
    """What docs/twin/engine.md says of the clock works with the administrator's kubeconfig and nothing else."""
    before = json.loads(kubectl.run(["get", "--raw", CLOCK]).stdout)
    try:
        done = kubectl.run(["create", "--raw", CLOCK, "-f", "-"], '{"step_seconds": 30}')
        assert done.returncode == 0, done.stderr
        begun = json.loads(done.stdout)
        assert begun["paused"]
        assert begun["now"] >= before["now"]
        for _ in range(100):  # the step is taken in pieces
            later = json.loads(kubectl.run(["get", "--raw", CLOCK]).stdout)
            if later["now"] >= begun["now"] + 30:
                break
        assert later["now"] == pytest.approx(begun["now"] + 30, abs=0.001)
        assert later["paused"]
    finally:
        kubectl.run(["create", "--raw", CLOCK, "-f", "-"], '{"paused": false}')
