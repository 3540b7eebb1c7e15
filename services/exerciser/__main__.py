"""`python -m services.exerciser`: the exerciser as a process."""

from __future__ import annotations

import bus.lean_start  # noqa: F401  # isort: skip - before all others
import sys

from services.cluster_process import run_cluster_process
from services.exerciser.service import NAME, run
from services.exerciser.settings import ExerciserSettings

if __name__ == "__main__":
    sys.exit(run_cluster_process(NAME, ExerciserSettings, run))
