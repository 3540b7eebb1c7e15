"""What was expected of single actions and what came of them, kept world by world."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, ValidationError

from schemas.model import DataModel

UNSEEN = ("switching",)
"""Terms of an expectation that neither the score nor an observation shows: wear, and time, of switching a machine."""


class ActionSample(DataModel):
    """One action: the world with it against the same world without, over the horizon of its expectation."""

    kind: str
    """Of the expectation; see `services.agents.calibration.kind_of`."""
    cycle: int = Field(ge=0)
    part: int = Field(ge=0)
    at_seconds: float
    """Since the world's beginning."""
    target: str
    horizon_seconds: float = Field(gt=0)
    stated: float
    """Money that the action was expected to gain over the horizon, and its 8-of-10 interval."""
    low: float
    high: float
    expected_terms: dict[str, float]
    score: float
    """Money by which the outcome score of the branch with the action is above that of the branch without."""
    capacity: float
    """Money of what pods requested less in the branch with the action, where the expectation charges for that: the
    score does not."""
    components: dict[str, float]
    """`score` by component."""
    continued: tuple[str, ...] = ()
    """Kinds of what was done beyond the action's own writes."""

    @property
    def expected(self) -> float:
        """What was expected but for what nothing shows."""
        return self.stated - sum(self.expected_terms.get(name, 0.0) for name in UNSEEN)

    @property
    def observed(self) -> float:
        """Outcome of the action, in the terms of its expectation."""
        return self.score + self.capacity


class WorldSamples(DataModel):
    """The samples of one world."""

    seed: int = Field(ge=0)
    profile: str
    code: str
    """Digest of the code that played it."""
    kinds: tuple[str, ...] = ()
    """Kinds that were sampled; empty: all."""
    executed: dict[str, int]
    """Actions of each kind, sampled or not."""
    samples: tuple[ActionSample, ...]


def find_samples(
    folder: Path, profile: str, seed: int, code: str, kinds: tuple[str, ...]
) -> WorldSamples | None:
    """Return a world that this code has played for these kinds; None where it is not there or cannot be read."""
    try:
        found = WorldSamples.model_validate_json(_path(folder, profile, seed).read_bytes())
    except (OSError, ValidationError):
        return None
    same = (found.code, found.profile, found.seed) == (code, profile, seed)
    covers = not found.kinds or (bool(kinds) and set(kinds) <= set(found.kinds))
    return found if same and covers else None


def keep_samples(folder: Path, world: WorldSamples) -> None:
    """Write a world's samples, whole or not at all."""
    path = _path(folder, world.profile, world.seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".new")
    unfinished.write_text(world.model_dump_json() + "\n", encoding="utf-8")
    unfinished.replace(path)


def _path(folder: Path, profile: str, seed: int) -> Path:
    return folder / profile / f"{seed:07}.json"
