"""All comparisons of an experiment: every arm and metric against the reference, p-values adjusted over arms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lab.experiments.effects import ArmEffect, compute_effect
from lab.experiments.metrics import COMPARED
from lab.experiments.other_prices import OtherPrice, other_prices
from lab.experiments.pairing import MissingTrial, Pairing, Trials
from lab.experiments.results import TrialResult
from lab.experiments.spec import Experiment, Inference, Split


@dataclass(frozen=True, slots=True)
class Analysis:
    """Analysis of an experiment's results."""

    experiment: Experiment
    split: Split
    trials: Trials
    pairings: Mapping[str, Pairing]
    """By arm; the reference is the hypothesis' `against`."""
    effects: Mapping[tuple[str, str], ArmEffect]
    """By metric and arm; what no pair has is not there."""

    @property
    def reference(self) -> str:
        """The arm that all others are compared with."""
        return self.experiment.hypothesis.against

    @property
    def other_prices(self) -> Sequence[OtherPrice]:
        """The hypothesis' effect with one price of the score multiplied."""
        return other_prices(self.experiment, self.pairings[self.experiment.hypothesis.arm])

    @property
    def primary(self) -> ArmEffect | None:
        """The effect that the experiment was made for; None without a pair."""
        hypothesis = self.experiment.hypothesis
        return self.effects.get((hypothesis.metric, hypothesis.arm))

    @property
    def arms(self) -> tuple[str, ...]:
        """Arms beside the reference, in the experiment's order."""
        return tuple(arm.name for arm in self.experiment.arms if arm.name != self.reference)

    @property
    def missing(self) -> tuple[MissingTrial, ...]:
        """Trials of any arm that have no result, each once."""
        found = (trial for pairing in self.pairings.values() for trial in pairing.missing)
        return tuple(dict.fromkeys(found))

    def effects_on(self, metric: str) -> Sequence[ArmEffect]:
        """Return a metric's effects, in the arms' order."""
        found = (self.effects.get((metric, arm)) for arm in self.arms)
        return [effect for effect in found if effect is not None]


def analyse(
    experiment: Experiment, results: Iterable[TrialResult], split: Split = "development"
) -> Analysis:
    """Return every comparison with the reference; their order and that of the results change nothing.

    Raises:
        InputError: two different results stand at one place.
    """
    trials = Trials(experiment, results, split)
    arms = [arm.name for arm in experiment.arms if arm.name != experiment.hypothesis.against]
    pairings = {arm: trials.pair(arm, experiment.hypothesis.against) for arm in arms}
    effects: dict[tuple[str, str], ArmEffect] = {}
    for metric in COMPARED:
        found = {
            arm: effect
            for arm, pairing in pairings.items()
            if (effect := pairing_effect(pairing, metric, experiment.inference)) is not None
        }
        adjusted = holm({arm: effect.p for arm, effect in found.items()})
        for arm, effect in found.items():
            effects[metric, arm] = effect.adjusted(adjusted[arm], experiment.inference.confidence)
    return Analysis(experiment, split, trials, pairings, effects)


def pairing_effect(pairing: Pairing, metric: str, inference: Inference) -> ArmEffect | None:
    """Return the effect of a pairing's arm on a metric, its p-value for itself alone; None without a pair."""
    return compute_effect(pairing.paired(metric), pairing.arm, pairing.reference, inference)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return p-values adjusted for being several.

    Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 6: the
    smallest times their number, the next times one less, never falling, at most 1. Holds whatever the dependence.
    """
    adjusted: dict[str, float] = {}
    largest = 0.0
    for place, (name, p) in enumerate(
        sorted(p_values.items(), key=lambda entry: (entry[1], entry[0]))
    ):
        largest = max(largest, min(1.0, (len(p_values) - place) * p))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}
