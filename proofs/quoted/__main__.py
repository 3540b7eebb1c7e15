"""`python -m proofs.quoted FILE.toml`: measure again, on its own commit, what somebody quoted of it.

The commit's files are taken from git into a folder of their own and run there by this Python, acting and not acting
on the same world; nothing of this checkout runs. Exit code 1 when a quoted figure does not recur.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.table import Table

from proofs.quoted.probe import mean

ROOT = Path(__file__).resolve().parents[2]
PROBE = Path(__file__).with_name("probe.py")
MODES = {"acting": "active", "not acting": "shadow"}
DATA = "FORESAIL_DATA"


def main(words: list[str]) -> int:
    """Run every run of the file in both modes and print what was counted beside what was quoted."""
    parser = argparse.ArgumentParser(prog="python -m proofs.quoted", description=__doc__)
    parser.add_argument("file", type=Path, metavar="FILE", help="such as experiments/quoted.toml")
    document = tomllib.loads(parser.parse_args(words).file.read_text(encoding="utf-8"))
    if not os.environ.get(DATA) or not Path(os.environ[DATA]).is_dir():
        sys.stderr.write(
            f"error: {DATA} = {os.environ.get(DATA)!r}: name the folder of the real traces\n"
        )
        return 2
    console = Console(width=None if sys.stdout.isatty() else 120)
    table = Table("run", "figure", *MODES, "quoted", "recurs")
    recurs = True
    with TemporaryDirectory(prefix="foresail-quoted-") as place:
        checkout = Path(place) / "checkout"
        check_out(document["commit"], checkout)
        for run in document["runs"]:
            words = [*run["command"].split(), "--data", os.environ[DATA]]
            counted = [play(checkout, [*words, "--mode", mode]) for mode in MODES.values()]
            add_shared_jobs(counted)
            for row in rows(run, counted, document["within_ratio"]):
                table.add_row(*row)
                recurs = recurs and row[-1] != "no"
    console.print(f"commit {document['commit']}; recurs: within {document['within_ratio']:.0%}")
    console.print(table)
    return 0 if recurs else 1


def check_out(commit: str, folder: Path) -> None:
    """Write a commit's files into a new folder; raises CalledProcessError for a commit that git does not know."""
    folder.mkdir()
    archive = subprocess.run(
        ["git", "archive", commit], cwd=ROOT, check=True, stdout=subprocess.PIPE
    )
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)


def play(checkout: Path, words: list[str]) -> dict[str, Any]:
    """Run a command of that checkout and return what its twin counted."""
    result = checkout.parent / "result.json"
    subprocess.run(
        [sys.executable, PROBE, result, *words, "--json"],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout), "PYTHONPYCACHEPREFIX": ""},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    counted: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    return counted


def add_shared_jobs(counted: list[dict[str, Any]]) -> None:
    """Add the mean time of the Jobs that came to their end in every mode: others' means differ by who is in them."""
    shared = set.intersection(*(set(one["job_seconds"]) for one in counted))
    for one in counted:
        seconds = [one["job_seconds"][name] for name in shared]
        one["figures"]["job_seconds_mean_of_shared"] = mean(seconds)


def rows(
    run: Mapping[str, Any], counted: list[dict[str, Any]], within_ratio: float
) -> Iterator[tuple[str, ...]]:
    """Yield one row for each figure: acting, not acting, what was quoted, and whether that recurs."""
    quoted = run.get("quoted", {})
    for name in counted[0]["figures"]:
        found = [one["figures"][name] for one in counted]
        wanted = quoted.get(name)
        recurs = ""
        if wanted is not None:
            near = (
                abs(one - other) <= within_ratio * other
                for one, other in zip(found, wanted, strict=False)
            )
            recurs = "yes" if all(near) else "no"
        text = "" if wanted is None else " / ".join(map(str, wanted))
        yield run["name"], name, *map(json.dumps, found), text, recurs


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
