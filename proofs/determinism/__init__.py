"""Determinism: one seed gives one recording, byte for byte, whatever the machine is set to.

The virtual stack runs in processes of its own with other hash seeds, time zones, locales, folders and
interpreters; every recording is compared with the first one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from proofs.determinism.comparison import first_difference
from proofs.determinism.environments import ENVIRONMENTS, Environment
from proofs.determinism.interpreters import (
    OTHER_VERSIONS,
    Interpreter,
    MissingInterpreter,
    other_interpreter,
    running_interpreter,
)
from proofs.determinism.runs import CASES, RunCase, record
from proofs.row import ProofRow, ProofSize

PART = "determinism"
SEEDS_PER_CASE = 100
"""So many simulated runs of the scale stand for one more seed here: a run takes seconds."""


def prove(scale: ProofSize) -> Iterator[ProofRow]:
    """Yield a row per interpreter; the first one lists what could not be tried."""
    seeds = range(scale.seed, scale.seed + max(1, scale.seeds // SEEDS_PER_CASE))
    pairs = [(CASES[seed % len(CASES)], seed) for seed in seeds]
    interpreters = [other_interpreter(version) for version in OTHER_VERSIONS]
    missing = "; ".join(
        str(interpreter)
        for interpreter in interpreters
        if isinstance(interpreter, MissingInterpreter)
    )
    with TemporaryDirectory(prefix="foresail-same-") as folder:
        root = Path(folder)
        first = running_interpreter()
        firsts = [_first_recording(root, case, seed, first) for case, seed in pairs]
        varied = [environment for environment in ENVIRONMENTS if environment.varies]
        what = f"{first} in {len(varied)} other environments"
        detail = missing and f"not tried: {missing}"
        yield _compare_environments(root, what, firsts, first, varied, detail)
        for other in interpreters:
            if isinstance(other, Interpreter):
                yield _compare_environments(
                    root, f"{other} against {first}", firsts, other, list(ENVIRONMENTS[:2])
                )


def _first_recording(
    root: Path, case: RunCase, seed: int, interpreter: Interpreter
) -> tuple[RunCase, int, Path]:
    return case, seed, record(root, case, seed, interpreter, ENVIRONMENTS[0])


def _compare_environments(
    root: Path,
    what: str,
    firsts: list[tuple[RunCase, int, Path]],
    interpreter: Interpreter,
    environments: list[Environment],
    detail: str = "",
) -> ProofRow:
    tried = held = 0
    failure = ""
    for case, seed, expected in firsts:
        for environment in environments:
            recording = record(root, case, seed, interpreter, environment)
            difference = first_difference(expected, recording)
            recording.unlink()
            tried += 1
            held += difference is None
            if difference is not None and not failure:
                failure = f"{case.flags(seed)} in {environment.name}: {difference}"
    return ProofRow(PART, what, tried, held, failure or detail)
