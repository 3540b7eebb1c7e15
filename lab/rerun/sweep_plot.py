"""A sweep as a picture: two figures against each other, the Pareto front joined; the same bytes each
time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "foresail"
import matplotlib.pyplot as plt  # noqa: E402  (the backend is chosen first)

Row = Mapping[str, Any]


def write_svg(
    path: Path, rows: Sequence[Row], front: Sequence[Row], across: str, up: str, title: str
) -> None:
    """Write the plot; a half-written one never stands under its name."""
    figure, axes = plt.subplots(figsize=(7, 4.5))
    baseline = rows[0]["baseline"]
    axes.scatter([row[across] for row in rows], [row[up] for row in rows], s=22, label="points")
    line = sorted((point[across], point[up]) for point in front)
    axes.plot([x for x, _ in line], [y for _, y in line], "o-", color="C3", label="Pareto front")
    axes.scatter([baseline[across]], [baseline[up]], marker="*", s=140, color="k", label="recorded")
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.set_title(title)
    axes.legend()
    figure.tight_layout()
    partial = path.with_name(f"{path.name}.partial")
    figure.savefig(partial, format="svg", metadata={"Date": None})
    plt.close(figure)
    partial.replace(path)
