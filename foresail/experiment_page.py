"""An experiment's report as one HTML page that needs no network and no other file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foresail.experiment_plots import forest_svg, lane_svgs, profiles_svg, tradeoff_svg
from foresail.html_page import render
from lab.experiments.effects import ConfidenceInterval, Verdict
from lab.experiments.report import Report, about, as_json
from lab.experiments.section import Section
from lab.experiments.tables import sections
from lab.experiments.wording import VERDICTS, limits_text, signed_amount, unit_of


def experiment_page(report: Report) -> str:
    """Return the page's text."""
    parts = sections(report)
    return render(
        "experiment.html",
        title=f"Experiment {report.experiment.name}",
        report=report,
        about=about(report),
        sections=parts,
        forests={part.title: forest for part in parts if (forest := _forest(report, part))},
        scatters=[tradeoff_svg(one) for one in report.tradeoffs],
        profiles=profiles_svg(report.profiles),
        lanes=lane_svgs(report.lanes),
        result=as_json(report),
    )


def _forest(report: Report, part: Section) -> Any:
    if part.kind == "effect":
        effects = report.analysis.effects_on(part.metric)
        return _draw(part.metric, [(one.arm, one.difference, one.verdict) for one in effects])
    primary = report.analysis.primary
    if part.kind == "workloads" and primary is not None:
        rows = [(one.workload, one.difference, one.verdict) for one in primary.workloads]
        return _draw(primary.metric, rows)
    ablations = report.ablations[part.place : part.place + 1] if part.kind == "ablation" else ()
    metric = report.experiment.hypothesis.metric
    for one in ablations:
        found = [effect for effect in one.effects if effect.metric == metric]
        return _draw(metric, [(one.arm, effect.difference, effect.verdict) for effect in found])
    return None


def _draw(metric: str, rows: Sequence[tuple[str, ConfidenceInterval, Verdict]]) -> Any:
    unit = unit_of(metric)
    return forest_svg(
        metric,
        [
            (
                name, one, verdict,
                f"{signed_amount(one.value, unit)} ({limits_text(one, unit)}): {VERDICTS[verdict]}",
            )
            for name, one, verdict in rows
        ],
    )  # fmt: skip
