"""A search as its trials tell of it: every value, the best so far, and whether it still finds better ones. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from schemas.run import RunTrial
from schemas.session import SessionStudy
from schemas.wording import count_text
from services.dashboard.cycle_json import Json

PLATEAU_TRIALS = 3
"""Completed trials without a better one after which a search may stand on a plateau."""
MOST_TRIALS = 2_000
"""Trials that a page gets, the newest ones."""


@dataclass(frozen=True, slots=True)
class TrialPoint:
    """One trial that has ended."""

    trial: int
    state: str
    value: float | None
    """Of the first objective; None: it has none."""
    parameters: Json
    best: float | None
    """Of all up to this one."""
    is_better: bool

    def as_json(self) -> Json:
        """Return it without its parameters, which the page shows of the best ones alone."""
        return {
            "trial": self.trial,
            "state": self.state,
            "value": self.value,
            "best": self.best,
            "is_better": self.is_better,
        }


@dataclass(slots=True)
class TrialHistory:
    """A search after the events that were given to it."""

    study: str
    newest: SessionStudy | None = None
    points: list[TrialPoint] = field(default_factory=list)
    since_best: int = 0
    """Completed trials since the best one."""

    def add_study(self, data: SessionStudy) -> None:
        """Take in how a search of `foresail tune` stands, with the trials that have ended since it was said before."""
        self.newest = data
        for one in data.history:
            self._add(one.trial, one.state, one.value[0] if one.value else None, one.params)

    def add_trial(self, data: RunTrial) -> None:
        """Take in a trial that a run told."""
        state = "failed" if data.value is None else "complete"
        self._add(data.trial, state, data.value, data.parameters)

    @property
    def minimizes(self) -> bool:
        """Whether less is better; events of old do not say it, and then more is."""
        objectives = () if self.newest is None else self.newest.objectives
        return bool(objectives) and objectives[0].direction == "minimize"

    @property
    def status(self) -> str:
        """How it stands; of trials that a run told nobody says it."""
        return "told by its run" if self.newest is None else self.newest.status

    @property
    def ended(self) -> int:
        """Trials that have ended, however."""
        one = self.newest
        if one is None:
            return len(self.points)
        return one.completed_trials + one.failed_trials + one.pruned_trials

    @property
    def done_ratio(self) -> float:
        """How far it is, of the trials that there are to be."""
        return self.ended / self.newest.trials if self.newest and self.newest.trials else 0.0

    @property
    def text(self) -> str:
        """How far it is, in words."""
        total = len(self.points) if self.newest is None else self.newest.trials
        return f"{self.ended} of {count_text(total, 'trial')}"

    def as_json(self) -> Json:
        """Return everything, the oldest trial first."""
        study, points = self.newest, self.points[-MOST_TRIALS:]
        found = [one for one in self.points if one.is_better]
        best = found[-1] if found else None
        return {
            "study": self.study,
            "status": self.status,
            "text": self.text,
            "engine": "" if study is None else study.engine,
            "why": "" if study is None else study.why,
            "circular": "" if study is None else study.circular,
            "objectives": ()
            if study is None
            else [one.model_dump(mode="json") for one in study.objectives],
            **self._counts(),
            "best": _best(study, best),
            "since_best": self.since_best,
            "plateau": bool(found) and self.since_best > PLATEAU_TRIALS,
            "earlier": len(self.points) - len(points),
            "trials": [one.as_json() for one in points],
            "new_bests": [
                {"trial": one.trial, "value": one.value, "parameters": one.parameters}
                for one in found
            ],
        }

    def _counts(self) -> Json:
        if (study := self.newest) is not None:
            return {
                "completed": study.completed_trials,
                "pruned": study.pruned_trials,
                "failed": study.failed_trials,
            }
        failed = sum(one.state == "failed" for one in self.points)
        return {"completed": len(self.points) - failed, "pruned": 0, "failed": failed}

    def _add(self, trial: int, state: str, value: float | None, parameters: Json) -> None:
        before = self.points[-1].best if self.points else None
        counts = state == "complete" and value is not None
        is_better = False
        if counts and value is not None:
            sign = -1.0 if self.minimizes else 1.0
            is_better = before is None or sign * value > sign * before
        best = value if is_better else before
        self.points.append(TrialPoint(trial, state, value, dict(parameters), best, is_better))
        self.since_best = 0 if is_better else self.since_best + counts


def _best(study: SessionStudy | None, found: TrialPoint | None) -> Json | None:
    """Return the best trial as the search names it, whose constraints it holds; else the best that was seen."""
    if study is not None and study.trial is not None:
        return {"trial": study.trial, "values": list(study.best_score), "parameters": study.best_params}  # fmt: skip
    if study is not None or found is None:
        return None
    return {"trial": found.trial, "values": [found.value], "parameters": found.parameters}
