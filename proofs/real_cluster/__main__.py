"""`python -m proofs.real_cluster`: play every case on a real control plane and print one table; exit code 1 when a case
did not hold, 2 when a program is missing.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
import traceback
from pathlib import Path

from proofs.real_cluster.case import Case, CaseEnvironment, all_cases
from proofs.real_cluster.environment import RealCluster, real_cluster
from proofs.real_cluster.page import Played, table, write_evidence
from proofs.real_cluster.population import Size
from proofs.real_programs.processes import Missing
from proofs.real_programs.requests import Refused, be_patient


def main(arguments: list[str]) -> int:
    """Do what the command line says."""
    known = all_cases()
    parser = argparse.ArgumentParser(prog="python -m proofs.real_cluster", description=__doc__)
    parser.add_argument(
        "cases", nargs="*", metavar="CASE", help=f"which: {', '.join(known)} (default: all)"
    )
    parser.add_argument("--nodes", type=int, default=30, metavar="N")
    parser.add_argument("--pods", type=int, default=500, metavar="N")
    parser.add_argument(
        "--patience",
        type=float,
        default=1.0,
        metavar="TIMES",
        help="on a busy machine: wait longer",
    )
    parser.add_argument("--folder", type=Path, help="where logs are kept (default: a new one)")
    parser.add_argument(
        "--evidence", type=Path, metavar="FOLDER", help="write the page and the audit excerpt here"
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.cases if name not in known]
    if unknown:
        sys.stderr.write(f"error: CASE = {unknown[0]!r}: use one of {', '.join(known)}\n")
        return 2
    folder = options.folder or Path(tempfile.mkdtemp(prefix="real-cluster-"))
    print(f"logs: {folder}", flush=True)
    be_patient(options.patience)
    chosen = {
        name: case for name, case in known.items() if name in options.cases or not options.cases
    }
    try:
        with real_cluster(folder, Size(options.nodes, options.pods)) as cluster:
            played = [_play(name, case, cluster) for name, case in chosen.items()]
            versions = cluster.versions
    except Missing as missing:
        sys.stderr.write(f"{missing}\n")
        return 2
    print(table(played))
    if options.evidence:
        write_evidence(options.evidence, played, versions, Size(options.nodes, options.pods))
    return 0 if all(one.held for one in played) else 1


def _play(name: str, case: Case, cluster: RealCluster) -> Played:
    scene, start = CaseEnvironment(cluster), time.monotonic()
    problem = ""
    try:
        asyncio.run(case.run(scene))
    except (AssertionError, Refused) as error:
        problem = f"{str(error) or type(error).__name__} ({_place(error)})"
    seconds = time.monotonic() - start
    print(f"{name:24} {seconds:6.1f} s  {problem or 'holds'}", flush=True)
    return Played(name, case.title, tuple(scene.steps), tuple(scene.notes), problem, seconds)


def _place(error: BaseException) -> str:
    """Return where a case failed: the newest line of `cases/`."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).parent.name == "cases"]
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "outside of its case"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
