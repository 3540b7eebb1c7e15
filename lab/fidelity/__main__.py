"""Hold the twin against real Kubernetes programs: make the page, or measure the real programs anew."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from bus.clock import SystemClock
from bus.errors import InputError
from lab.fidelity.compare import Comparison, compare
from lab.fidelity.real.play import play_on_real
from lab.fidelity.recording import DATA, read_recording
from lab.fidelity.report import markdown
from lab.fidelity.scenario import read_scenario, scenario_names
from lab.fidelity.twin_side import play_in_twin

PAGE = Path("docs/fidelity.md")
SEED = 7


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code (2: bad input, 1: a promise that does not hold)."""
    parser = argparse.ArgumentParser(prog="python -m lab.fidelity", description=__doc__)
    parser.add_argument(
        "--output",
        type=Path,
        default=PAGE,
        metavar="FILE",
        help="page to write (default: %(default)s)",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        help="only these scenarios; the rows are printed and no page is written",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=SEED,
        metavar="N",
        help="seed of the twin; another than that of the page needs --only (default: %(default)s)",
    )
    verbs = parser.add_subparsers(dest="verb")
    real = verbs.add_parser(
        "measure", help="play the scenarios on the real programs and store what they did"
    )
    real.add_argument(
        "--binaries",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder with etcd, kube-apiserver and the other programs",
    )
    real.add_argument(
        "--only", nargs="+", metavar="NAME", help="only these scenarios (default: all)"
    )
    real.add_argument(
        "--run",
        type=int,
        default=1,
        metavar="N",
        help="number of this run; from 2 on it is stored beside earlier ones (default: 1)",
    )
    real.add_argument("--logs", type=Path, metavar="DIR", help="store the programs' logs here")
    options = parser.parse_args(arguments)
    try:
        if options.verb == "measure":
            return _measure(options)
        return _make_page(options)
    except (InputError, RuntimeError) as error:
        sys.stderr.write(f"{error}\n")
        return 2


def comparisons(names: list[str], seed: int = SEED) -> list[Comparison]:
    """Play scenarios in the twin and hold them against the committed recordings."""
    found = []
    for name in names:
        scenario = read_scenario(name)
        files = [
            file
            for file in (DATA / f"{name}.json", *sorted(DATA.glob(f"{name}.*.json")))
            if file.is_file()
        ]
        measured = [read_recording(file) for file in files]
        found.append(compare(scenario, play_in_twin(scenario, seed), measured))
    return found


def _make_page(options: argparse.Namespace) -> int:
    if options.seed != SEED and not options.only:
        raise InputError("--seed", options.seed, "name scenarios with --only; the page has seed 7")
    found = comparisons(options.only or scenario_names(), options.seed)
    text = markdown(found)
    if options.only:
        print(text)
    else:
        options.output.write_text(text, encoding="utf-8")
        print(options.output)
    return 0 if all(row.holds for one in found for row in one.rows) else 1


def _measure(options: argparse.Namespace) -> int:
    for name in options.only or scenario_names():
        scenario = read_scenario(name)
        played = play_on_real(scenario, options.binaries, SystemClock(), options.logs)
        recording = asyncio.run(played)
        DATA.mkdir(exist_ok=True)
        suffix = f".{options.run}" if options.run > 1 else ""
        (DATA / f"{name}{suffix}.json").write_text(recording.text(), encoding="utf-8")
        print(DATA.name, name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
