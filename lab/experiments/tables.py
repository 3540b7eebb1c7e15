"""The tables of a report, as text, for page and Markdown alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from lab.experiments.arm_tables import (
    agreement_section,
    arms_section,
    payers_section,
    pressure_sections,
)
from lab.experiments.effects import ArmEffect, ConfidenceInterval, WorkloadEffect
from lab.experiments.metrics import METRICS
from lab.experiments.profiles import TAUS
from lab.experiments.report import Report, missing_lines
from lab.experiments.section import Section, Table
from lab.experiments.spec import SCORE
from lab.experiments.tradeoffs import ArmPoint
from lab.experiments.wording import (
    VERDICTS,
    amount,
    factor_text,
    limits_text,
    metric_name,
    p_text,
    signed_amount,
    signed_scaled,
    unit_of,
)
from projections.figures import number, percent, signed_text

PROFILE_TAUS = (-0.5, -0.25, -0.1, -0.05, 0.0, 0.05, 0.1, 0.25, 0.5)
"""Those of `profiles.TAUS` that stand in the table."""
MOST_MISSING = 50


def sections(report: Report) -> list[Section]:
    """Return every part that has something to show, in the order of the report."""
    found = [
        *(_effect_section(report, metric) for metric in report.headline()),
        _workloads(report),
        _worst(report),
        _other_prices(report),
        *_tradeoffs(report),
        _profiles(report),
        *pressure_sections(report),
        _regrets(report),
        *_ablations(report),
        payers_section(report),
        arms_section(report),
        agreement_section(report),
        _others(report),
        _missing(report),
    ]
    return [section for section in found if section is not None]


def _effect_section(report: Report, metric: str) -> Section:
    effects = report.analysis.effects_on(metric)
    columns = (
        "arm", "mean", "difference", "interval", "interquartile mean", "better in", "improvement", "p, Holm",
        "detectable", "verdict",
    )  # fmt: skip
    rows = tuple(_effect_row(effect) for effect in effects)
    reference = effects[0]
    about = (
        f"{METRICS[metric].about}; {METRICS[metric].better} is better. {reference.reference}'s mean is "
        f"{amount(reference.reference_mean, unit_of(metric))}."
    )
    verdicts = tuple(effect.verdict for effect in effects)
    table = Table(columns, rows, 1, verdicts)
    return Section("effect", _heading(metric), about[0].upper() + about[1:], table, metric)


def _heading(metric: str) -> str:
    name = metric_name(metric)
    return name[0].upper() + name[1:]


def _effect_row(effect: ArmEffect) -> tuple[str, ...]:
    unit = unit_of(effect.metric)
    return (
        effect.arm,
        amount(effect.arm_mean, unit),
        signed_amount(effect.difference.value, unit),
        limits_text(effect.difference, unit),
        f"{signed_scaled(effect.middle.value, unit)} ({limits_text(effect.middle, unit)})",
        percent(effect.better),
        f"{percent(effect.improvement.value)} ({_shares_text(effect.improvement)})",
        _p(effect.p_adjusted),
        signed_amount(effect.detectable, unit).lstrip("+"),
        VERDICTS[effect.verdict],
    )


def _shares_text(interval: ConfidenceInterval) -> str:
    return (
        f"{number(100 * interval.low)} to {number(100 * interval.high)}" if interval.known else "-"
    )


def _p(value: float) -> str:
    return p_text(value).removeprefix("p ").removeprefix("= ")


def _workloads(report: Report) -> Section | None:
    hypothesis = report.experiment.hypothesis
    rows, verdicts = [], []
    for metric in report.headline():
        effect = report.analysis.effects.get((metric, hypothesis.arm))
        for one in effect.workloads if effect else ():
            unit = unit_of(metric)
            rows.append((
                metric_name(metric), one.workload, str(one.pairs), amount(one.reference_mean, unit),
                amount(one.arm_mean, unit), signed_amount(one.difference.value, unit),
                limits_text(one.difference, unit), _p(one.p), VERDICTS[one.verdict],
            ))  # fmt: skip
            verdicts.append(one.verdict)
    columns = (
        "metric", "workload", "pairs", hypothesis.against, hypothesis.arm, "difference", "interval", "p", "verdict",
    )  # fmt: skip
    about = f"{hypothesis.arm} against {hypothesis.against} on each workload by itself; p-values are not adjusted."
    table = Table(columns, tuple(rows), 2, tuple(verdicts))
    return Section("workloads", "By workload", about, table) if rows else None


def _worst(report: Report) -> Section | None:
    metric = report.experiment.hypothesis.metric
    unit = unit_of(metric)
    rows = [
        (
            effect.arm, one.workload, str(one.worst.seed), signed_amount(one.worst.difference, unit),
            signed_amount(one.worst_tenth, unit), signed_amount(effect.worst_tenth, unit),
        )
        for effect in report.analysis.effects_on(metric)
        for one in effect.workloads
    ]  # fmt: skip
    columns = (
        "arm",
        "workload",
        "worst seed",
        "difference there",
        "worst tenth",
        "worst tenth of all workloads",
    )
    about = f"{_heading(metric)}: the world in which an arm did worst, and the mean of the worst tenth of worlds."
    return Section("worst", "Worst seeds", about, Table(columns, tuple(rows), 2)) if rows else None


def _other_prices(report: Report) -> Section | None:
    unit = unit_of(SCORE)
    found = report.analysis.other_prices
    rows = tuple(
        (
            one.part, factor_text(one.factor), amount(one.effect.reference_mean, unit),
            signed_amount(one.effect.difference.value, unit), limits_text(one.effect.difference, unit),
            _p(one.effect.p), VERDICTS[one.effect.verdict],
        )
        for one in found
    )  # fmt: skip
    hypothesis = report.experiment.hypothesis
    columns = (
        "price of",
        "multiplied",
        hypothesis.against,
        "difference",
        "interval",
        "p",
        "verdict",
    )
    about = (
        f"{hypothesis.arm} against {hypothesis.against} on the outcome score with one price multiplied; what the "
        "arms did is as played, under the default prices. p-values are not adjusted."
    )
    table = Table(columns, rows, 2, tuple(one.effect.verdict for one in found))
    return Section("prices", "At other prices", about, table) if rows else None


def _tradeoffs(report: Report) -> Iterable[Section]:
    for place, one in enumerate(report.tradeoffs):
        cost, service = unit_of(one.cost), unit_of(one.service)
        rows = tuple(
            (
                point.arm, amount(point.cost, cost), amount(point.service, service),
                amount(_score(report, point), "$/h"), "yes" if point.on_front else "no",
            )
            for point in one.points
        )  # fmt: skip
        columns = (
            "arm",
            metric_name(one.cost),
            metric_name(one.service),
            "outcome score",
            "on the front",
        )
        about = (
            f"Means over {one.worlds} worlds that every arm was tried in; less is better on both. An arm is on the "
            "Pareto front when no other is at least as good on both and better on one."
        )
        title = f"{_heading(one.service)} beside {metric_name(one.cost)}"
        yield Section("tradeoff", title, about, Table(columns, rows), place=place)


def _score(report: Report, point: ArmPoint) -> float:
    metric = "score_dollars_per_hour"
    effects = report.analysis.effects_on(metric)
    if point.arm == report.analysis.reference and effects:
        return effects[0].reference_mean
    effect = report.analysis.effects.get((metric, point.arm))
    return effect.arm_mean if effect is not None else math.nan


def _profiles(report: Report) -> Section | None:
    shown = [profile for profile in report.profiles if not math.isnan(profile.shares[0])]
    if not shown:
        return None
    places = [place for place, tau in enumerate(TAUS) if tau in PROFILE_TAUS]
    columns = ("arm", *(f"above {signed_text(100 * TAUS[place])}%" for place in places))
    rows = tuple((one.arm, *(percent(one.shares[place]) for place in places)) for one in shown)
    about = (
        f"Share of worlds in which the gain in {metric_name(shown[0].metric)} is above a part of the reference's mean "
        "on that workload. An arm whose line lies higher everywhere is better everywhere."
    )
    return Section("profile", "Performance profiles", about, Table(columns, rows))


def _regrets(report: Report) -> Section | None:
    rows = tuple(
        (
            one.effect.arm, signed_amount(one.effect.difference.value, unit_of(one.effect.metric)),
            limits_text(one.effect.difference, unit_of(one.effect.metric)),
            "-" if math.isnan(one.share) else percent(one.share),
        )
        for one in report.regrets
    )  # fmt: skip
    columns = ("arm", "behind the oracle", "interval", "of what the oracle gains")
    about = (
        "The oracle knows what will come; nothing that has to guess can be expected to reach it."
    )
    return Section("regret", "Regret", about, Table(columns, rows)) if rows else None


def _ablations(report: Report) -> Iterable[Section]:
    for place, one in enumerate(report.ablations):
        first, *rest = one.effects
        parts: list[tuple[str, str, ArmEffect | WorkloadEffect]] = [
            (first.metric, "all", first),
            *((first.metric, by.workload, by) for by in first.workloads),
            *((effect.metric, "all", effect) for effect in rest),
        ]
        rows = tuple(_ablation_row(metric, where, part) for metric, where, part in parts)
        verdicts = tuple(part.verdict for _, _, part in parts)
        columns = ("metric", "workload", "difference", "interval", "p", "verdict")
        about = (
            f"{one.arm} minus {one.whole}, world by world: where leaving the part out harms, it earns its place; where "
            "it helps, the part does harm. p-values are not adjusted."
        )
        table = Table(columns, rows, 2, verdicts)
        yield Section("ablation", f"Ablation: {one.arm}", about, table, place=place)


def _ablation_row(metric: str, where: str, part: ArmEffect | WorkloadEffect) -> tuple[str, ...]:
    difference, unit = part.difference, unit_of(metric)
    return (
        metric_name(metric), where, signed_amount(difference.value, unit), limits_text(difference, unit), _p(part.p),
        VERDICTS[part.verdict],
    )  # fmt: skip


def _others(report: Report) -> Section | None:
    effects = [
        effect for metric in report.others() for effect in report.analysis.effects_on(metric)
    ]
    rows = tuple(
        (
            metric_name(one.metric), one.arm, amount(one.arm_mean, unit_of(one.metric)),
            signed_amount(one.difference.value, unit_of(one.metric)), limits_text(one.difference, unit_of(one.metric)),
            _p(one.p_adjusted), VERDICTS[one.verdict],
        )
        for one in effects
    )  # fmt: skip
    columns = ("metric", "arm", "mean", "difference", "interval", "p, Holm", "verdict")
    about = "Not asked beforehand: of so many, some differ by chance."
    table = Table(columns, rows, 2, tuple(one.verdict for one in effects))
    return Section("others", "Other metrics", about, table) if rows else None


def _missing(report: Report) -> Section | None:
    lines: Sequence[str] = missing_lines(report.analysis)
    rows = [(line,) for line in lines[:MOST_MISSING]]
    if len(lines) > MOST_MISSING:
        rows.append((f"and {number(len(lines) - MOST_MISSING)} more",))
    about = "A comparison without these may flatter whoever they are missing from."
    table = Table(("missing",), tuple(rows))
    return Section("missing", "Not compared", about, table) if rows else None
