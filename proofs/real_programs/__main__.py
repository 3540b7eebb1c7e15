"""`python -m proofs.real_programs NAME --minutes 15`: run a real program on a twin at speed 1, play its scenarios over
and over, and name every complaint in its log for which no reason is known; exit code 1 for one, or for a scenario that
did not hold.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from proofs.real_programs.disturbances import CAUSED, DISTURBANCES, DISTURBED, Disturbed
from proofs.real_programs.grounds import GROUNDS
from proofs.real_programs.log_lines import complaints, tally
from proofs.real_programs.processes import Missing
from proofs.real_programs.programs import PROGRAMS, Program
from proofs.real_programs.requests import be_patient


def main(arguments: list[str]) -> int:
    """Run what the command line says; 2 for a program that is not on this machine."""
    parser = argparse.ArgumentParser(prog="python -m proofs.real_programs", description=__doc__)
    parser.add_argument("name", choices=sorted(PROGRAMS), help="which program")
    parser.add_argument("--minutes", type=float, default=15.0, metavar="N")
    parser.add_argument("--ground", choices=sorted(GROUNDS), default="twin", help="what it runs on")
    parser.add_argument("--built-in", action="store_true", help="the twin's own part instead of it")
    parser.add_argument("--only", metavar="SCENARIO", help="one scenario alone")
    parser.add_argument(
        "--disturb", action="store_true",
        help="kill the program, let another one take over, restart the twin, each in mid-scenario",
    )  # fmt: skip
    parser.add_argument(
        "--patience",
        type=float,
        default=1.0,
        metavar="TIMES",
        help="on a busy machine: wait longer",
    )
    parser.add_argument("--folder", type=Path, help="where logs are kept (default: a new one)")
    options = parser.parse_args(arguments)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="real-programs-"))
    folder.mkdir(parents=True, exist_ok=True)
    print(f"logs: {folder}", flush=True)
    be_patient(options.patience)
    try:
        if options.disturb:
            return _disturb(DISTURBED[options.name], folder)
        return _play(PROGRAMS[options.name], folder, options)
    except Missing as missing:
        sys.stderr.write(f"{missing}\n")
        return 2


def _play(program: Program, folder: Path, options: argparse.Namespace) -> int:
    began = time.monotonic()
    failed = rounds = 0
    all_of_it = program.scenarios if options.built_in else (*program.scenarios, *program.own)
    chosen = [one for one in all_of_it if options.only in (None, one.__name__)]
    run = partial(program.real, ground=GROUNDS[options.ground])
    with (program.built_in if options.built_in else run)(folder) as (cluster, logs):
        while not rounds or time.monotonic() - began < 60 * options.minutes:
            rounds += 1
            for scenario in chosen:
                start = time.monotonic()
                try:
                    scenario(cluster)
                    said = "holds"
                except AssertionError as error:
                    said, failed = f"FAILED: {error}", failed + 1
                print(
                    f"{scenario.__name__:20} {time.monotonic() - start:6.1f} s  {said}", flush=True
                )
                program.clear(cluster)
        seconds = time.monotonic() - began
    found = [] if options.built_in else [
        f"{log.name}: {line}" for log in logs for line in complaints(log, program.allowed)
    ]  # fmt: skip
    for line in found[:50]:
        print(f"complaint: {line}")
    for pattern, count in tally(() if options.built_in else logs, program.allowed).items():
        print(f"allowed: {count} of {pattern}")
    played = f"{rounds} rounds of {len(chosen)} scenarios in {seconds / 60:.1f} min"
    print(f"{played}: {failed} failed, {len(found)} complaints")
    return 1 if failed or found else 0


def _disturb(program: Disturbed, folder: Path) -> int:
    failed = 0
    with program.run(folder) as (cluster, logs):
        for disturb in DISTURBANCES:
            start = time.monotonic()
            try:
                disturb(cluster, program.scenario, program.leases)
                said = "holds"
            except AssertionError as error:
                said, failed = f"FAILED: {error}", failed + 1
            print(f"{disturb.__name__:20} {time.monotonic() - start:6.1f} s  {said}", flush=True)
            program.clear(cluster)
    allowed = {**program.allowed, **CAUSED}
    found = [f"{log.name}: {line}" for log in logs for line in complaints(log, allowed)]
    for line in found:
        print(f"complaint: {line[:1000]}")
    for pattern, count in tally(logs, allowed).items():
        print(f"allowed: {count} of {pattern}")
    print(f"{len(DISTURBANCES)} disturbances: {failed} failed, {len(found)} complaints")
    return 1 if failed or found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
