"""The newest gate result of each profile, as `foresail experiment gate FILE --keep` wrote it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from bus.errors import InputError
from schemas.model import DataModel
from services.agents.profiles import PROFILES

GATES = Path(__file__).with_name("gates.json")


class KeptGate(DataModel):
    """Answer of a gate about a profile."""

    profile: str
    experiment: str
    """Its name; `experiments/NAME.toml` is the file."""
    split: Literal["development", "test"]
    seeds: int
    code: str
    """Of `lab.experiments.code_version`: which code was tried."""
    passes: bool
    first_reason: str
    """The figure of the hypothesis; where it fails, the first reason."""


_GATES = TypeAdapter(tuple[KeptGate, ...])


def read_gates() -> tuple[KeptGate, ...]:
    """Return every kept answer, by profile and split.

    Raises:
        InputError: the file is not what was written.
    """
    if not GATES.exists():
        return ()
    try:
        return _GATES.validate_json(GATES.read_bytes())
    except ValidationError as error:
        raise InputError("gates", GATES, "remove it, and keep the answers again") from error


def keep_gate(gate: KeptGate) -> None:
    """Write an answer in the place of the one that its experiment and split gave before.

    Raises:
        InputError: the file is not what was written, or it cannot be written.
    """
    place = (gate.profile, gate.experiment, gate.split)
    others = [one for one in read_gates() if _place(one) != place]
    content = _GATES.dump_json(tuple(sorted([*others, gate], key=_place)), indent=2)
    unfinished = GATES.with_suffix(".new")
    try:
        unfinished.write_bytes(content + b"\n")
        os.replace(unfinished, GATES)  # noqa: PTH105 (one step, whatever happens)
    except OSError as error:
        raise InputError("--keep", GATES, f"{error.strerror}; it cannot be written") from error


def profile_lines(gates: Iterable[KeptGate]) -> Iterator[str]:
    """Yield the profiles there are, each with what its gates answered below it."""
    by_profile: dict[str, list[KeptGate]] = {}
    for gate in gates:
        by_profile.setdefault(gate.profile, []).append(gate)
    for profile in PROFILES.values():
        yield f"{profile.name}: {profile.text}"
        answers = [_answer(one) for one in by_profile.get(profile.name, ())]
        yield from (f"  gate {answer}" for answer in answers or ("not tried",))


def _answer(gate: KeptGate) -> str:
    verdict = "passes" if gate.passes else "does not pass"
    where = f"{gate.experiment}, {gate.split} split, {gate.seeds} seeds"
    return f"{verdict} ({where}): {gate.first_reason}"


def _place(gate: KeptGate) -> tuple[str, str, str]:
    return gate.profile, gate.experiment, gate.split
