"""What a part of a training is worth: runs whose plans differ from another's in one thing, on the same streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab.learning.comparison.benchmark import Arm
from lab.learning.comparison.judgement import MEASURE, Standing, WorkloadJudgement
from lab.learning.evaluation.statistics import Interval, relative_gain

WITHOUT = {
    ("masked", False): "without the mask",
    ("arguments.hidden", "history"): "without history",
    ("imitates", ""): "without beginning as a rule",
}
"""What is gone, by the setting that differs and its value."""


@dataclass(frozen=True, slots=True)
class Ablation:
    """One workload's answer to what a thing is worth."""

    workload: str
    whole: Standing
    changed: Standing
    difference: str
    """In words."""
    gain: Interval
    """By which part the changed one's slowdown is below the whole one's; below 0 where the thing helps."""


def ablations(judgements: Sequence[WorkloadJudgement], first: str) -> list[Ablation]:
    """Return what each thing is worth that some run lacks and the first one has.

    Args:
        judgements: of the workloads.
        first: name of the arm that the others are held against.
    """
    found = []
    for judged in judgements:
        standings = {one.played.arm.name: one for one in judged.learned()}
        whole = standings[first]
        for name, changed in standings.items():
            difference = one_difference(whole.played.arm, changed.played.arm)
            if name == first or difference is None:
                continue
            gain = relative_gain(
                changed.played.values[MEASURE], whole.played.values[MEASURE], seed=0
            )
            found.append(Ablation(judged.workload, whole, changed, difference, gain))
    return found


def one_difference(whole: Arm, changed: Arm) -> str | None:
    """Return in words the one thing in which two trainings differ; None: nothing, more, or it is not known."""
    if whole.plan is None or changed.plan is None:
        return None
    before, after = _flat(whole.plan), _flat(changed.plan)
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if len(names) != 1:
        return None
    name = names[0]
    value = after.get(name)
    words = WITHOUT.get((name, value)) if isinstance(value, str | bool) else None
    return words or f"{name.rpartition('.')[2]} {_told(value)} instead of {_told(before.get(name))}"


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return a mapping of mappings as one, names joined by dots."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        inner = isinstance(value, Mapping)
        flat |= _flat(value, f"{prefix}{name}.") if inner else {f"{prefix}{name}": value}
    return flat


def _told(value: Any) -> str:
    return "nothing" if value in (None, "") else str(value)
