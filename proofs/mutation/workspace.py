"""Where mutmut changes one room's code: a folder of links to the repository, in which that room alone is a copy."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from tomllib import loads

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutation"
"""Kept between runs: mutmut goes on there, and tries again what belongs to functions that changed."""
WAIT_SECONDS, WAIT_FACTOR = 1.5, 4.0
"""A mutant never ends when its tests take that many times as long as they did, and those seconds more."""


@dataclass(frozen=True, slots=True)
class Room:
    """Code to change, and the tests that have to notice."""

    name: str
    code: Path
    """A folder of the repository, as its tests import it."""
    tests: list[str]
    least_noticed: float
    """The share of tried mutants that the tests must notice."""

    @property
    def workspace(self) -> Path:
        """The folder in which mutmut runs."""
        return WORK / self.name

    @property
    def log(self) -> Path:
        """What mutmut printed the last time."""
        return self.workspace / "mutmut.log"


def read_rooms() -> list[Room]:
    """Return the rooms of `rooms.toml`."""
    table = loads(Path(__file__).with_name("rooms.toml").read_text(encoding="utf-8"))
    return [
        Room(name, Path(room["code"]), room["tests"], room["least_noticed"])
        for name, room in table.items()
    ]


def prepare(room: Room) -> None:
    """Make the workspace, or bring it up to date: `mutants/` is the repository but for the room's own folder.

    mutmut writes the changed copy of the room to `mutants/` and runs pytest there.
    """
    mutants = room.workspace / "mutants"
    mutants.mkdir(parents=True, exist_ok=True)
    _link(ROOT / room.code, room.workspace / room.code)
    folder, copied = ROOT, mutants
    for part in room.code.parts:
        for entry in folder.iterdir():
            if entry.name not in {part, "build", "pyproject.toml"} and entry.name[0] != ".":
                _link(entry, copied / entry.name)
        folder, copied = folder / part, copied / part
        copied.mkdir(exist_ok=True)
    for file in mutants.rglob("*"):
        moved = not (ROOT / file.relative_to(mutants)).exists()
        if moved and (file.is_symlink() or file.suffix == ".py"):
            file.unlink()
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (room.workspace / "pyproject.toml").write_text(settings + _settings(room), encoding="utf-8")


def _settings(room: Room) -> str:
    values = {
        "source_paths": [str(room.code)],
        "pytest_add_cli_args_test_selection": room.tests,
        "pytest_add_cli_args": ["--pure", "-p", "no:cacheprovider"],
        "timeout_constant": WAIT_SECONDS,
        "timeout_multiplier": WAIT_FACTOR,
    }
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in values.items()]
    return "".join(["\n[tool.mutmut]\n", *lines])


def _link(target: Path, link: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(target)
