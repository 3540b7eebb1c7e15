"""Outcome of random worlds: how much each cost left alone, and what acting changed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import Field, ValidationError

from schemas.envelope import Event
from schemas.model import DataModel, EventData
from schemas.outcome import ExecutionPhase, OutcomeExecution
from schemas.reasons import Reason
from schemas.score import OutcomeCounterfactual, OutcomeScore

WORST = 10


class WorldResult(DataModel):
    """One random world under a profile, beside the same world left alone."""

    seed: int = Field(ge=0)
    profile: str
    code: str
    """Which code played it, of `lab.experiments.code_version`."""
    gain: float
    """Effect of acting, in money; below 0 it did harm."""
    untouched_cost: float = Field(ge=0)
    """What the world left alone cost in money: everything that counts against it, without what its work was worth."""
    executed: int
    refused: int

    @property
    def loss_ratio(self) -> float:
        """How much worse acting made it, as a share of what the world cost left alone; below 0 it helped."""
        return -self.gain / self.untouched_cost if self.untouched_cost else 0.0


class WorldLog:
    """Takes in the log of one run."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._score: OutcomeScore | None = None
        self._changed: OutcomeCounterfactual | None = None
        self._executed = self._refused = 0

    def take(self, event: Event[EventData]) -> None:
        """Take in an event of the log."""
        data = event.data
        if isinstance(data, OutcomeScore):
            self._score = data
        elif isinstance(data, OutcomeCounterfactual):
            self._changed = data
        elif isinstance(data, OutcomeExecution) and data.reason is not Reason.NOOP:
            self._executed += data.phase is ExecutionPhase.FINISHED and data.succeeded is True
            self._refused += data.phase is ExecutionPhase.REFUSED

    def result(self, seed: int, profile: str, code: str) -> WorldResult:
        """Return what came of the run.

        Raises:
            ValueError: the run never scored both worlds.
        """
        if self._score is None or self._changed is None:
            raise ValueError(f"world {seed} was not scored")
        changed = {one.name: one.total_money for one in self._changed.components}
        untouched = (one.total_money - changed.get(one.name, 0.0) for one in self._score.components)
        return WorldResult(
            seed=seed,
            profile=profile,
            code=code,
            gain=self._changed.total_money,
            untouched_cost=math.fsum(-money for money in untouched if money < 0.0),
            executed=self._executed,
            refused=self._refused,
        )


def find_result(folder: Path, profile: str, seed: int, code: str) -> WorldResult | None:
    """Return a world that this code has played; None where it is not there or cannot be read."""
    try:
        result = WorldResult.model_validate_json(_path(folder, profile, seed).read_bytes())
    except (OSError, ValidationError):
        return None
    return result if (result.code, result.profile, result.seed) == (code, profile, seed) else None


def keep_result(folder: Path, result: WorldResult) -> None:
    """Write a result, whole or not at all."""
    path = _path(folder, result.profile, result.seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".new")
    unfinished.write_text(result.model_dump_json() + "\n", encoding="utf-8")
    unfinished.replace(path)


def worst_of(results: Iterable[WorldResult], count: int = WORST) -> Sequence[WorldResult]:
    """Return the worlds that acting made worst, the worst first."""
    return sorted(results, key=lambda one: (-one.loss_ratio, one.seed))[:count]


def _path(folder: Path, profile: str, seed: int) -> Path:
    return folder / profile / f"{seed:07}.json"
