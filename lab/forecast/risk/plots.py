"""Plots of a report, as SVG with the same bytes for the same figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

from lab.forecast.risk.report_types import (
    FeatureFigures,
    HorizonReport,
    ReportedSplit,
    RollingPart,
)
from lab.forecast.risk.scoring import MODEL
from lab.forecast.risk.splits import UNSEEN

MODEL_COLOUR, OTHER_COLOUR, LINE_COLOUR = "#1f6feb", "#888888", "#333333"
LEAST_PROBABILITY = 1e-5


def write_plots(folder: Path, horizon_minutes: int, figures: HorizonReport) -> list[str]:
    """Write a horizon's plots into `folder`; return their file names."""
    folder.mkdir(parents=True, exist_ok=True)
    mpl.use("svg")
    split = UNSEEN if UNSEEN in figures["splits"] else next(iter(figures["splits"]))
    shown = figures["splits"][split]
    plots = {
        "reliability": _reliability(shown, split),
        "average-precision": _average_precision(shown, split),
        "importance": _importance(figures["features"]),
    }
    if figures["rolling"]["parts"]:
        plots["rolling"] = _rolling(figures["rolling"]["parts"])
    names = []
    for name, figure in plots.items():
        file = f"{horizon_minutes}m-{name}.svg"
        with mpl.rc_context({"svg.hashsalt": "foresail", "svg.fonttype": "none"}):
            figure.tight_layout()
            figure.savefig(folder / file, metadata={"Date": None})
        names.append(file)
    return names


def _figure(width: float, height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load, wanted for plots only

    figure = Figure(figsize=(width, height))
    return figure, figure.subplots()


def _reliability(figures: ReportedSplit, split: str) -> Any:
    figure, axis = _figure(6, 5)
    for name, colour in (
        ("raw", OTHER_COLOUR),
        ("calibrated", MODEL_COLOUR),
        ("rolling", "#d29922"),
    ):
        bins = [row for row in figures["calibration"][name]["bins"] if row["rows"]]
        x = [max(row["expected"] / row["rows"], LEAST_PROBABILITY) for row in bins]
        y = [max(row["observed"] / row["rows"], LEAST_PROBABILITY) for row in bins]
        axis.plot(x, y, marker="o", color=colour, label=name)
    axis.plot([LEAST_PROBABILITY, 1], [LEAST_PROBABILITY, 1], color=LINE_COLOUR, linewidth=0.8)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("mean predicted probability of the bin")
    axis.set_ylabel("share that failed")
    axis.set_title(f"Reliability, split {split}")
    axis.legend(loc="upper left")
    return figure


def _average_precision(figures: ReportedSplit, split: str) -> Any:
    figure, axis = _figure(7, 3.2)
    models = sorted(figures["models"].items(), key=lambda pair: pair[1]["ap"]["value"])
    for place, (name, model_figures) in enumerate(models):
        ap = model_figures["ap"]
        colour = MODEL_COLOUR if name == MODEL else OTHER_COLOUR
        axis.barh(place, ap["value"], color=colour)
        axis.plot([ap["low"], ap["high"]], [place, place], color=LINE_COLOUR)
    axis.set_yticks(range(len(models)), [name for name, _ in models])
    axis.set_xlabel("average precision, 95 % over jobs")
    axis.set_title(f"Split {split}, prevalence {figures['prevalence']:.2%}")
    return figure


def _importance(features: FeatureFigures) -> Any:
    figure, axis = _figure(7, 5)
    listed = list(reversed(features["by_contribution"]))
    axis.barh(range(len(listed)), [row["value"] for row in listed], color=MODEL_COLOUR)
    axis.set_yticks(range(len(listed)), [row["feature"] for row in listed], fontsize=7)
    axis.set_xlabel("mean absolute contribution to the riskiest rows, log odds")
    return figure


def _rolling(parts: list[RollingPart]) -> Any:
    figure, axis = _figure(7, 3.2)
    hours = [part["start_seconds"] / 3600.0 for part in parts]
    raw = [part["raw_expected_observed"] for part in parts]
    again = [part["expected_observed"] for part in parts]
    for ratios, colour, label in (
        (raw, OTHER_COLOUR, "raw"),
        (again, MODEL_COLOUR, "after rolling recalibration"),
    ):
        axis.plot(hours, ratios, marker="o", color=colour, label=label)
    axis.axhline(1.0, color=LINE_COLOUR, linewidth=0.8)
    axis.set_xlabel("start of the window, hours of the trace")
    axis.set_ylabel("expected / observed")
    axis.legend(loc="upper right")
    return figure
