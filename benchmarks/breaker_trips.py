"""Whether breakers trip on harm, and on nothing else: a planted harmful policy, and the profile as it is.

`python -m benchmarks.breaker_trips [--seeds 5] [--minutes 40] [--nodes 100] [--workload FILE]` runs, for each seed,
profile `foresail` in virtual time as it is, and once more with a policy that wants half as many replicas more of
everything without end while no other guard rail stops it (`benchmarks.harmful_policy`). It prints the cycle of the
first trip, what tripped, and what acting changed in the end. Exit code 1 when a harmful run did not trip, or the
profile did.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any

from benchmarks.harmful_policy import GUARDS_OFF, planted
from benchmarks.machine import parser, progress, report
from bus.recording import open_recording
from foresail.__main__ import main as foresail
from schemas.breaker import BreakerState, OutcomeBreaker
from schemas.registry import decode
from schemas.score import OutcomeCounterfactual

HARMFUL_MINUTES = 8.0
HARMFUL_NODES = 20
"""Fewer: the harm makes the cluster larger by itself."""
ROOT = Path(__file__).parents[1]


def main() -> int:
    """Run every seed both ways and print what tripped."""
    made = parser(__doc__)
    made.add_argument("--seeds", type=int, default=5, help="seeds, from --seed on")
    made.add_argument(
        "--minutes", type=float, default=40.0, help="simulated minutes of the profile"
    )
    made.add_argument(
        "--nodes", type=int, default=100, help="simulated nodes of the profile's runs"
    )
    made.add_argument("--workload", default="experiments/worlds/web.csv", help="what they run")
    made.add_argument(
        "--one", choices=("foresail", "harmful"), help="run one of them, and say what came of it"
    )
    made.set_defaults(seed=1)
    options = made.parse_args()
    if options.one:
        print(json.dumps(play(options)))
        return 0
    rows = []
    with progress(quiet=options.json) as shown:
        task = shown.add_task("runs", total=2 * options.seeds)
        for seed in range(options.seed, options.seed + options.seeds):
            for policy in ("foresail", "harmful"):
                rows.append(_run_apart(options, policy, seed))
                shown.advance(task)
    false = sum(row["policy"] == "foresail" and row["trips"] > 0 for row in rows)
    missed = sum(row["policy"] == "harmful" and row["trips"] == 0 for row in rows)
    notes = f"{false} of {options.seeds} good runs tripped, {missed} of {options.seeds} harmful ones did not"
    report("Breakers", options, rows, notes)
    return 1 if false or missed else 0


def _run_apart(options: Namespace, policy: str, seed: int) -> dict[str, Any]:
    """Return one row, from a process of its own: a run leaves caches behind."""
    command = [
        *(sys.executable, "-m", "benchmarks.breaker_trips", "--one", policy, "--seed", str(seed)),
        *("--minutes", str(options.minutes), "--nodes", str(options.nodes)),
        *("--workload", options.workload),
    ]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    row: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return row


def play(options: Namespace) -> dict[str, Any]:
    """Run one policy in this process and return what its recording holds of breakers."""
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder) / "run.fslog"
        if options.one == "harmful":
            settings = Path(folder) / "off.toml"
            settings.write_text(GUARDS_OFF, encoding="utf-8")
            more = ("--config", str(settings))
            with planted():
                _up(options, recording, HARMFUL_MINUTES, HARMFUL_NODES, more)
        else:
            _up(options, recording, options.minutes, options.nodes)
        return {"policy": options.one, "seed": options.seed, **read_trips(recording)}


def _up(
    options: Namespace, recording: Path, minutes: float, nodes: int, more: tuple[str, ...] = ()
) -> None:
    flags = (
        f"--virtual-time --json --interval 15 --speed 1 --profile foresail --seed {options.seed}"
        f" --for {minutes:g}m --nodes {nodes} --workload {options.workload}"
    )
    state = str(recording.with_name("state"))
    arguments = ["up", *flags.split(), "--record", str(recording), "--state", state, *more]
    if code := foresail(arguments):
        raise SystemExit(code)


def read_trips(recording: Path) -> dict[str, Any]:
    """Return how often breakers tripped, the first of them, and what acting changed in the end."""
    trips: list[OutcomeBreaker] = []
    changed = 0.0
    for message in open_recording(recording):
        if not message.subject.endswith(("outcome.breaker", "outcome.counterfactual")):
            continue
        data = decode(message.subject, message.headers, message.data).data
        if isinstance(data, OutcomeBreaker) and data.state is BreakerState.SHADOW:
            trips.append(data)
        elif isinstance(data, OutcomeCounterfactual):
            changed = data.total_money
    first = trips[0] if trips else None
    return {
        "trips": len(trips),
        "first": "-" if first is None else f"{first.unit}: {first.cause}",
        "cycle": 0 if first is None else first.cycle,
        "acting changed, USD": round(changed, 2),
    }


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
