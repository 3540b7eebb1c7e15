"""What a proof reports: one row of the table that `make prove` prints."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ProofSize:
    """How much is tried."""

    seeds: int
    """Simulated runs."""
    kills: int
    """Processes killed at random moments over a real server."""
    seconds: float
    """Length of a held load."""
    seed: int = 1
    """Where random choices start; the same seed tries the same things."""
    jobs: int = 1
    """Simulated runs at the same time, each in a process of its own."""
    only: Path | None = None
    """The folder or file to try, of proofs that can do a part."""
    results: Path | None = None
    """Folder where finished tries are stored, so that an interrupted proof resumes where it stopped."""


CI = ProofSize(seeds=100, kills=20, seconds=20.0)
FULL = ProofSize(seeds=1_000, kills=300, seconds=600.0)


@dataclass(frozen=True, slots=True)
class ProofRow:
    """One thing that was tried, and how often it held."""

    part: str
    """Which proof: one of `proofs.__main__.PARTS`."""
    what: str
    tried: int
    held: int
    detail: str = ""
    """Figures, or how to repeat the first failure."""
    least: int | None = None
    """How often it has to hold; None: every time."""

    @property
    def holds(self) -> bool:
        """Whether it held as often as it has to, and was tried at all unless that is never."""
        if self.least is None:
            return self.held == self.tried > 0
        return self.held >= self.least
