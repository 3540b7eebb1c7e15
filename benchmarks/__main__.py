"""Run every benchmark, one after the other: `python -m benchmarks`.

--json and --seed N go to all that take them. `python -m benchmarks.NAME --help` explains one; NAME is one of
"""

from __future__ import annotations

import subprocess
import sys

NAMES = (
    "adapter",
    "decision_latency",
    "bytes_per_cycle",
    "follow_scale",
    "held_load",
    "start_up",
    "sync_loss",
    "twin_engine",
    "twin_health",
    "twin_machines",
    "twin_serving",
    "virtual_day",
    "recording_memory",
    "idle_weight",
    "models_cost",
    "twin_api",
    "twin_long_run",
    "forecast_build",
    "rerun_speed",
    "gate_errors",
    "untouched_cost",
    "breaker_trips",
    "promotion_errors",
    "demotion_errors",
    "session_overhead",
    "search_beats_random",
    "learning_reference",
    "learning_steps",
    "page",
)
OTHER_FLAGS = frozenset(
    {"demotion_errors", "gate_errors", "idle_weight", "promotion_errors", "sync_loss"}
)
"""Those that do not take the flags of `benchmarks.machine.parser`."""
PARTS = frozenset({"page_player", "twin_api_server", "twin_engine_world"})
"""Processes that a benchmark starts; what they print is for it."""


def main(flags: list[str]) -> int:
    """Return 1 when one of them failed."""
    if {"-h", "--help"} & set(flags):
        print(f"{__doc__}{', '.join(NAMES)}.")
        return 0
    failed = []
    for name in NAMES:
        print(f"== benchmarks.{name}", file=sys.stderr, flush=True)
        own = [] if name in OTHER_FLAGS else flags
        if subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name}", *own], check=False
        ).returncode:
            failed.append(name)
    if failed:
        sys.stderr.write(f"failed: {', '.join(failed)}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
