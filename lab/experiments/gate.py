"""Whether an experiment's arm may be taken into use: yes or no, with reasons; nothing missing passes as good.

The arm passes when its gain is shown on the one metric that was named before, and when no guarded metric can be
worse than its margin. All have to hold at once, so each keeps its own level (Berger, 1982, Multiparameter
Hypothesis Testing and Acceptance Sampling, Technometrics 24). The gain is shown when the whole interval of the mean
paired difference is on the good side of 0 and the sign-flip test agrees: the interval's error at the good end was
measured, the test's is known, so that chance alone passes in at most half of 1 - confidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bus.exit_codes import ExitCode, verdict
from lab.experiments.effects import ArmEffect
from lab.experiments.metrics import METRICS
from lab.experiments.other_prices import OtherPrice
from lab.experiments.pairing import Pairing
from lab.experiments.resampling import SignFlips, mean_intervals
from lab.experiments.spec import Guard, Inference
from lab.experiments.statistics import Analysis
from lab.experiments.wording import (
    difference_text,
    factor_text,
    p_text,
    signed_amount,
    unit_of,
)

LEAST_PAIRS = 5
"""Pairs of each workload: with fewer, intervals are not what they say (`docs/experiments.md`)."""
NAMED = 3
"""Missing trials that a reason names; the rest is counted."""


@dataclass(frozen=True, slots=True)
class GateResult:
    """The answer."""

    passes: bool
    reasons: tuple[str, ...]
    """Why it fails, each a sentence; what holds, when it passes."""
    evidence: tuple[str, ...]
    """What was looked at and holds."""

    @property
    def exit_code(self) -> ExitCode:
        """0 when it passes, 1 when not."""
        return verdict(differs=not self.passes)


def judge(analysis: Analysis, least_pairs: int = LEAST_PAIRS) -> GateResult:
    """Return whether the hypothesis' arm passes."""
    experiment = analysis.experiment
    hypothesis = experiment.hypothesis
    pairing = analysis.pairings[hypothesis.arm]
    reasons = list(_lacking(pairing, analysis))
    evidence: list[str] = []
    primary = analysis.primary
    if primary is None:
        reasons.append(f"no pair of trials has {hypothesis.metric}")
    else:
        shown, text = _primary(primary, experiment.inference)
        (evidence if shown else reasons).append(text)
        reasons += _values_missing(primary, least_pairs)
    if hypothesis.price_factors:
        shown_there, texts = _at_other_prices(analysis.other_prices, experiment.inference)
        (evidence if shown_there else reasons).extend(texts)
    for guard in experiment.guards:
        effect = analysis.effects.get((guard.metric, hypothesis.arm))
        holds, texts = _guard(guard, effect, experiment.inference.confidence, least_pairs)
        (evidence if holds else reasons).extend(texts)
    return GateResult(not reasons, tuple(reasons or evidence), tuple(evidence))


def _lacking(pairing: Pairing, analysis: Analysis) -> Iterable[str]:
    if not analysis.trials.workloads:
        yield f"no workload belongs to the {analysis.split} split"
    if pairing.missing:
        yield f"{len(pairing.missing)} trials have no result: {_named(pairing.missing)}"


def _values_missing(effect: ArmEffect, least_pairs: int) -> Iterable[str]:
    """Yield a reason where only one of two trials has a value, and where pairs are too few."""
    few = [f"{one.workload} {one.pairs}" for one in effect.workloads if one.pairs < least_pairs]
    if few:
        yield (
            f"{effect.metric} has too few pairs ({', '.join(few)}): with less than {least_pairs} of each workload "
            "an interval is not what it says"
        )
    # An arm that leaves the hardest worlds without a figure must not look better for it.
    one_sided = [value for value in effect.missing if len(value.arms) == 1]
    if one_sided:
        yield (
            f"{effect.metric} is there for only one of two trials in {len(one_sided)} worlds; missing: "
            f"{_named(one_sided)}"
        )


def _named(entries: Sequence[object]) -> str:
    rest = len(entries) - NAMED
    names = "; ".join(map(str, entries[:NAMED]))
    return f"{names}; and {rest} more" if rest > 0 else names


def _primary(effect: ArmEffect, inference: Inference) -> tuple[bool, str]:
    difference = difference_text(effect, inference.confidence)
    text = f"{effect.arm} against {effect.reference} on {effect.metric}: {difference}"
    gain = effect.gain
    if effect.verdict == "equal":
        return False, f"{text}: every world came out the same"
    if not gain.known:
        return False, f"{text}: too few pairs for an interval"
    if gain.high < 0.0:
        return False, f"{text}: {effect.arm} harms"
    if gain.low <= 0.0:
        return False, f"{text}: the interval contains 0"
    if effect.p > 1.0 - inference.confidence:
        return False, (
            f"{text}: the interval excludes 0, but the sign-flip test does not confirm it ({p_text(effect.p)}); too "
            "few worlds differ"
        )
    return True, f"{text}, {p_text(effect.p)}: {effect.arm} helps"


def _at_other_prices(
    prices: Sequence[OtherPrice], inference: Inference
) -> tuple[bool, Sequence[str]]:
    """Return whether the gain is shown at every other price too, and in one sentence each where not."""
    if not prices:
        return False, ("no trial keeps the parts of its score, so other prices cannot be asked",)
    texts = []
    for one in prices:
        shown, text = _primary(one.effect, inference)
        if not shown:
            texts.append(f"with {factor_text(one.factor)} the price of {one.part}: {text}")
    if texts:
        return False, texts
    lowest = min(prices, key=lambda one: one.effect.gain.low)
    text = difference_text(lowest.effect, inference.confidence)
    factors = " or ".join(dict.fromkeys(factor_text(one.factor) for one in prices))
    where = f"lowest with {factor_text(lowest.factor)} the price of {lowest.part}: {text}"
    return True, (f"the gain is shown with {factors} each price, {where}",)


def _guard(
    guard: Guard, effect: ArmEffect | None, confidence: float, least_pairs: int
) -> tuple[bool, list[str]]:
    """Return whether a guard holds, and why, or why not."""
    if effect is None:
        return False, [
            f"guard {guard.metric}: no pair of trials has it; take the guard out or give it a workload"
        ]
    metric = METRICS[guard.metric]
    margin = guard.margin * (abs(effect.reference_mean) if guard.relative else 1.0)
    limit = signed_amount(metric.gain(-margin), unit_of(guard.metric))
    text = f"guard {guard.metric}: {difference_text(effect, confidence)}, margin {limit}"
    missing = list(_values_missing(effect, least_pairs))
    if not effect.gain.known:
        return False, [f"{text}: too few pairs for an interval", *missing]
    if effect.gain.low < -margin:
        worse = "lies beyond it: it harms" if effect.gain.high < -margin else "reaches beyond it"
        return False, [f"{text}: the interval {worse}", *missing]
    return not missing, missing or [f"{text}: the whole interval lies within"]


def shown_gains(
    gains: Sequence[npt.NDArray[np.float64]],
    signs: Sequence[npt.NDArray[np.float64]],
    inference: Inference,
) -> npt.NDArray[np.bool_]:
    """Return whether the gate would call a gain shown, for each column of signs on the differences.

    The null test asks it of thousands of columns (pairs x columns, one array a workload); it is `judge`'s own rule
    on the hypothesis, with the same resamples and flips.
    """
    flips = SignFlips(gains, inference.resamples, inference.seed)
    columns = [values[:, None] * sign for values, sign in zip(gains, signs, strict=True)]
    found = mean_intervals(columns, inference.confidence, inference.resamples, inference.seed)
    confirmed = flips.p_values(columns) <= 1.0 - inference.confidence
    shown: npt.NDArray[np.bool_] = (found.low > 0.0) & confirmed
    return shown
