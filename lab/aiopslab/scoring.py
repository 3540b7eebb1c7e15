"""Answers to AIOpsLab's tasks from findings, and their scores by the rules of its evaluators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lab.aiopslab.catalogue import Family, Task, task_of
from lab.aiopslab.findings import Finding, Findings

Answer = str | list[str] | None
Score = dict[str, str | float | bool | None]


@dataclass(frozen=True, slots=True)
class ProblemScore:
    """One problem's answer and its score."""

    problem_id: str
    answer: Answer
    score: Score
    """Names as AIOpsLab's: `Detection Accuracy`, `TTD`, `Localization Accuracy`, `success`, ..."""

    @property
    def solved(self) -> bool:
        """Whether AIOpsLab would count it as solved."""
        return (
            self.score.get("Detection Accuracy") == "Correct" or self.score.get("success") is True
        )


def answer_to(task: Task, found: Sequence[Finding]) -> Answer:
    """Return what is submitted; None where the task takes no argument, or nothing is said."""
    if task == "detection":
        return "Yes" if found else "No"
    if task == "localization":
        return sorted({one.service for one in found})
    return None


def submission(task: Task, answer: Answer) -> str:
    """Return the call in the form that AIOpsLab's parser takes: one block of code with one call."""
    if isinstance(answer, list):
        argument = "[" + ", ".join(f'"{name}"' for name in answer) + "]"
    else:
        argument = "" if answer is None else f'"{answer}"'
    return f"Foresail's answer to the {task} task.\n```\nsubmit({argument})\n```"


def score_family(
    family: Family, findings: Findings, fault_seconds: float
) -> tuple[ProblemScore, ...]:
    """Score every problem of a family that was played with its first Service at fault.

    Args:
        family: whose problems.
        findings: of the log.
        fault_seconds: cluster time of the fault; what was found before it is a false alarm.
    """
    return tuple(
        _score(problem_id, family, findings, fault_seconds) for problem_id in family.problem_ids
    )


def _score(
    problem_id: str, family: Family, findings: Findings, fault_seconds: float
) -> ProblemScore:
    task = task_of(problem_id)
    found = findings.found
    answer = answer_to(task, found)
    after = [one.at_seconds - fault_seconds for one in found if one.at_seconds >= fault_seconds]
    seconds = min(after, default=None) if family.services else None
    at_fault = list(family.services[:1])
    match task:
        case "detection":
            right = answer == ("Yes" if family.services else "No")
            score: Score = {
                "Detection Accuracy": "Correct" if right else "Incorrect",
                "TTD": seconds,
            }
        case "localization":
            assert isinstance(answer, list)
            score = {**localization(answer, at_fault), "TTL": seconds}
        case "analysis":
            score = {"system_level_correct": False, "fault_type_correct": False, "success": False}
        case "mitigation":
            score = {"success": findings.healthy(at_fault)}
    return ProblemScore(problem_id, answer, score)


def localization(answer: list[str], at_fault: list[str]) -> Score:
    """Return the score of a list of Services: right alone 100, right among others its share, else 0."""
    exact = answer == at_fault
    subset = set(at_fault) <= set(answer)
    accuracy = 100.0 if exact else 100.0 * len(at_fault) / len(answer) if subset and answer else 0.0
    return {"Localization Accuracy": accuracy, "success": exact, "is_subset": subset}
