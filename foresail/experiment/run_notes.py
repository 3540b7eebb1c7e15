"""What an experiment says, told to the run that is written: effects with their intervals, and the gate's answer."""

from __future__ import annotations

from collections.abc import Sequence

from foresail.run_log import note
from lab.experiments.effects import ArmEffect
from lab.experiments.gate import GateResult
from lab.experiments.metrics import METRICS
from lab.experiments.statistics import Analysis
from lab.experiments.wording import metric_name, unit_of
from schemas.run import RunEffect, RunGate


def note_effects(analysis: Analysis) -> None:
    """Tell every arm's effect on the hypothesis' metric and on those of a report's first table."""
    chosen = [analysis.experiment.hypothesis.metric]
    chosen += [name for name, metric in METRICS.items() if metric.headline]
    for metric in dict.fromkeys(chosen):
        for effect in analysis.effects_on(metric):
            note(RunEffect, **_fields(analysis, effect))


def note_arm_gate(analysis: Analysis, answer: GateResult) -> None:
    """Tell whether the hypothesis' arm may be taken into use."""
    experiment = analysis.experiment
    note(
        RunGate,
        judged=experiment.hypothesis.arm,
        kind="arm",
        experiment=experiment.name,
        passes=answer.passes,
        reasons=answer.reasons,
    )


def note_policy_gate(
    names: Sequence[str], by: str, *, passes: bool, reasons: Sequence[str]
) -> None:
    """Tell whether learned policies may act, each for itself."""
    for name in names:
        note(
            RunGate,
            judged=name,
            kind="policy",
            experiment=by,
            passes=passes,
            reasons=tuple(reasons),
        )


def _fields(analysis: Analysis, effect: ArmEffect) -> dict[str, object]:
    known = effect.difference.known
    return {
        "experiment": analysis.experiment.name,
        "arm": effect.arm,
        "reference": effect.reference,
        "metric": metric_name(effect.metric),
        "unit": unit_of(effect.metric),
        "better": METRICS[effect.metric].better,
        "pairs": effect.pairs,
        "arm_mean": effect.arm_mean,
        "reference_mean": effect.reference_mean,
        "difference": effect.difference.value,
        "low": effect.difference.low if known else None,
        "high": effect.difference.high if known else None,
        "confidence_ratio": analysis.experiment.inference.confidence,
        "verdict": effect.verdict,
    }
