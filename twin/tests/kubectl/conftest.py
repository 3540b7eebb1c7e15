"""Every kubectl at hand, and a cluster of its own for each."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.patience import HANGS_SECONDS

MORE = "FORESAIL_TEST_KUBECTLS"
"""Further kubectl binaries, separated as in PATH."""
SPEED = 20


def packaged_kubectl() -> Path:
    """Return the kubectl that the dev extra installs beside Python."""
    return Path(sys.executable).with_name("kubectl")


def binaries() -> list[Path]:
    """Return the packaged kubectl and those that the environment names."""
    more = [Path(word) for word in os.environ.get(MORE, "").split(os.pathsep) if word]
    return [one for one in (packaged_kubectl(), *more) if shutil.which(one)]


@dataclass(frozen=True)
class Kubectl:
    """One kubectl, and the folder of its cluster's kubeconfig files."""

    binary: Path
    folder: Path
    ready: dict[str, str]

    @property
    def minor(self) -> int:
        """The minor version of this kubectl."""
        said = subprocess.run(
            [self.binary, "version", "--client"], capture_output=True, text=True, check=True
        )
        match = re.search(r"v1\.(\d+)", said.stdout)
        assert match is not None, said.stdout
        return int(match[1])

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


@pytest.fixture(scope="session", params=binaries(), ids=lambda one: one.name)
def kubectl(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kubectl]:
    """Return each kubectl with a fresh cluster."""
    folder = tmp_path_factory.mktemp("kubectl")
    command = [
        *(sys.executable, "-m", "twin", "--nodes", "3", "--workload", "idle"),
        *("--speed", str(SPEED), "--kubeconfig-dir", str(folder)),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Kubectl(request.param, folder, json.loads(process.stdout.readline()))
        finally:
            process.terminate()
