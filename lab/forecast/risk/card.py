"""The model card: what a risk model is for, what it learnt from, and what it must not be used for."""

from __future__ import annotations

from lab.forecast.model_writer import ModelParts
from lab.forecast.risk.options import Options


def card(parts: ModelParts, chosen: str, options: Options) -> str:
    """Return the card as Markdown."""
    data = parts.data
    thresholds, folds = _tables(parts)
    warning = (
        [
            "**ILLUSION.** Trained on rows drawn at random, to show what that pretends. Do not use.",
            "",
        ]
        if options.illusion
        else []
    )
    lines = [
        f"# {parts.name}",
        "",
        *warning,
        (
            "Probability that an attempt fails within the horizon, from the history of its job, user, "
            "program and machine. A node's risk is 1 - prod(1 - p) over what runs on it."
        ),
        "",
        (
            f"- Data: `{data.dataset}` ({data.trace}), {data.rows:,} rows, {data.positives:,} positives "
            f"(prevalence {data.prevalence:.3%})."
        ),
        f"- Label: {data.label}.",
        (
            f"- Training rows: {data.split}. {options.rounds} rounds for each member; at most "
            f"{options.fit_negatives:,} negatives, weighted so that probabilities keep the true rate."
        ),
        f"- Model: {chosen}.",
        f"- Features: set `{parts.feature_set}` version {parts.feature_set_version}, {len(parts.features)} columns.",
        "",
        "Rolling folds inside the training time, predicted by models that had not seen them:",
        "",
        "| horizon | positives of rows | AP | AP on unseen jobs | Brier skill, not calibrated |",
        "|---|---|---|---|---|",
        *folds,
        "",
        "Thresholds by action budget, from the last fold:",
        "",
        "| threshold | budget | value |",
        "|---|---|---|",
        *thresholds,
        "",
        (
            "Limits: first failures of a job are hardly predictable; gains come after a first failure, or when "
            "another run of the same program or user has just failed. Calibration drifts from hour to hour and "
            "wants rolling recalibration. Figures on jobs that were already seen say little. `foresail forecast "
            "evaluate` prints all of this with intervals."
        ),
        "",
    ]
    return "\n".join(lines)


def _tables(parts: ModelParts) -> tuple[list[str], list[str]]:
    """Rows of the thresholds and of the folds."""
    of_what = parts.metrics["thresholds_of"]
    thresholds = [
        f"| `{name}` | {parts.budgets[name]:.1%} of {of_what} a cycle | {value:.6f} |"
        for name, value in parts.thresholds["safety"].items()
    ]
    folds = [
        f"| {minutes} min | {fold['positives']:,} of {fold['rows']:,} | {_number(fold['average_precision'])} "
        f"| {_number(fold['average_precision_unseen_jobs'])} | {_number(fold['brier_skill'])} |"
        for minutes, fold in parts.metrics["folds"].items()
    ]
    return thresholds, folds


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
