"""Writes a world of real request rates as files.

    FORESAIL_DATA=FOLDER python -m lab.rate_worlds opening 1 --from 09:48 --minutes 60 --out examples/opening
    foresail up --virtual-time --for 10m --workload examples/opening/world.jsonl

The second line plays it; the history lies beside the workload.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bus.errors import InputError
from lab.rate_worlds.draw import RateWorld, draw_world, from_minute
from lab.rate_worlds.families import FAMILIES
from lab.rate_worlds.files import write_world
from lab.rate_worlds.pieces import DAY_MINUTES, minute_of_day

DATA_VARIABLE = "FORESAIL_DATA"


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw and write; exit code 2 when something given cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m lab.rate_worlds", description=__doc__)
    parser.add_argument("family", choices=tuple(FAMILIES))
    parser.add_argument("seed", type=int)
    parser.add_argument(
        "--from", dest="moment", default="00:00", metavar="HH:MM", help="hour of the day it begins"
    )
    parser.add_argument("--minutes", type=int, default=DAY_MINUTES, help="how many are played")
    parser.add_argument(
        "--note", action="append", default=[], help="first lines of the workload file"
    )
    parser.add_argument(
        "--autoscalers",
        type=int,
        choices=range(1, 101),
        metavar="PERCENT",
        help="give each Service an HPA on so much CPU",
    )
    parser.add_argument("--out", type=Path, required=True, help="a folder")
    given = parser.parse_args(arguments)
    try:
        path = write_world(_world(given), _made(given.out), given.note, given.autoscalers)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    print(path)
    return 0


def _world(given: argparse.Namespace) -> RateWorld:
    data = os.environ.get(DATA_VARIABLE)  # noqa: TID251 - the command line's own default
    if not data:
        raise InputError(
            DATA_VARIABLE, "(unset)", "name the folder with the published request rates"
        )
    try:
        first = minute_of_day(given.moment)
    except ValueError as error:
        raise InputError("--from", given.moment, str(error)) from error
    if not 0 < given.minutes <= DAY_MINUTES - first:
        raise InputError(
            "--minutes",
            given.minutes,
            f"the day has {DAY_MINUTES - first} left from {given.moment} on",
        )
    return from_minute(draw_world(Path(data), given.family, given.seed), first, given.minutes)


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("--out", folder, f"it cannot be made ({error.strerror})") from error
    return folder


if __name__ == "__main__":
    raise SystemExit(main())
