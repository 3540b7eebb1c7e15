"""A twin that really runs commands, as a process, for the Jobs of sessions."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.patience import HANGS_SECONDS


@contextmanager
def serving_twin(folder: Path, *options: str) -> Iterator[Path]:
    """Serve an idle cluster of three nodes; yields the administrator's kubeconfig."""
    command = [
        *(sys.executable, "-m", "twin", "--nodes", "3", "--workload", "idle", "--seed", "4"),
        *("--run-commands", "true", "--weather", "off", "--kubeconfig-dir", str(folder), *options),
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        yield Path(json.loads(process.stdout.readline())["admin_kubeconfig"])
    finally:
        process.terminate()
        process.communicate(timeout=HANGS_SECONDS)
