"""`python -m services.executor`: the executor as a process."""

from __future__ import annotations

import bus.lean_start  # noqa: F401  # isort: skip - before all others
import os
import sys
from functools import partial

from services.cluster_process import run_cluster_process
from services.executor.candidacy import run_as_candidate
from services.executor.rights import required_rights
from services.executor.service import NAME
from services.executor.settings import ExecutorSettings

_run = partial(run_as_candidate, os.environ)

if __name__ == "__main__":
    sys.exit(run_cluster_process(NAME, ExecutorSettings, _run, required_rights))
