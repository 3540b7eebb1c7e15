"""`python -m proofs.safety_net`: play the set and compare; exit code 1 when something differs."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.progress import track

from bus.errors import InputError
from lab.experiments.engine import run_local
from proofs.safety_net.digests import Digests, differences
from proofs.safety_net.runs import ShortRun, every_run, play

COMMITTED = Path(__file__).with_name("digests.json")


def main(arguments: Sequence[str]) -> int:
    """Play what was asked for, then compare with the file of digests or write it."""
    parser = argparse.ArgumentParser(prog="python -m proofs.safety_net", description=__doc__)
    add = parser.add_argument
    add("runs", nargs="*", metavar="RUN", help="patterns, such as 'trap/*' (default: all)")
    add("--write", action="store_true", help="write the digests anew")
    add("--digests", type=Path, default=COMMITTED, metavar="FILE", help="instead of the committed")
    add("--results", type=Path, metavar="FOLDER", help="keep the recordings, for foresail diff")
    add("--jobs", type=int, default=1, metavar="N", help="runs at the same time (default: 1)")
    options = parser.parse_args(arguments)
    data = os.environ.get("FORESAIL_DATA")
    every = tuple(every_run(None if data is None else Path(data)))
    try:
        new = options.write and not options.digests.exists()
        known: dict[str, Digests] = {} if new else _read(options.digests)
        runs = _chosen(every, options.runs)
    except InputError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    names = {run.name for run in every}
    lines = [f"{name}: no run of the set any more" for name in sorted(known.keys() - names)]
    fresh = {name: known[name] for name in known if name in names}
    with TemporaryDirectory(prefix="foresail-net-") as temporary:
        folder: Path = options.results or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        tasks = [(run, folder / f"{run.name.replace('/', '_')}.fslog") for run in runs]
        played = run_local(play, tasks, options.jobs, lambda: False)
        console = Console(stderr=True)
        for name, digests, places in track(played, "playing", len(tasks), console=console):
            fresh[name] = digests
            if name in known:
                found = differences(known[name], digests, places)
                lines += [f"{name} {line}" for line in found]
            else:
                lines.append(f"{name}: not among the digests yet, --write adds it")
    print("\n".join([*sorted(lines), f"{len(tasks)} runs played, {len(lines)} differences"]))
    if options.write:
        text = json.dumps(fresh, indent=1, sort_keys=True)
        options.digests.write_text(f"{text}\n", encoding="utf-8")
    return 1 if lines and not options.write else 0


def _read(file: Path) -> dict[str, Digests]:
    try:
        content: dict[str, Digests] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError("--digests", file, f"give a file that --write made ({error})") from error
    return content


def _chosen(every: Sequence[ShortRun], patterns: Sequence[str]) -> list[ShortRun]:
    """Return the runs that match and can be played; say which cannot."""
    for pattern in patterns:
        if not any(fnmatchcase(run.name, pattern) for run in every):
            raise InputError("RUN", pattern, f"use one of {', '.join(run.name for run in every)}")
    chosen = [run for run in every if any(fnmatchcase(run.name, p) for p in patterns or "*")]
    for run in chosen:
        if run.missing:
            print(f"skipped {run.name}: {run.missing}")
    if all(run.missing for run in chosen):
        raise InputError("RUN", " ".join(patterns), "name the folder of the traces: FORESAIL_DATA")
    return [run for run in chosen if not run.missing]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
