"""Counts every look at the test split: who looks, changes something and looks again tunes on it, too."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from lab.experiments.spec import Experiment

USES = "test_uses.jsonl"
Look = Literal["run", "gate", "report"]
LOOKS: tuple[Look, ...] = ("run", "gate", "report")


def count_use(folder: Path, experiment: Experiment, code: str, by: Look) -> None:
    """Note a look at the test split in the folder of its results.

    Going on with a run of the same experiment and code is the same use; each gate and each report is another.
    """
    digest = hashlib.sha256(experiment.model_dump_json().encode()).hexdigest()[:16]
    line = {"by": by, "code": code, "experiment": digest}
    if by == "run" and line in _read_lines(folder):
        return
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / USES).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, sort_keys=True) + "\n")


def read_uses(folder: Path) -> dict[Look, int]:
    """Return how often runs, gates and reports have looked at the test split in this folder."""
    counts = Counter(line.get("by", "run") for line in _read_lines(folder))
    return {look: counts[look] for look in LOOKS if counts[look]}


def _read_lines(folder: Path) -> list[Mapping[str, str]]:
    try:
        lines = (folder / USES).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    return [json.loads(line) for line in lines if line]
