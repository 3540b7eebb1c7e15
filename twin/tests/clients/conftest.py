"""A busy embedded cluster, and client programs in the versions that a test asks for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.patience import HANGS_SECONDS

HERE = Path(__file__).parent
Run = Callable[[str, str], dict[str, Any]]


@pytest.fixture
def busy_twin(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Start a cluster with a workload on it; what it said when it was ready."""
    options = ["--nodes", "8", "--workload", "openb", "--speed", "10", "--seed", "3"]
    command = [sys.executable, "-m", "twin", *options, "--kubeconfig-dir", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()


@pytest.fixture
def run_program(busy_twin: dict[str, str]) -> Run:
    """Return what runs a program of this folder with a package of its own, and reads its output."""

    def run(program: str, package: str) -> dict[str, Any]:
        folder = install(package) if package else None
        path = {"PYTHONPATH": str(folder)} if folder else {}
        ran = subprocess.run(
            [sys.executable, str(HERE / program), busy_twin["admin_kubeconfig"]],
            env={**os.environ, **path, "KUBECONFIG": busy_twin["admin_kubeconfig"]},
            capture_output=True,
            text=True,
            timeout=HANGS_SECONDS,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr[-3_000:]
        content: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
        return content

    return run


def install(package: str, *options: str) -> Path:
    """Return a folder with a package and what it needs, kept between runs; skip without it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    folder = cache / "foresail-tests" / f"{package.replace('==', '-')}-python{version}"
    if (folder / ".complete").exists():
        return folder
    uv = Path(sys.executable).with_name("uv")
    if not uv.exists():
        pytest.skip("uv, which installs other versions of clients, is not here")
    words = ["pip", "install", "--quiet", "--python", sys.executable, "--target", str(folder)]
    ran = subprocess.run(
        [str(uv), *words, *options, package],
        capture_output=True,
        text=True,
        timeout=HANGS_SECONDS,
        check=False,
    )
    if ran.returncode != 0:
        pytest.skip(f"{package} cannot be installed here: {ran.stderr[-300:]}")
    (folder / ".complete").touch()
    return folder
