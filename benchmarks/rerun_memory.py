"""Memory of re-runs does not grow with the recording: verify, what-if, diff and cut on one recording of
a 10-node cluster, and on its first tenth.

`python -m benchmarks.rerun_memory [--events 200000]` makes the recording on virtual time (2,000,000
events are the bar; that takes about an hour), runs each verb in a process of its own, and prints the
most memory that it held and its processor seconds.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.machine import parser, report

EVENTS_A_CYCLE = 14.5
MOST_GROWTH = 1.5
"""Times the memory of the first tenth."""


def main() -> int:
    """Measure and print; exit code 1 when something failed or grew."""
    made = parser(__doc__)
    made.add_argument(
        "--events", type=int, default=200_000, metavar="N", help="events of the long recording"
    )
    made.add_argument("--nodes", type=int, default=10, metavar="N", help="nodes of the cluster")
    made.add_argument("--recording", metavar="FILE", help="measure this one instead")
    options = made.parse_args()
    with tempfile.TemporaryDirectory(prefix="foresail-memory-") as folder:
        whole = Path(options.recording or _record_run(Path(folder), options))
        part = Path(folder) / "part.fslog"
        last = int(options.events / EVENTS_A_CYCLE / 10)
        _run(folder, "recording", "cut", str(whole), str(part), "--cycle", f"1..{last}")
        rows = [row for verb in VERBS for row in _measure(folder, verb, part, whole)]
    report(
        f"memory of re-runs, {options.nodes} nodes, about {options.events} events", options, rows
    )
    return 0 if all(row["met"] in {"yes", ""} for row in rows) else 1


VERBS = ("verify", "what-if", "diff", "cut")


def _measure(folder: str, verb: str, part: Path, whole: Path) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for name, path in (("first tenth", part), ("whole", whole)):
        code, megabytes, seconds = _run(folder, *_command(verb, path, Path(folder)))
        grown = megabytes / float(str(rows[0]["most memory MB"])) if rows else 1.0
        met = "no" if code not in {0, 1} or grown > MOST_GROWTH else "yes"
        rows.append(
            {
                "verb": verb,
                "on": name,
                "recording MB": round(path.stat().st_size / 1e6, 1),
                "most memory MB": megabytes,
                "CPU s": seconds,
                "exit": code,
                "met": met if rows else "",
            }
        )
    return rows


def _command(verb: str, path: Path, folder: Path) -> tuple[str, ...]:
    if verb == "diff":
        return ("diff", str(path), str(path), "--json")
    if verb == "cut":
        out = folder / f"cut-{path.stem}.fslog"
        return ("recording", "cut", str(path), str(out), "--cycle", "10..20")
    changed = ("--set", "agents.safety.replicate=0.9") if verb == "what-if" else ()
    return (verb, str(path), *changed, "--json")


def _run(folder: str, *words: str) -> tuple[int, int, float]:
    """Run one verb; return exit code, most memory in MB, processor seconds."""
    pid = os.fork()
    if pid == 0:
        with open(os.devnull, "wb") as nothing:  # noqa: PTH123  (a file descriptor is needed)
            os.dup2(nothing.fileno(), 1)
        os.chdir(folder)
        root = str(Path(__file__).parents[1])
        os.execve(  # noqa: S606
            sys.executable,
            [sys.executable, "-m", "foresail", *words],
            {**os.environ, "PYTHONPATH": root},
        )
    _, status, used = os.wait4(pid, 0)
    return (
        os.waitstatus_to_exitcode(status),
        _megabytes(used),
        round(used.ru_utime + used.ru_stime, 1),
    )


def _megabytes(used: resource.struct_rusage) -> int:
    return round(used.ru_maxrss / 1024)


def _record_run(folder: Path, options: argparse.Namespace) -> Path:
    seconds = options.events / EVENTS_A_CYCLE * 5
    flags = (
        f"--virtual-time --json --record run.fslog --seed {options.seed} --for {seconds:g}s"
        f" --nodes {options.nodes} --interval 5 --speed 1"
    )
    subprocess.run(
        [sys.executable, "-m", "foresail", "up", *flags.split()],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return folder / "run.fslog"


if __name__ == "__main__":
    sys.exit(main())
