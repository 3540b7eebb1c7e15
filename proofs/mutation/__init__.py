"""mutmut changes the rooms that decide and write, one place at a time: some test has to notice each change.

`rooms.toml` names the rooms. `--only services/referee`, or a folder or file of a room, tries that alone. Results stay
in `build/mutation/`: a run that was stopped goes on there, and functions that were changed since are tried again; what
`--only` names inside of a room always is. `mutmut browse`, started in the room's folder there, shows the survivors.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from math import ceil
from pathlib import Path

from bus.errors import InputError
from proofs.mutation import workspace
from proofs.mutation.workspace import Room, prepare, read_rooms
from proofs.row import ProofRow, ProofSize

MUTMUT = str(Path(sys.executable).with_name("mutmut"))
NOTICED = ("killed", "timeout")
"""What never ends is noticed by the test that waits for it."""
NOT_TRIED = ("no tests", "not checked")
Results = dict[str, Counter[str]]
"""How many mutants came to which end, by module."""


def prove(scale: ProofSize) -> Iterator[ProofRow]:
    """Try all rooms, or what `--only` names; yield a row per module, and one per whole room.

    Raises:
        InputError: `--only` names no folder or file of a room, or mutmut could not run.
    """
    for room, part in chosen(scale.only):
        prepare(room)
        _run_mutmut(room, part, scale.jobs)
        yield from rows_of(room, part, read_results(room, part))


def chosen(only: Path | None) -> list[tuple[Room, Path]]:
    """Return the rooms to try, each with the part of it that is asked for.

    Raises:
        InputError: `only` is in no room.
    """
    rooms = read_rooms()
    if only is None:
        return [(room, room.code) for room in rooms]
    for room in rooms:
        if (
            only.is_relative_to(room.code)
            and ".." not in only.parts
            and (workspace.ROOT / only).exists()
        ):
            return [(room, only)]
    remedy = f"name one of {', '.join(str(room.code) for room in rooms)}, or a file there"
    raise InputError("--only", only, remedy)


def _run_mutmut(room: Room, part: Path, jobs: int) -> None:
    """Try what is not tried yet of the room, or all of a smaller part.

    Raises:
        InputError: mutmut ended with an error.
    """
    named = [] if part == room.code else [f"{_module(part)}.*"]
    sys.stderr.write(f"{part}: mutmut writes to {room.log}\n")
    with room.log.open("w", encoding="utf-8") as log:
        command = [MUTMUT, "run", "--max-children", str(jobs), *named]
        ended = subprocess.run(command, cwd=room.workspace, check=False, stdout=log, stderr=log)
    if ended.returncode:
        raise InputError("mutmut run", part, f"exit code {ended.returncode}; {room.log} says why")


def read_results(room: Room, part: Path) -> Results:
    """Return what mutmut knows of the mutants of `part`."""
    command = [MUTMUT, "results", "--all", "true"]
    ended = subprocess.run(command, cwd=room.workspace, check=True, capture_output=True, text=True)
    results: Results = {}
    for line in ended.stdout.splitlines():
        name, _, state = line.strip().rpartition(": ")
        module = name.rpartition(".")[0]
        if f"{module}.".startswith(f"{_module(part)}."):
            results.setdefault(module, Counter())[state] += 1
    return results


def rows_of(room: Room, part: Path, results: Results) -> Iterator[ProofRow]:
    """Yield what became of each module, and of a whole room, in which a share has to be noticed."""
    for module, states in sorted(results.items()):
        yield _row(module, states, 0.0)
    if part == room.code:
        yield _row(f"all of {room.code}", sum(results.values(), Counter()), room.least_noticed)


def _row(what: str, states: Counter[str], least_share: float) -> ProofRow:
    tried = sum(count for state, count in states.items() if state not in NOT_TRIED)
    noticed = sum(states[state] for state in NOTICED)
    detail = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    return ProofRow("mutation", what, tried, noticed, detail, ceil(least_share * tried))


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts)
