"""`foresail experiment traps [NAME ...]`: scripted situations, under the profile and the baseline's rules."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.experiment.trap_run import play_trap
from foresail.output import console, print_json
from lab.traps.markdown import markdown
from lab.traps.results import PlayedTrap, bounds_text
from lab.traps.trap import Trap, read_traps
from projections.figures import number, signed_text

FOLDER = "experiments/traps"
PROFILES = ("foresail", "baseline-rules")

EXAMPLES = (
    ("experiment traps", "every trap under the profile foresail and the baseline's rules"),
    ("experiment traps spot-notice --profile foresail", "one of them, check by check"),
    ("experiment traps --markdown docs/traps.md", "and the page"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("names", metavar="NAME", nargs="*", help="traps; none: all")
    parser.add_argument(
        "--traps", metavar="FOLDER", default=FOLDER, help=f"their TOML files (default: {FOLDER})"
    )
    parser.add_argument(
        "--profile",
        metavar="NAME",
        action="append",
        help=f"policy profile, once or again; the first one decides the exit code (default: {', '.join(PROFILES)})",
    )
    parser.add_argument("--markdown", metavar="TEXT", help="also write the page of all traps")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Play them, and show what holds.

    Raises:
        InputError: a trap or a profile cannot be used, or the page cannot be written.
    """
    folder = Path(arguments.traps)
    profiles: Sequence[str] = arguments.profile or PROFILES
    traps = _chosen(read_traps(folder), arguments.names)
    played = {
        profile: tuple(play_trap(trap, profile, folder) for trap in traps) for profile in profiles
    }
    if arguments.json:
        print_json({name: [_as_json(one) for one in played[name]] for name in profiles})
    else:
        _show(traps, played, in_detail=bool(arguments.names))
    if arguments.markdown is not None:
        _write(Path(arguments.markdown), markdown(traps, played))
    known = [one.passes or bool(one.trap.known_failure) for one in played[profiles[0]]]
    return ExitCode.GOOD if all(known) else ExitCode.DIFFERS


def _chosen(traps: Sequence[Trap], names: Sequence[str]) -> tuple[Trap, ...]:
    by_name = {trap.name: trap for trap in traps}
    for name in names:
        if name not in by_name:
            raise InputError("NAME", name, f"use one of: {', '.join(by_name)}")
    return tuple(by_name[name] for name in names) if names else tuple(traps)


def _show(
    traps: Sequence[Trap], played: dict[str, tuple[PlayedTrap, ...]], *, in_detail: bool
) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("trap", *played):
        table.add_column(heading)
    for place, trap in enumerate(traps):
        table.add_row(trap.name, *(_cell(ones[place]) for ones in played.values()))
    console().print(table)
    if in_detail:
        for profile, ones in played.items():
            for one in ones:
                for result in one.results:
                    mark = "holds" if result.holds else "FAILS"
                    line = f"{mark} {result.check.text}: {number(result.value)}, {bounds_text(result.check)}"
                    console().print(f"{profile} {one.trap.name}: {line}", markup=False)


def _cell(one: PlayedTrap) -> str:
    word = "passes" if one.passes else "FAILS"
    return f"{word}, {one.executed} actions, {one.refused} refused, {signed_text(one.gain)} {one.currency}"


def _as_json(one: PlayedTrap) -> dict[str, object]:
    return {
        "trap": one.trap.name,
        "passes": one.passes,
        "known_failure": one.trap.known_failure,
        "executed": one.executed,
        "refused": one.refused,
        "gain": one.gain,
        "checks": [
            {
                "text": result.check.text,
                "value": result.value,
                "bounds": bounds_text(result.check),
                "holds": result.holds,
            }
            for result in one.results
        ],
    }


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            "--markdown", path, f"give a file that can be written ({error.strerror})"
        ) from error
