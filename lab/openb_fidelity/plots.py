"""Plots of the report, as SVG with the same bytes for the same figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bus.errors import InputError
from lab.openb_fidelity.play import RESOURCES, CapacitySample

SECONDS_PER_DAY = 86_400.0
MOST_POINTS = 1_200
"""Drawn of each curve; more would only make the file larger."""
LIVE, ALLOCATED = "#888888", "#1f6feb"


def load_plotting() -> Any:
    """Return matplotlib.pyplot, set up for files; raises InputError when it is not installed."""
    try:
        import matplotlib as mpl  # noqa: PLC0415 - a development dependency, loaded for plots only
    except ImportError as error:
        raise InputError(
            "matplotlib", "not installed", "install the dev extra (`make dev`), or give --no-plots"
        ) from error
    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "foresail"
    mpl.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot as plt  # noqa: PLC0415 - after the backend is chosen

    return plt


def plot_shares(samples: Sequence[CapacitySample], title: str, path: Path) -> None:
    """Live requests and allocation by resource over time."""
    plt = load_plotting()
    samples = samples[:: -(-len(samples) // MOST_POINTS)]
    figure, axes = plt.subplots(len(RESOURCES), 1, sharex=True, figsize=(8, 7))
    days = [sample.seconds / SECONDS_PER_DAY for sample in samples]
    for index, (axis, resource) in enumerate(zip(axes, RESOURCES, strict=True)):
        live = [100 * sample.live[index] for sample in samples]
        allocated = [100 * sample.allocated[index] for sample in samples]
        axis.step(days, live, where="post", color=LIVE, linewidth=2.5, label="live requests")
        axis.step(days, allocated, where="post", color=ALLOCATED, linewidth=1, label="allocated")
        axis.set_ylabel(f"{resource}, % of capacity")
        axis.set_ylim(bottom=0)
    axes[0].set_title(title)
    axes[0].legend(loc="upper left")
    axes[-1].set_xlabel("days since the trace began")
    _save(plt, figure, path)


def plot_waits(trace: Sequence[float], twin: Sequence[float], title: str, path: Path) -> None:
    """Distribution functions of both waits; seconds, logarithmic, 0 shown at 0.1 s."""
    plt = load_plotting()
    figure, axis = plt.subplots(figsize=(8, 4))
    for label, waits, colour in (("trace", trace, LIVE), ("twin", twin, ALLOCATED)):
        ordered = sorted(max(value, 0.1) for value in waits)
        ranks = [(index + 1) / len(ordered) for index in range(len(ordered))]
        axis.step(ordered, ranks, where="post", color=colour, label=label)
    axis.set_xscale("log")
    axis.set_ylim(0, 1.02)
    axis.set_xlabel("wait from creation to binding, s")
    axis.set_ylabel("share of scheduled pods")
    axis.set_title(title)
    axis.legend(loc="lower right")
    _save(plt, figure, path)


def _save(plt: Any, figure: Any, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
