"""Learning curves, told to the run that is written as they come."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from foresail.run_log import note, written
from lab.learning.training.run import read_curve
from lab.learning.training.tasks import seed_folder
from schemas.run import RunEvaluation


class CurveNotes:
    """Tells each evaluation of a training's seeds once, in the order of its steps."""

    def __init__(self, policy: str, folder: Path, seeds: Sequence[int]) -> None:
        """Read the curves below `folder`, where every seed keeps its own."""
        self._policy, self._folder = policy, folder
        self._told = dict.fromkeys(seeds, -1)

    def tell(self) -> None:
        """Tell what has come since it was asked before; nothing where no run is written."""
        if not written():
            return
        for seed, told in self._told.items():
            for one in read_curve(seed_folder(self._folder, seed)):
                if one.steps > told:
                    self._told[seed] = one.steps
                    note(
                        RunEvaluation, policy=self._policy, seed=seed, steps=one.steps,
                        value=fmean(one.returns), better="higher",
                    )  # fmt: skip
