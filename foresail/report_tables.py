"""The tables of `foresail report`: what was done, what it touched, what was refused, and what was foreseen."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from foresail.foresight_report import COLUMNS as FORESIGHT_COLUMNS
from foresail.foresight_report import foresight_cells
from projections.activity import MICRO, ActionRow, Activity, RiskRow
from projections.figures import known_number, percent, signed_text
from projections.foresight.log import Settled
from schemas.capacity_score import capacity_score_text


class ReportTable(NamedTuple):
    """A part of the report."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    """What to know of it, or what stands there without rows."""


OWNED = ("Deployment", "StatefulSet")
"""Kinds whose template may be changed, and whose pods are replaced one after another then."""
MOST_PATCHES = 20
CAPACITY_COLUMNS = ("below", "held_below", "above", "broke_above")


def tables_of(
    activity: Activity, foresight: Sequence[tuple[Settled, float]] = ()
) -> Iterator[ReportTable]:
    """Yield the parts of the report, the most telling first."""
    currency = activity.currency or "money"
    rows = tuple(_action_cells(label, row) for label, row in _by_decided(activity))
    columns = ("action", "decided", "carried out", "failed", "refused", "verified", "worse")
    note = "Of shadow mode `carried out` means that the API server accepted the dry run."
    none = "Nothing was decided but to wait."
    yield ReportTable(
        "What was done or would have been",
        (*columns, f"expected, {currency}"),
        rows,
        note if rows else none,
    )
    yield ReportTable(
        "What it touched or would have",
        ("resource", "objects", "writes", "most often"),
        tuple(_touched_cells(activity)),
        "" if activity.touched else "No object.",
    )
    yield ReportTable(
        "What was refused, and why",
        ("reason", "times", "actions", "newest"),
        tuple(_refusal_cells(activity)),
        "" if activity.refusals else "Nothing.",
    )
    if patches := template_patches(activity):
        note = (
            "Running pods have them, new ones begin with the template's. It is its owner's to change, and that "
            "replaces the pods."
        )
        if len(patches) > MOST_PATCHES:
            note += f" {len(patches) - MOST_PATCHES} more with --json."
        rows = tuple(patches.items())[:MOST_PATCHES]
        yield ReportTable("Requests for templates", ("workload", "command"), rows, note)
    yield from _foresight_tables(activity, foresight, currency)
    yield ReportTable(
        "Day by day",
        ("day, UTC", "decisions", "actions", "done", "refused", "sources lost", f"{currency}/h"),
        tuple(
            (
                name,
                *(f"{count:,}" for count in (day.cycles, day.wanted, day.carried_out)),
                *(f"{count:,}" for count in (day.refused, day.sources_lost)),
                known_number(day.score_mean),
            )
            for name, day in sorted(activity.days.items())
        ),
    )
    if activity.trips:
        rows = tuple((unit, str(count)) for unit, count in sorted(activity.trips.items()))
        yield ReportTable("Breakers that tripped", ("what", "times"), rows)


def template_patches(activity: Activity) -> dict[str, str]:
    """Return by workload the command by which its owner takes the newest fitted requests into the template."""
    commands = {}
    for workload, containers in sorted(activity.fitted.items()):
        namespace, kind, name = workload.split("/", 2)
        if kind not in OWNED:
            continue
        amounts = [
            {"name": container, "resources": {"requests": dict(sorted(requests.items()))}}
            for container, requests in sorted(containers.items())
        ]
        patch = json.dumps({"spec": {"template": {"spec": {"containers": amounts}}}})
        words = ("kubectl", "-n", namespace, "patch", kind.lower(), name, "-p", patch)
        commands[workload] = shlex.join(words)
    return commands


def _foresight_tables(
    activity: Activity, foresight: Sequence[tuple[Settled, float]], currency: str
) -> Iterator[ReportTable]:
    """Yield how well was foreseen."""
    if rows := tuple(foresight_cells(foresight)):
        note = (
            f"Cluster time. Failed requests, here and in the world without us, and worth in {currency} count "
            "until the rise was due."
        )
        yield ReportTable("Rises that were foreseen", FORESIGHT_COLUMNS, rows, note)
    yield ReportTable(
        "How often the risk was right",
        ("model", "targets", "failed", "Brier", "skill", "alarms", "right", "missed"),
        tuple(_risk_cells(name, row) for name, row in sorted(activity.risks.items())),
        "Skill is above 0 where the model beats the best constant."
        if activity.risks
        else "No horizon has passed yet.",
    )
    if activity.capacity is not None:
        yield ReportTable(
            "How often it was right what replicas bear",
            ("minutes below", "objective held", "minutes above", "objective broke"),
            (tuple(str(getattr(activity.capacity, name)) for name in CAPACITY_COLUMNS),),
            capacity_score_text(activity.capacity),
        )


def _by_decided(activity: Activity) -> list[tuple[str, ActionRow]]:
    return sorted(activity.actions.items(), key=lambda item: (-item[1].decided, item[0]))


def _action_cells(label: str, row: ActionRow) -> tuple[str, ...]:
    counts = (row.decided, row.carried_out, row.failed, row.refused, row.verified, row.worse)
    expected = signed_text(row.expected_micro / MICRO) if row.expecting else "-"
    return (label, *(f"{count:,}" for count in counts), expected)


def _touched_cells(activity: Activity) -> Iterator[tuple[str, ...]]:
    for resource, objects in sorted(activity.touched.items()):
        often = sorted(objects.items(), key=lambda item: (-item[1], item[0]))[:3]
        named = ", ".join(f"{name} ({count})" for name, count in often)
        yield resource, f"{len(objects):,}", f"{objects.total():,}", named


def _refusal_cells(activity: Activity) -> Iterator[tuple[str, ...]]:
    by_times = sorted(activity.refusals.items(), key=lambda item: (-item[1].total(), item[0]))
    for reason, labels in by_times:
        named = ", ".join(f"{label} ({count})" for label, count in sorted(labels.items()))
        yield reason, f"{labels.total():,}", named, activity.examples[reason]


def _risk_cells(name: str, row: RiskRow) -> tuple[str, ...]:
    alarms = row.hits + row.false_alarms
    alarm_cells = ("-", "-", "-")
    if row.alarms_known:
        right = percent(row.hits / alarms) if alarms else "-"
        alarm_cells = (f"{alarms:,}", right, f"{row.misses:,}")
    skill = "-" if row.skill is None else signed_text(row.skill)
    return name, f"{row.targets:,}", f"{row.failed:,}", known_number(row.brier), skill, *alarm_cells
