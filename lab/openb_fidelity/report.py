"""The report's text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lab.openb_fidelity.compare import FULL, RANKS, Closeness, UtilisationBand, Waits, waits_of
from lab.openb_fidelity.trace_side import TraceWaits

BAR_POINTS = 2.0


@dataclass(frozen=True, slots=True)
class TwinPlay:
    """One play of the twin."""

    events: int
    overlooked: int
    """Pods that waited although a node had room for them."""
    closeness: list[Closeness]
    bands: list[UtilisationBand]
    late_by_gpus: dict[int, int]
    """Pods that waited for more than a second, or were never placed, by the GPUs that they request."""
    waits: Waits
    distance: float
    """Kolmogorov-Smirnov distance of its waits to the trace's."""


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything that the report says."""

    pods: int
    nodes: int
    seed: int
    factor: float
    copies: int
    trace: TraceWaits
    recorded: TwinPlay
    dense: TwinPlay

    def holds(self) -> bool:
        """Whether allocation stays within the bar, and no pod waits while a node has room."""
        near = all(row.largest_difference_points <= BAR_POINTS for row in self.recorded.closeness)
        return near and not self.recorded.overlooked and not self.dense.overlooked


def markdown(findings: Findings, *, plots: bool) -> str:
    """Return the page."""
    recorded, dense = findings.recorded, findings.dense
    within_bar = all(row.largest_difference_points <= BAR_POINTS for row in recorded.closeness)
    parts = [
        _head(findings),
        f"## As recorded: {'within' if within_bar else 'NOT within'} {BAR_POINTS:g} points\n",
        _allocation(recorded.closeness),
        _picture("openb-recorded.svg", "live requests and allocation as recorded") if plots else "",
        f"## {findings.copies} times over, {findings.factor:g} times as close together\n",
        _denser_text(dense),
        _allocation(dense.closeness),
        _bands(dense.bands),
        _picture("openb-dense.svg", "live requests and allocation, denser") if plots else "",
        "## Waits, and pods that were never scheduled\n",
        _waits(findings),
        _picture("openb-waits.svg", "distribution of waits") if plots else "",
        _explanation(findings),
    ]
    return "\n".join(part for part in parts if part)


def _head(findings: Findings) -> str:
    return f"""# openb in the twin, beside the trace

Made by `python -m lab.openb_fidelity --output DIR`; seed {findings.seed}.

All {findings.pods:,} pods of the openb pod list arrive at their creation times, in the trace's order,
on its own {findings.nodes:,} nodes, and leave after the trace's durations. *Live requests* are the
requests of the pods that have arrived and whose duration is not over; *allocated* is what pods
hold on nodes in the twin, by books kept from the API's changes. Both are compared on a grid and
15 s after every arrival. A share of a GPU counts as one GPU on both sides.
"""


def _denser_text(side: TwinPlay) -> str:
    late = sum(side.late_by_gpus.values())
    gangs = ", ".join(f"{count:,} of {gpus}" for gpus, count in side.late_by_gpus.items())
    waiting_text = "no pod waits" if not side.overlooked else f"{side.overlooked:,} pods WAIT"
    return f"""As recorded the cluster is nearly empty, which proves little. Here every pod comes several times, in the
same order, until the GPUs are full. This is no replay of the trace, but a look at what happens when room
gets scarce: {waiting_text} beside a node that could hold it (looked at every 15 s, longer than
the longest back-off). {late:,} pods wait for more than a second or are never placed; GPUs asked for: {gangs or "none"}.
The default scores look at cpu and memory and spread pods, so small GPU pods leave few nodes with all of their
GPUs free: fragmentation, as openb's own paper calls it, and the reason why live and allocated part.
"""


def _allocation(rows: Sequence[Closeness]) -> str:
    lines = [
        f"| resource | highest live requests | largest difference, all under {FULL:.0%} | samples |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {row.resource} | {row.highest_live_points:.2f} % "
        f"| {row.largest_difference_points:.3f} points | {row.samples_below_full:,} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def _bands(rows: Sequence[UtilisationBand]) -> str:
    lines = [
        "| live requests of the fullest resource | largest difference of any | samples |",
        "|---|---|---|",
    ]
    lines += [
        f"| {row.from_percent} to {row.to_percent} % | {row.largest_difference_points:.3f} points "
        f"| {row.samples:,} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def _picture(file: str, what: str) -> str:
    return f"![{what}]({file})\n"


def _waits(findings: Findings) -> str:
    trace = waits_of(findings.trace.waits, findings.pods)
    sides = (
        ("trace", trace, None),
        ("twin, as recorded", findings.recorded.waits, findings.recorded.distance),
        ("twin, denser", findings.dense.waits, findings.dense.distance),
    )
    ranks = " | ".join("longest" if rank == 1 else f"p{100 * rank:g}" for rank in RANKS)
    lines = [
        f"| | scheduled | never | within 1 s | {ranks} | distance to the trace |",
        "|---" * (5 + len(RANKS)) + "|",
    ]
    for name, waits, distance in sides:
        values = " | ".join(f"{value:,.2f} s" for value in waits.quantiles)
        far = "" if distance is None else f"{distance:.3f}"
        lines.append(
            f"| {name} | {waits.scheduled:,} | {waits.never:,} | {waits.within_a_second:.1%} "
            f"| {values} | {far} |"
        )
    note = (
        "Distance: Kolmogorov-Smirnov, between waits of scheduled pods; the trace stamps whole "
        "seconds, so the twin's waits are rounded down to them."
    )
    return "\n".join([*lines, "", note, ""])


def _explanation(findings: Findings) -> str:
    trace = findings.trace
    highest = max(row.highest_live_points for row in findings.recorded.closeness)
    fitting = trace.never - trace.never_too_large
    whole = waits_of(trace.waits, findings.pods)
    return f"""### Why they differ

As recorded the live requests never pass {highest:.1f} % of any resource. The twin models a scheduler and
nothing around it, so it places every pod within its own latency. In the trace {1 - whole.within_a_second:.0%} of the
scheduled pods waited a second or more in the same nearly empty cluster, and {trace.never:,} never got a node
although {fitting:,} of these fit an empty node of the list; half of them were deleted within
{trace.never_median_life_seconds:,.0f} s. {trace.half_minute:.0%} of the waits took 30 to 40 s, a step in the plot with
echoes later, which looks like the interval of something in front of the scheduler, not like a
shortage. These waits have causes that the two tables do not hold. What is known to be missing: quotas
and priorities of teams, sharing of GPUs between pods, other tenants of the same nodes, and the pods
that were held out of the file (a fifth). A twin that reproduced these waits from this data would
have invented their reason. In the denser play the waits are the twin's own: no node has room.
"""
