"""The report in Markdown: figures in tables, and sentences that say what they mean."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from lab.forecast.risk.report_types import (
    FeatureFigures,
    HorizonReport,
    IntervalFigures,
    ReportedSplit,
    RiskReport,
    RollingFigures,
)
from lab.forecast.risk.scoring import MODEL
from lab.forecast.risk.splits import ILLUSION

NONE = "-"


def markdown(report: RiskReport) -> str:
    """Return the report of `evaluate` as one Markdown page."""
    lines = [f"# Failure risk: {report['model_id']}", ""]
    if report["illusion"]:
        lines += [
            (
                "**ILLUSION.** The rows of this model were drawn at random on purpose. Its figures show "
                "what such a split pretends; they say nothing about the model."
            ),
            "",
        ]
    lines += [
        (
            f"Dataset `{report['dataset']}`, label: {report['label']}. Trained on "
            f"{report['train_rows']:,} rows with {report['train_positives']:,} positives, "
            f"{report['split']}."
        ),
        (
            "Every figure is taken on every row at its true base rate; average precision (AP) is "
            "step-wise with ties as one group; intervals are 95 % over "
            f"{report['resamples']} resamples of whole jobs, paired between models."
        ),
        "",
    ]
    for horizon in report["horizons"]:
        lines += _horizon(horizon)
    return "\n".join(lines) + "\n"


def _horizon(horizon_report: HorizonReport) -> list[str]:
    lines = [f"## Horizon {horizon_report['minutes']} min", "", "### Checks", ""]
    lines += _table(
        ("check", "holds", "measured"),
        [
            (check["name"], "yes" if check["holds"] else "**NO**", check["text"])
            for check in horizon_report["checks"]
        ],
    )
    for name, figures in horizon_report["splits"].items():
        lines += _split(name, figures)
    lines += _rolling(horizon_report["rolling"])
    if horizon_report["folds"]:
        lines += _folds(horizon_report["folds"])
    lines += _features(horizon_report["features"])
    if horizon_report.get("plots"):
        lines += ["### Plots", ""]
        lines += [
            f"![{file}]({horizon_report['plot_folder']}/{file})" for file in horizon_report["plots"]
        ] + [""]
    return lines


def _split(name: str, figures: ReportedSplit) -> list[str]:
    mark = "" if name == ILLUSION else f"Split {name}: "
    lines = [
        f"### {mark}{figures['title']}",
        "",
        (
            f"{figures['rows']:,} rows, {figures['positives']:,} positives "
            f"(prevalence {figures['prevalence']:.3%}), {figures['jobs']:,} jobs, "
            f"{figures['failing_jobs']:,} of them with failures."
        ),
        "",
    ]
    lines += [f"- {word}" for word in figures["words"]] + [""]
    lines += _models(figures) + _differences(figures) + _parts(figures)
    lines += _calibration(figures) + _lead(figures) + _windows(figures)
    return lines


def _models(figures: ReportedSplit) -> list[str]:
    rows = []
    for name, model in figures["models"].items():
        top = [
            f"{_number(part['precision'], 2)} / {_number(part['recall'])}" for part in model["top"]
        ]
        others = figures["without_worst"].get("models")
        without = others[name]["value"] if others and name in others else math.nan
        rows.append((
            name, _interval(model["ap"]), _number(without), _number(model["ap_equal_jobs"]),
            f"{_number(model['ap_macro'])} ({model['macro_jobs']})", *top, _number(model["auroc"]),
        ))  # fmt: skip
    heads = [f"P / R at {part['share']:.1%}" for part in figures["models"][MODEL]["top"]]
    return _table(
        (
            "model",
            "AP",
            "without 10 worst jobs",
            "equal job weight",
            "macro (jobs)",
            *heads,
            "AUROC",
        ),
        rows,
    )


def _differences(figures: ReportedSplit) -> list[str]:
    rows = [
        (f"model - {name}", _interval(step, sign=True), "yes" if step["excludes_zero"] else "no")
        for name, step in figures["differences"].items()
    ]
    return _table(("difference in AP", "paired 95 % interval", "excludes 0"), rows)


def _parts(figures: ReportedSplit) -> list[str]:
    rows = []
    for part, title in (
        (figures["first"], "before the job's first failure"),
        (figures["repeats"], "after it"),
    ):
        values = [
            _interval(part["models"][name]) if part["positives"] else NONE
            for name in figures["models"]
        ]
        rows.append(
            (
                title,
                f"{part['rows']:,}",
                f"{part['positives']:,}",
                f"{part['prevalence']:.2%}",
                *values,
            )
        )
    return _table(("rows", "number", "positives", "prevalence", *figures["models"]), rows)


def _calibration(figures: ReportedSplit) -> list[str]:
    rows = [
        (
            name, f"{row['brier']:.5f}", _number(row["brier_skill"]),
            _number(row["expected_observed"], 2), f"{row['ece_equal_width']:.4f}",
            f"{row['ece_equal_count']:.4f}",
        )
        for name, row in figures["calibration"].items()
    ]  # fmt: skip
    lines = _table(
        (
            "probabilities",
            "Brier",
            "Brier skill",
            "expected / observed",
            "ECE (equal width)",
            "ECE (equal count)",
        ),
        rows,
    )
    bins = [
        (f"{row['low']:g} to {row['high']:g}", f"{row['rows']:,}", _number(row["expected"], 1),
         f"{row['observed']:.0f}", _number(row["ratio"], 2))
        for row in figures["calibration"]["calibrated"]["bins"]
    ]  # fmt: skip
    return lines + _table(
        ("probability", "rows", "expected", "observed", "expected / observed"), bins
    )


def _lead(figures: ReportedSplit) -> list[str]:
    rows = []
    lead = figures["lead"]
    for key, part in (("caught", lead.get("caught")), ("missed", lead.get("missed"))):
        if part is None or not part["failures"]:
            rows.append((key, "0", NONE, NONE, NONE, NONE))
            continue
        rows.append((
            key, f"{part['failures']:,}", f"{part['p10_seconds']:.0f}", f"{part['median_seconds']:.0f}",
            f"{part['p90_seconds']:.0f}", f"{part['over_a_minute_share']:.0%}",
        ))  # fmt: skip
    heads = ("lead time, s (riskiest 1 %)", "failures", "p10", "median", "p90", "a minute or more")
    return _table(heads, rows)


def _windows(figures: ReportedSplit) -> list[str]:
    rows = [
        (f"{window['start_seconds'] / 3600:.1f} h", f"{window['rows']:,}", f"{window['positives']:,}",
         f"{window['prevalence']:.2%}", _number(window["ap"]), _number(window["expected_observed"], 2),
         _number(window["expected_observed_rolling"], 2))
        for window in figures["windows"]
    ]  # fmt: skip
    heads = ("from", "rows", "positives", "prevalence", "AP", "expected / observed", "recalibrated")
    return _table(heads, rows)


def _rolling(rolling: RollingFigures) -> list[str]:
    lines = [
        "### Rolling recalibration",
        "",
        (
            f"Over all windows but the first: expected / observed {_number(rolling['expected_observed'], 2)}, "
            f"Brier skill {_number(rolling['brier_skill'])}. At the start of each window a new curve is fitted on "
            "labels that were settled by then. The first five windows are the folds (models trained on what lies "
            "before them), the rest is test time (one model, trained before the cut)."
        ),
        "",
    ]
    rows = [
        (part["window"], f"{part['start_seconds'] / 3600:.1f} h", f"{part['rows']:,}", f"{part['positives']:,}",
         _number(part["raw_expected_observed"], 2), _number(part["expected_observed"], 2), _number(part["brier_skill"]))
        for part in rolling["parts"]
    ]  # fmt: skip
    heads = (
        "window",
        "from",
        "rows",
        "positives",
        "raw expected / observed",
        "recalibrated",
        "Brier skill",
    )
    return lines + (_table(heads, rows) if rows else [])


def _folds(folds: Sequence[Mapping[str, float]]) -> list[str]:
    members = [name[len("ap_unseen_") :] for name in folds[0] if name.startswith("ap_unseen_")]
    rows = [
        (fold["fold"], f"{fold['rows']:,}", f"{fold['positives']:,}", f"{fold['unseen_positives']:,}",
         *(_number(fold[f"ap_unseen_{name}"]) for name in members), _number(fold["ap_mean"]))
        for fold in folds
    ]  # fmt: skip
    heads = (
        "fold",
        "rows",
        "positives",
        "on unseen jobs",
        *(f"AP unseen: {name}" for name in members),
        "AP all: mean",
    )
    return ["### Rolling folds inside the training time", "", *_table(heads, rows)]


def _features(features: FeatureFigures) -> list[str]:
    drift = features.get("drift", [])
    rows = []
    for place, (gain, contribution) in enumerate(
        zip(features["by_gain"], features["by_contribution"], strict=True)
    ):
        moved = drift[place] if place < len(drift) else None
        rows.append((
            f"`{gain['feature']}` {gain['value']:.1%}", f"`{contribution['feature']}` {contribution['value']:.2f}",
            f"`{moved['feature']}` {moved['value']:.2f}" if moved else NONE,
        ))  # fmt: skip
    lines = ["### Features", ""]
    if drift:
        lines += [
            f"{features['moved']} of {features['features']} features have moved (PSI above 0.25).",
            "",
        ]
    heads = (
        "share of gain",
        "contribution to the riskiest rows (log odds)",
        "drift from training (PSI)",
    )
    return lines + _table(heads, rows)


def _interval(interval: IntervalFigures, sign: bool = False) -> str:
    mark = "+" if sign else ""
    if math.isnan(interval["low"]):
        return _number(interval["value"])
    return f"{interval['value']:{mark}.3f} ({interval['low']:{mark}.3f} to {interval['high']:{mark}.3f})"


def _number(value: float, digits: int = 3) -> str:
    return NONE if math.isnan(value) else f"{value:.{digits}f}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return [*lines, ""]
