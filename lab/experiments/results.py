"""Results of trials: one small file each, written whole or not at all, so that any trial can wait for another day."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pydantic import Field, ValidationError

from schemas.model import DataModel

FOLDER = "trials"


class TrialResult(DataModel):
    """What came of one trial."""

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
    digest: str = ""
    """SHA-256 of the world's state at the end: equal runs end equal."""
    recording: str | None = None
    """File beside the results, where it was kept."""
    cpu_seconds: float = Field(ge=0)
    """Processor time of the trial; the only figure that two equal runs do not share."""


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
        try:
            content = self.path_of(fingerprint).read_bytes()
            result = TrialResult.model_validate_json(content)
        except (OSError, ValidationError):
            return None
        return result if result.fingerprint == fingerprint else None

    def write(self, result: TrialResult) -> None:
        """Keep a result, whole or not at all."""
        path = self.path_of(result.fingerprint)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}.tmp")
        unfinished.write_text(result.model_dump_json(indent=1) + "\n", encoding="utf-8")
        unfinished.replace(path)

    def read(self, fingerprints: Iterable[str]) -> list[TrialResult]:
        """Return the finished trials among these, in their order."""
        results = (self.find(fingerprint) for fingerprint in fingerprints)
        return [result for result in results if result is not None]
