"""`foresail up` twice on one cluster: the second one that would write does not start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bus.exit_codes import ExitCode
from tests.e2e.conftest import Cli
from tests.safety.recorder import LEASES
from tests.safety.test_up import ACTIVE, REPOSITORY, cli, run
from tests.safety.world import World

__all__ = ["cli"]


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_second_stack_does_not_start(cli: Cli, world: World, tmp_path: Path) -> None:
    """One line names who holds the Lease and since when, exit code 2; in shadow mode it may watch beside. The first
    one lets go at its end.
    """
    refused: list[subprocess.CompletedProcess[str]] = []

    def second(*mode: str) -> subprocess.CompletedProcess[str]:
        options = f"--kubeconfig {world.kubeconfig} --state {tmp_path}/second --dashboard-port 0"
        words = [*options.split(), "--interval", "1", "--for", "2s", "--json", *mode]
        return subprocess.run(
            [sys.executable, "-m", "foresail", "up", *words],
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            cwd=tmp_path, capture_output=True, text=True, timeout=150, check=False,
        )  # fmt: skip

    def is_refused() -> bool:
        said = cli.stored("outcome.leadership")
        if said and not refused:
            refused.extend((second(*ACTIVE, "shop"), second()))
        return bool(refused)

    done = run(cli, world, *ACTIVE, "shop", until=is_refused)
    active, shadow = refused
    assert done.code == ExitCode.GOOD, done.errors
    assert active.returncode == ExitCode.BAD_INPUT, active.stderr
    (line,) = active.stderr.strip().splitlines()
    assert "another stack acts on this cluster: Lease kube-system/foresail-executor" in line
    assert "holds it since 20" in line
    assert shadow.returncode == ExitCode.GOOD, shadow.stderr
    lease = world.face.ask("GET", LEASES + "v1/namespaces/kube-system/leases/foresail-executor")
    assert not lease.body["spec"].get("holderIdentity")
