"""`python -m services.executor`: the executor as a process."""

from __future__ import annotations

import bus.lean_start  # noqa: F401  # isort: skip - before all others
import sys

from services.cluster_process import run_cluster_process
from services.executor.service import NAME, run
from services.executor.settings import ExecutorSettings
from services.rights.executor import required_rights

if __name__ == "__main__":
    sys.exit(run_cluster_process(NAME, ExecutorSettings, run, required_rights))
