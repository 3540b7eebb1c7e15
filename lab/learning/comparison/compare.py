"""A workload's comparison: rules on the development split, rules and learned policies on the test split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lab.learning.comparison.benchmark import Arm
from lab.learning.comparison.judgement import WorkloadJudgement, best_rule, judge_workload
from lab.learning.comparison.plays import Plays, Round
from lab.learning.jobs import JobStream


@dataclass(frozen=True, slots=True)
class Comparison:
    """Who plays what on one workload."""

    workload: str
    rules: Sequence[Arm]
    learned: Sequence[Arm]
    development: Sequence[JobStream]
    """By which the best rule is settled."""
    test: Sequence[JobStream]
    until_seconds: float

    def rounds(self) -> list[Round]:
        """Return everything that has to be played."""
        return [*self._rounds("development", self.rules), *self._rounds("test", self._arms())]

    def judged(self, plays: Plays) -> WorkloadJudgement | None:
        """Return how all arms stand; None as long as something has not been played."""
        if any(plays.missing(one) for one in self.rounds()):
            return None
        development = [plays.played(self._rounds("development", [arm])) for arm in self.rules]
        test = [plays.played(self._rounds("test", [arm])) for arm in self._arms()]
        return judge_workload(self.workload, best_rule(development), test, 0, self._repeated())

    def _repeated(self) -> float:
        """Return which share of the test streams' jobs stand in an earlier one, too."""
        jobs = [
            (job.name, job.true_seconds, job.requests)
            for stream in self.test
            for job in stream.jobs
        ]
        return 1.0 - len(set(jobs)) / len(jobs)

    def _arms(self) -> list[Arm]:
        return [*self.rules, *self.learned]

    def _rounds(self, split: str, arms: Sequence[Arm]) -> list[Round]:
        streams = self.development if split == "development" else self.test
        return [
            Round(f"{self.workload}/{split}", arm, place, streams, self.until_seconds)
            for arm in arms
            for place in range(len(arm.seeds))
        ]
