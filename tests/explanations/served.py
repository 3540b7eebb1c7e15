"""A simulated cluster that is served, for the verbs that ask a live one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proofs.real_programs.requests import Api


@contextmanager
def served_twin(folder: Path, *options: str, nodes: int = 3) -> Iterator[Api]:
    """Serve idle nodes, with kubeconfigs in a folder; give their administrator."""
    common = ("--nodes", str(nodes), "--workload", "idle", "--kubeconfig-dir", str(folder))
    command = [sys.executable, "-m", "twin", *common, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            ready = json.loads(process.stdout.readline())
            yield Api(Path(ready["admin_kubeconfig"]))
        finally:
            process.terminate()
