"""What people read of an experiment: the model of page and Markdown. What harmed stands as high as what helped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from lab.experiments.by_arm import ArmFacts, PayerChange, facts_of_arms, payer_changes
from lab.experiments.effects import ArmEffect
from lab.experiments.gate import GateResult, judge
from lab.experiments.metrics import METRICS
from lab.experiments.pressure import Lane, TrialSeries, lanes
from lab.experiments.profiles import Profile, profile_of
from lab.experiments.results import TrialCost, TrialResult
from lab.experiments.spec import Experiment, Split
from lab.experiments.split_uses import Look
from lab.experiments.statistics import Analysis, analyse
from lab.experiments.tradeoffs import Ablation, Regret, Tradeoff, ablations, regrets, tradeoffs
from lab.experiments.wording import (
    effect_sentence,
    metric_name,
    workload_sentence,
)
from projections.figures import number, percent
from schemas.wording import count_text

COSTS = ("price_dollars", "energy_kwh", "node_hours", "evictions")
"""What an arm may cost, in the order in which it is said."""
PROGRAMS = {
    "cluster-autoscaler": "this repository's Cluster Autoscaler",
    "karpenter": "this repository's Karpenter",
    "control-plane": "this repository's controllers (HPA, VPA)",
}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where results come from; the caller knows it."""

    command: str = ""
    code: str = ""
    """Commit, or the digest of `code_version`."""
    machine: str = ""
    cpu_hours: float = math.nan
    test_uses: Mapping[Look, int] = field(default_factory=dict)
    """How often runs, gates and reports have looked at the test split, this report included."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Rows of docs/fidelity.md about one kind of program."""

    rows: int
    holding: int


@dataclass(frozen=True, slots=True)
class ProgramAgreement:
    """What the twin runs for some arms in place of a program of Kubernetes, and how well the two agree."""

    program: str
    """`Scenario.kind`."""
    arms: tuple[str, ...]
    measured: Agreement | None
    """None: not measured for this report."""


@dataclass(frozen=True, slots=True)
class HeadlineSentence:
    """One sentence of the first screen."""

    heading: str
    verdict: str
    """One of `effects.Verdict`, or empty."""
    text: str


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that page and Markdown show."""

    analysis: Analysis
    gate: GateResult
    findings: tuple[HeadlineSentence, ...]
    profiles: tuple[Profile, ...]
    tradeoffs: tuple[Tradeoff, ...]
    regrets: tuple[Regret, ...]
    ablations: tuple[Ablation, ...]
    lanes: tuple[Lane, ...]
    agreement: tuple[ProgramAgreement, ...]
    payers: tuple[PayerChange, ...]
    arms: tuple[ArmFacts, ...]
    boundary: tuple[str, ...]
    origin: Origin = field(default_factory=Origin)

    @property
    def experiment(self) -> Experiment:
        """The experiment."""
        return self.analysis.experiment

    @property
    def confidence(self) -> float:
        """Confidence of every interval."""
        return self.experiment.inference.confidence

    def headline(self) -> list[str]:
        """Return the hypothesis' metric, then those of the first table that any pair has."""
        chosen = [self.experiment.hypothesis.metric]
        chosen += [name for name, metric in METRICS.items() if metric.headline]
        return [name for name in dict.fromkeys(chosen) if self.analysis.effects_on(name)]

    def others(self) -> list[str]:
        """Return the other metrics that any pair has."""
        shown = set(self.headline())
        return [name for name in METRICS if name not in shown and self.analysis.effects_on(name)]


def make_report(
    experiment: Experiment,
    results: Iterable[TrialResult],
    split: Split = "development",
    *,
    origin: Origin | None = None,
    agreement: Mapping[str, Agreement] | None = None,
    costs: Mapping[str, TrialCost] | None = None,
) -> Report:
    """Return the report of an experiment's results.

    Args:
        experiment: what was asked.
        results: trials of any order; those that the experiment does not name are listed, not used.
        split: whose workloads and seeds.
        origin: machine, code, command and uses of the test split.
        agreement: rows that hold, by kind of program (`agreement.measure_agreement`).
        costs: what trials took, by fingerprint, where it is known.

    Raises:
        InputError: two different results stand at one place.
    """
    origin = origin or Origin()
    analysis = analyse(experiment, results, split)
    metric = experiment.hypothesis.metric
    programs = tuple(
        ProgramAgreement(program, tuple(arms), (agreement or {}).get(program))
        for program, arms in programs_of(experiment).items()
    )
    return Report(
        analysis=analysis,
        gate=judge(analysis),
        findings=tuple(_findings(analysis)),
        profiles=tuple(
            profile_of(pairing.paired(metric), arm) for arm, pairing in analysis.pairings.items()
        ),
        tradeoffs=tuple(tradeoffs(analysis)),
        regrets=tuple(regrets(analysis)),
        ablations=tuple(ablations(analysis)),
        lanes=tuple(lanes(_series(analysis))),
        agreement=programs,
        payers=tuple(payer_changes(analysis)),
        arms=tuple(facts_of_arms(analysis, costs or {})),
        boundary=tuple(_boundary(analysis, origin, programs)),
        origin=origin,
    )


def _series(analysis: Analysis) -> Iterable[TrialSeries]:
    """Yield every trial's waiting pods over time, workload by workload, arm by arm."""
    of_arms = [analysis.trials.results(arm.name) for arm in analysis.experiment.arms]
    for workload in analysis.trials.workloads:
        for results in of_arms:
            for one in results:
                if one.workload == workload and one.pressure:
                    yield TrialSeries(workload, one.arm, one.seed, one.pressure)


def _findings(analysis: Analysis) -> Iterable[HeadlineSentence]:
    """Yield the first screen: what helps, how much, at what cost, where not."""
    hypothesis, confidence = (
        analysis.experiment.hypothesis,
        analysis.experiment.inference.confidence,
    )
    primary = analysis.primary
    if primary is None:
        text = f"No world was tried with both {hypothesis.arm} and {hypothesis.against}."
        yield HeadlineSentence("The question", "too few", text)
    else:
        yield HeadlineSentence(
            "The question", primary.verdict, effect_sentence(primary, confidence)
        )
        yield HeadlineSentence("Where not", "", workload_sentence(primary))
    for metric in METRICS:
        effect = analysis.effects.get((metric, hypothesis.arm))
        if effect is None or metric in (hypothesis.metric, *COSTS) or not METRICS[metric].headline:
            continue
        if effect.verdict in ("helps", "harms"):
            yield HeadlineSentence("What else", effect.verdict, effect_sentence(effect, confidence))
    yield from _costs(analysis)
    for effect in analysis.effects_on(hypothesis.metric):
        if effect.arm != hypothesis.arm:
            yield HeadlineSentence(
                "Other arms", effect.verdict, effect_sentence(effect, confidence)
            )


def _costs(analysis: Analysis) -> Iterable[HeadlineSentence]:
    arm, confidence = analysis.experiment.hypothesis.arm, analysis.experiment.inference.confidence
    for metric in COSTS:
        effect = analysis.effects.get((metric, arm))
        if effect is not None and effect.verdict != "equal":
            yield HeadlineSentence(
                "At what cost", effect.verdict, effect_sentence(effect, confidence)
            )


def _boundary(
    analysis: Analysis, origin: Origin, programs: Iterable[ProgramAgreement]
) -> Iterable[str]:
    """Yield what these figures are no evidence of."""
    yield (
        "Everything here is of the twin, a simulated cluster: what it models and what not stands in docs/twin.md and "
        "docs/limits.md. A real cluster may answer otherwise."
    )
    yield (
        "Intervals speak of other seeds of the same workloads. The workloads were chosen, not drawn: nothing here "
        "covers another workload, another size of cluster or other prices."
    )
    yield (
        "Only the hypothesis was named before the trials ran. p-values are adjusted over arms (Holm), not over "
        "metrics: of many metrics some differ by chance. `helps` needs interval and test, `harms` the interval alone."
    )
    yield from map(agreement_line, programs)
    if analysis.split == "test":
        yield _uses_line(origin.test_uses)
    else:
        yield "Development split: arms may have been tuned on these very workloads and seeds. It is no test."


def programs_of(experiment: Experiment) -> dict[str, list[str]]:
    """Return the arms by the kind of program of Kubernetes (`Scenario.kind`) that the twin runs for them."""
    by_program: dict[str, list[str]] = {}
    for arm in experiment.arms:
        if arm.provisioner in ("cluster-autoscaler", "karpenter"):
            by_program.setdefault(arm.provisioner, []).append(arm.name)
        if arm.autoscaling is not None or arm.vertical:
            by_program.setdefault("control-plane", []).append(arm.name)
    return by_program


def agreement_line(one: ProgramAgreement) -> str:
    """Return in a sentence how far an arm's program is the real one."""
    text = "its agreement with the real program stands in docs/fidelity.md"
    if one.measured is not None:
        text = f"{one.measured.holding} of {one.measured.rows} rows measured on real programs hold (docs/fidelity.md)"
    return f"{', '.join(one.arms)}: run by {PROGRAMS[one.program]}; {text}."


def _uses_line(uses: Mapping[Look, int]) -> str:
    counts = ", ".join(f"{look} {count}" for look, count in uses.items())
    times = count_text(max(1, sum(uses.values())), "look")
    return (
        f"Test split: {times} so far, this one included{f' ({counts})' if counts else ''}. Each further look after "
        "changes makes it less of a test."
    )


def missing_lines(analysis: Analysis) -> list[str]:
    """Return what could not be compared: trials without a result, values without a partner, results of nobody."""
    lines = [f"No result: {trial}." for trial in analysis.missing]
    lines += [
        f"{metric_name(metric)}: no value from {value}."
        for (metric, _), effect in analysis.effects.items()
        for value in effect.missing
    ]
    lines += [f"Not of this experiment, not used: {trial}." for trial in analysis.trials.surplus]
    return list(dict.fromkeys(lines))


def about(report: Report) -> list[str]:
    """Return what was tried, where and by what command, in sentences."""
    experiment, origin = report.experiment, report.origin
    world = experiment.world
    hours = number(world.length / 3_600)
    warm_up = number(world.warm_up / 60)
    inference, workloads = experiment.inference, len(report.analysis.trials.workloads)
    tried = (
        f"{len(experiment.arms)} arms, {workloads} workloads, {experiment.seeds.count} seeds "
        f"({report.analysis.split} split), {world.nodes} machines from the beginning, {hours} h after {warm_up} min of "
        f"warm-up, a cycle every {number(world.cycle)} s, weather {world.weather}."
    )
    judged = (
        f"Reference: {report.analysis.reference}. Intervals: {percent(report.confidence)}, {inference.resamples} "
        f"resamples of seeds within each workload, seed {inference.seed}."
    )
    lines = [tried, judged]
    facts = {"Command": origin.command, "Code": origin.code, "Machine": origin.machine}
    lines += [f"{name}: {value}." for name, value in facts.items() if value]
    if not math.isnan(origin.cpu_hours):
        lines.append(f"Processor time of all trials: {number(origin.cpu_hours)} h.")
    return lines


def as_json(report: Report) -> dict[str, Any]:
    """Return gate and effects as plain data; NaN as null."""
    analysis = report.analysis
    effects: Sequence[ArmEffect] = list(analysis.effects.values())
    document: dict[str, Any] = {
        "experiment": report.experiment.name,
        "split": analysis.split,
        "passes": report.gate.passes,
        "reasons": list(report.gate.reasons),
        "missing": missing_lines(analysis),
        "effects": [asdict(effect) for effect in effects],
    }
    plain: dict[str, Any] = without_nan(document)
    return plain


def without_nan(value: Any) -> Any:
    """Return plain data with null for every number that JSON does not have."""
    if isinstance(value, dict):
        return {name: without_nan(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
