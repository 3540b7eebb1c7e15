"""Two servers with the same audit policy: the embedded cluster, and a real one where its binaries are at hand."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.real_api_server import real_server_in
from twin.tests.audit.rows import POLICY
from twin.tests.contract.faces import OverHttp


@dataclass(frozen=True, slots=True)
class Audited:
    """A server and its audit log."""

    face: OverHttp
    log: Path

    def events(self, agent: str) -> list[dict[str, Any]]:
        """Return what is written of the requests of one user agent."""
        lines = [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]
        return [line for line in lines if line.get("userAgent") == agent]


@pytest.fixture(
    scope="session",
    params=[
        pytest.param("served", marks=pytest.mark.twin),
        pytest.param("real", marks=pytest.mark.slow),
    ],
)
def audited(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Audited]:
    """Return each server in turn."""
    folder = tmp_path_factory.mktemp("audited")
    policy, log = folder / "policy.yaml", folder / "audit.jsonl"
    policy.write_text(POLICY, encoding="utf-8")
    if request.param == "real":
        flags = (f"--audit-policy-file={policy}", f"--audit-log-path={log}")
        with real_server_in(folder, *flags) as server:
            face = OverHttp(server.kubeconfig, "real", simulated=False)
            yield Audited(face, log)
            face.close()
        return
    options = ("--nodes", "1", "--workload", "idle", "--authorization", "rbac")
    audit = ("--audit-log", str(log), "--audit-policy", str(policy))
    folders = ("--kubeconfig-dir", str(folder))
    command = [sys.executable, "-m", "twin", *options, *audit, *folders]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            ready = json.loads(process.stdout.readline())
            face = OverHttp(Path(ready["admin_kubeconfig"]), "served", simulated=True)
            yield Audited(face, log)
            face.close()
        finally:
            process.terminate()
