"""Results of trials: one small file each, written whole or not at all, so that any trial can wait for another day.

A result's file depends on its trial alone, to the byte. What it cost to play differs from run to run, so it
stands in a file of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import Field, ValidationError

from schemas.model import DataModel
from schemas.switchback import OutcomeSwitchback

FOLDER, COSTS = "trials", "costs"


class Burden(DataModel):
    """Burden of one payer in a trial."""

    waiting_pod_hours: float = 0.0
    held_pod_hours: float = 0.0
    removed_pod_hours: float = 0.0
    """Replicas fewer than deployed, over time."""
    evictions: float = 0.0
    jobs_dropped: float = 0.0


class TrialResult(DataModel):
    """Outcome of one trial; equal trials give equal bytes, whoever plays them, when and where."""

    fingerprint: str
    """Of everything that determines it, the code included."""
    workload: str
    arm: str
    seed: int
    metrics: dict[str, float]
    """By name in `metrics.METRICS`; one that does not apply is not there."""
    components: dict[str, float] = {}
    """What the score is made of, in dollars per hour."""
    stimulus: str = ""
    """What the world asked of the cluster (`stimulus`): arms whose worlds differ are not compared."""
    switchback: OutcomeSwitchback | None = None
    """The newest estimate of an arm that acts in some blocks only."""
    digest: str = ""
    """SHA-256 of the world's state at the end: equal runs end equal."""
    pressure: tuple[tuple[float, float], ...] = ()
    """(cluster seconds since the measured time began, mean pods without a node since the point before)."""
    payers: dict[str, Burden] = {}
    """What each payer bore (`payers.payer_of`)."""
    recording: str | None = None
    """File beside the results, where it was kept."""


class TrialCost(DataModel):
    """Cost of playing a trial; two equal runs do not share it."""

    cpu_seconds: float = Field(ge=0)
    """Processor time of the whole trial."""
    controller_cpu_seconds: float = Field(default=0.0, ge=0)
    """Of it by what decides and acts: inference, agents, referee and executor, its writes included."""


@dataclass(frozen=True, slots=True)
class PlayedTrial:
    """A trial that was played just now."""

    result: TrialResult
    cost: TrialCost


Kept = TypeVar("Kept", TrialResult, TrialCost)


class ResultFolder:
    """The results of one experiment, by fingerprint."""

    def __init__(self, folder: Path) -> None:
        """Use `folder`, which is made when the first result is written."""
        self.folder = folder

    def path_of(self, fingerprint: str) -> Path:
        """Return where a result stands."""
        return self.folder / FOLDER / f"{fingerprint}.json"

    def find(self, fingerprint: str) -> TrialResult | None:
        """Return a finished trial; None when it is not there, or cannot be read and has to be run again."""
        result = _read(self.path_of(fingerprint), TrialResult)
        return result if result is not None and result.fingerprint == fingerprint else None

    def find_cost(self, fingerprint: str) -> TrialCost | None:
        """Return what a trial took; None where nobody knows."""
        return _read(self._cost_path(fingerprint), TrialCost)

    def write(self, result: TrialResult, cost: TrialCost | None = None) -> None:
        """Keep a result and what it took, each whole or not at all."""
        if cost is not None:
            _write(self._cost_path(result.fingerprint), cost)
        _write(self.path_of(result.fingerprint), result)

    def read(self, fingerprints: Iterable[str]) -> list[TrialResult]:
        """Return the finished trials among these, in their order."""
        results = (self.find(fingerprint) for fingerprint in fingerprints)
        return [result for result in results if result is not None]

    def read_costs(self, results: Iterable[TrialResult]) -> dict[str, TrialCost]:
        """Return what each of these took, by fingerprint, where it is known."""
        costs = {result.fingerprint: self.find_cost(result.fingerprint) for result in results}
        return {fingerprint: cost for fingerprint, cost in costs.items() if cost is not None}

    def _cost_path(self, fingerprint: str) -> Path:
        return self.folder / COSTS / f"{fingerprint}.json"


def _read(path: Path, kind: type[Kept]) -> Kept | None:
    try:
        return kind.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def _write(path: Path, content: DataModel) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    unfinished.write_text(content.model_dump_json(indent=1) + "\n", encoding="utf-8")
    unfinished.replace(path)
