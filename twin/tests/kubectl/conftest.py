"""The kubectl of the dev extra, and a cluster for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.patience import HANGS_SECONDS

SPEED = 20


def packaged_kubectl() -> Path:
    """Return the kubectl that the dev extra installs beside Python."""
    return Path(sys.executable).with_name("kubectl")


@dataclass(frozen=True)
class Kubectl:
    """One kubectl, and the folder of its cluster's kubeconfig files."""

    binary: Path
    folder: Path
    ready: dict[str, str]

    def run(
        self, words: list[str], stdin: str = "", user: str = "admin"
    ) -> subprocess.CompletedProcess[str]:
        """Run one command as a user of the cluster."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "home"),
            "KUBECONFIG": self.ready[f"{user}_kubeconfig"],
        }
        return subprocess.run(
            [str(self.binary), *words],
            input=stdin,
            capture_output=True,
            text=True,
            env=environment,
            timeout=HANGS_SECONDS,
            check=False,
        )


@pytest.fixture(scope="session")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """Return kubectl with a fresh cluster."""
    folder = tmp_path_factory.mktemp("kubectl")
    command = [
        *(sys.executable, "-m", "twin", "--nodes", "3", "--workload", "idle"),
        *("--speed", str(SPEED), "--kubeconfig-dir", str(folder)),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Kubectl(packaged_kubectl(), folder, json.loads(process.stdout.readline()))
        finally:
            process.terminate()
