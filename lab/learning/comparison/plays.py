"""What arms made of streams of jobs, kept line by line, so that a comparison of hours goes on another day.

A folder has a file for each seed of each arm on each split of a workload, and in it a line for each stream. A line
counts only for the very stream, policy, end and code that it was played with; whatever differs is played anew.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np

from lab.learning.comparison.benchmark import MEASURES, Arm, Played, play_stream
from lab.learning.jobs import JobStream

Figures = Mapping[str, float]
"""By measure."""
FOLDER = "played"
STREAM = "stream"
CODE = (
    "lab.learning.backend", "lab.learning.jobs", "lab.learning.measures", "lab.learning.observation",
    "lab.learning.simulator", "lab.learning.baselines", "lab.learning.comparison.benchmark",
    "lab.learning.comparison.learned_rule", "services.learned_policy.choice", "services.learned_policy.network",
)  # fmt: skip
"""What plays a stream: modules, and a package with its files."""


@dataclass(frozen=True, slots=True)
class Round:
    """One seed of an arm on the streams of a split."""

    where: str
    """Workload and split."""
    arm: Arm
    place: int
    """Of the seed, among the arm's."""
    streams: Sequence[JobStream]
    until_seconds: float
    """Each stream is played so long; infinity: until no job is left."""

    def name(self) -> str:
        """Return the name of its file: readable, and different for each end, policy and code."""
        told = [
            self.where,
            self.arm.identities[self.place],
            repr(self.until_seconds),
            played_code(),
        ]
        digest = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:12]
        return f"{_word(self.where)}-{_word(self.arm.name)}-{self.place}-{digest}.jsonl"


class Plays:
    """What has been played; without a folder it is forgotten at the end."""

    def __init__(self, folder: Path | None = None) -> None:
        """Use a folder, which is made when something is kept in it."""
        self._folder = None if folder is None else folder / FOLDER
        self._rows: dict[str, dict[str, Figures]] = {}

    def missing(self, one: Round) -> list[JobStream]:
        """Return the streams of a round that have not been played."""
        rows = self._of(one)
        return [stream for stream in one.streams if stream_digest(stream) not in rows]

    def play(self, one: Round, may_go_on: Callable[[], bool]) -> Iterator[JobStream]:
        """Play what is missing of a round as long as that may go on, and yield each stream once it is kept."""
        for stream in self.missing(one):
            if not may_go_on():
                return
            figures = play_stream(one.arm.seeds[one.place](), stream, one.until_seconds)
            self._keep(one, stream, figures)
            yield stream

    def played(self, rounds: Sequence[Round]) -> Played:
        """Return what an arm's seeds made of their streams; raises KeyError where one has not been played."""
        rows = [[self._of(one)[stream_digest(stream)] for stream in one.streams] for one in rounds]
        values = {name: np.array([[one[name] for one in row] for row in rows]) for name in MEASURES}
        return Played(rounds[0].arm, values)

    def _of(self, one: Round) -> dict[str, Figures]:
        name = one.name()
        if name not in self._rows:
            self._rows[name] = {} if self._folder is None else _read(self._folder / name)
        return self._rows[name]

    def _keep(self, one: Round, stream: JobStream, figures: Figures) -> None:
        digest = stream_digest(stream)
        self._of(one)[digest] = figures
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / one.name()
        # A line that a stopped process left unfinished must not swallow this one.
        cut = path.is_file() and not path.read_bytes().endswith(b"\n")
        with path.open("a", encoding="utf-8") as file:
            file.write("\n" * cut + json.dumps({STREAM: digest, **figures}) + "\n")


@cache
def stream_digest(stream: JobStream) -> str:
    """Return what tells a stream from any other: its jobs and its quota."""
    return hashlib.sha256(repr((stream.jobs, stream.quota)).encode()).hexdigest()[:16]


@cache
def played_code() -> str:
    """Return a digest of the code that plays a stream."""
    digest = hashlib.sha256()
    for name in CODE:
        module = import_module(name)
        own = [Path(module.__file__ or "")]
        files = (
            sorted(Path(module.__path__[0]).glob("*.py")) if hasattr(module, "__path__") else own
        )
        for path in files:
            digest.update(f"{name}/{path.name}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _read(path: Path) -> dict[str, Figures]:
    """Return the whole lines of a file; one that was cut off is as if it were not there."""
    rows: dict[str, Figures] = {}
    for line in path.read_text("utf-8").splitlines() if path.is_file() else ():
        try:
            row = json.loads(line)
            rows[row[STREAM]] = {name: float(row[name]) for name in MEASURES}
        except (ValueError, KeyError, TypeError):
            continue
    return rows


def _word(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.+-]+", "-", text)
