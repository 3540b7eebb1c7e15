"""`python -m services.collector`: the collector as a process."""

from __future__ import annotations

import bus.lean_start  # noqa: F401  # isort: skip - before all others
import sys

from services.cluster_process import run_cluster_process
from services.collector.collected import NAME
from services.collector.service import run
from services.collector.settings import CollectorSettings
from services.rights.collector import required_rights

if __name__ == "__main__":
    sys.exit(run_cluster_process(NAME, CollectorSettings, run, required_rights))
