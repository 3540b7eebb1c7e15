"""The summary of a run as people read it."""

from __future__ import annotations

from typing import Any

from rich.console import Console, Group
from rich.table import Table

from projections.figures import number, signed_score
from schemas.registry import LAYERS


def summary_view(summary: dict[str, Any]) -> Group:
    """Return the summary as a few small tables."""
    return Group(_layers(summary), _counts(summary))


def print_summary(console: Console, summary: dict[str, Any]) -> None:
    """Print the summary."""
    console.print(summary_view(summary))


def _layers(summary: dict[str, Any]) -> Table:
    table = Table(
        title=f"{summary['cycles']} cycles, {summary['events_total']} events",
        title_justify="left",
        box=None,
    )
    table.add_column("layer")
    table.add_column("events", justify="right")
    table.add_column("ms after the observation, wall time: p50 / p99 / max", justify="right")
    latency = {"outcome": "execution"}
    for layer in LAYERS:
        timing = summary["latency_ms"].get(latency.get(layer, layer))
        shown = "" if timing is None else f"{timing['p50']} / {timing['p99']} / {timing['max']}"
        table.add_row(layer, str(summary["events"][layer]), shown)
    for layer, count in summary["events"].items():
        if layer not in LAYERS:
            table.add_row(f"[dim]{layer}[/dim]", str(count), "")
    return table


def _counts(summary: dict[str, Any]) -> Table:
    table = Table(box=None, show_header=False)
    table.add_column(style="bold")
    table.add_column()
    rows = [
        ("decisions", summary["decisions"]),
        ("by rule", summary["rules"]),
        ("closed by", summary["closed_by"]),
        ("missing", summary["missing"]),
        ("proposals", summary["proposals"]),
        ("executions", summary["executions"]),
        ("verified", summary["verifications"]),
        ("reactions", summary["reactions"]),
        ("stimuli", summary["stimuli"]),
    ]
    for name, counts in rows:
        if counts:
            table.add_row(name, "  ".join(f"{key} {count}" for key, count in counts.items()))
    for name in ("score", "acting_changed", "acting", "breakers", "models", "given_back"):
        if summary.get(f"{name}_text"):
            table.add_row(name.replace("_", " "), summary[f"{name}_text"])
    mean = summary["reward_mean"]
    table.add_row(
        "reward.baseline",
        "none scored"
        if mean is None
        else f"mean {signed_score(mean)} over {summary['rewards_scored']}",
    )
    if summary["risk_brier_mean"] is not None:
        table.add_row("risk", f"mean Brier score {number(summary['risk_brier_mean'])}")
    if "bands_text" in summary:
        table.add_row("demand bands", summary["bands_text"])
    if "foresight_text" in summary:
        table.add_row("foresight", summary["foresight_text"])
    return table
