"""`foresail report --since 7d`: what a week in shadow, or of acting, tells: what was or would have been done, what it
touched, what was refused and why, how often the risk was right, day by day.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bus.errors import InputError
from bus.events import read_events
from bus.exit_codes import ExitCode
from bus.port import Messages
from bus.recording import open_recording
from foresail.flags import seconds
from foresail.foresight_report import read_foresight
from foresail.html_page import write_page
from foresail.log_source import RecordingSource, Since, Source, add_source, open_source
from foresail.log_source import reading_verdict as verdict_of
from foresail.output import console, page, print_json
from foresail.progress import reading_source
from foresail.remote import remote_of
from foresail.report_tables import ReportTable, tables_of, template_patches
from foresail.spans import NANOSECONDS
from foresail.stack.preflight import check_writable
from foresail.verbs import Verb
from projections.activity import MICRO, READS, ActionRow, Activity
from projections.figures import duration
from projections.foresight.totals import totals_of, totals_sentence
from projections.switchback.text import SWITCHBACK_HINT
from projections.times import cluster_time
from schemas.wording import count_text

VERB = Verb(67, "sum up days of a log: what was done or would have been, what was refused and why")
EXAMPLES = (
    ("report --since 7d", "the last week of the running stack"),
    ("report --recording recordings --markdown week.md", "every recording of a folder, as a file"),
)

EXIT_CODES = {ExitCode.NOTHING_COMPARED: "the log holds no decision in that time"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    add_source(parser)
    parser.add_argument(
        "--since",
        type=seconds,
        metavar="DURATION",
        help="how much recorded time before the newest event, such as 7d (default: all)",
    )
    parser.add_argument("--markdown", metavar="FILE", help="write it to this new file as well")


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Read the log, or every recording of a folder, once and print the report.

    Raises:
        InputError: there is no log, the recordings are of several clusters, or the file exists.
    """
    if arguments.markdown is not None:
        check_writable("--markdown", Path(arguments.markdown))
    activity, code = Activity(), ExitCode.GOOD
    async with AsyncExitStack() as stack:
        sources = await _sources(arguments, stack)
        last_seqs: Counter[str] = Counter()
        begun, from_ns = await _beginnings(sources, arguments.since)
        for log, source, start_seq in begun:
            async with reading_source(source, "reading the log"):
                first = max(start_seq, last_seqs[log] + 1)
                messages = _stored_since(source.messages(READS, start_seq=first), from_ns)
                async for entry in read_events(messages):
                    last_seqs[log] = max(last_seqs[log], entry.seq)
                    if entry.event is not None:
                        activity.add(entry.event)
            found = verdict_of(source, partial=arguments.partial)
            code = found if code is ExitCode.GOOD else code
        foresight = await read_foresight(begun, from_ns)
    if not any(day.cycles for day in activity.days.values()):
        code = ExitCode.NOTHING_COMPARED if code is ExitCode.GOOD else code
    activity.foresight = totals_of(foresight)
    tables = tuple(tables_of(activity, foresight))
    if arguments.markdown is not None:
        write_page(Path(arguments.markdown), as_markdown(activity, tables), "--markdown")
    if arguments.json:
        print_json(as_json(activity))
    else:
        page().print(view(activity, tables))
        if arguments.markdown is not None:
            console().print(arguments.markdown, markup=False)
    return code


async def _sources(
    arguments: argparse.Namespace, stack: AsyncExitStack
) -> list[tuple[str, Source]]:
    """Return what to read, each with the log that it is a part of; parts of one log in their order."""
    folder = None if arguments.recording is None else Path(arguments.recording)
    if folder is None or not folder.is_dir():
        opened = open_source(arguments.recording, Path(arguments.state), remote_of(arguments))
        return [("", await stack.enter_async_context(opened))]
    files = list(folder.glob("*.fslog"))
    if not files:
        raise InputError(
            "--recording", str(folder), "it holds no *.fslog; give a folder of recordings"
        )
    sources: list[tuple[str, Source]] = [
        (log, RecordingSource(file)) for log, _, file in sorted(map(_part_of, files))
    ]
    clusters = sorted({source.cluster for _, source in sources})
    if len(clusters) > 1:
        why = f"recordings of several clusters ({', '.join(clusters)}); give a folder for each"
        raise InputError("--recording", str(folder), why)
    return sources


def _part_of(file: Path) -> tuple[str, int, Path]:
    """Return the log that a recording is a part of, and where in it the part begins: each start of a stack has a log of
    its own, whose positions begin anew.
    """
    header = open_recording(file).header
    cut = header.get("cut")
    first_seq = cut.get("first_seq") if isinstance(cut, Mapping) else None
    return str(header.get("incarnation", "")), first_seq if isinstance(first_seq, int) else 1, file


async def _beginnings(
    sources: list[tuple[str, Source]], since_seconds: float | None
) -> tuple[list[tuple[str, Source, int]], int]:
    """Return what to read from which position, and the recorded time (ns) before which nothing of it counts."""
    begun = [(log, source, 1) for log, source in sources]
    if since_seconds is None:
        return begun, 0
    if len(sources) == 1:
        ((log, source),) = sources
        return [(log, source, await source.start_of(Since(seconds=since_seconds)))], 0
    ends = []
    for _, source in sources:
        async with reading_source(source, "looking for the newest event"):
            ends.append(await _end_ns(source))
    return begun, max(ends) - round(since_seconds * NANOSECONDS)


async def _end_ns(source: Source) -> int:
    """Return the recorded time of the newest message; 0 where there is none."""
    end_ns = 0
    async for message in source.messages():
        end_ns = max(end_ns, message.time_ns)
    return end_ns


async def _stored_since(messages: Messages, from_ns: int) -> Messages:
    async with aclosing(messages):
        async for message in messages:
            if message.time_ns >= from_ns:
                yield message


def sentence_of(activity: Activity) -> str:
    """Return what happened, for somebody who reads no table."""
    days = activity.days.values()
    if (
        activity.first_time is None
        or activity.last_time is None
        or not any(day.cycles for day in days)
    ):
        return "Foresail decided nothing in that time."
    wanted, done, refused = (
        sum(getattr(day, name) for day in days) for name in ("wanted", "carried_out", "refused")
    )
    span = duration(activity.last_time - activity.first_time)
    looked = f"In {span} Foresail looked at the cluster {sum(day.cycles for day in days):,} times"
    if not wanted:
        return f"{looked} and found nothing worth doing."
    shadow = set(activity.modes) == {"shadow"}
    became = f"{done:,} would have been" if shadow else f"{done:,} {'was' if done == 1 else 'were'}"
    held = f", its own guards refused {refused:,}" if refused else ""
    stopped = (
        f"; it stopped itself {count_text(activity.trips.total(), 'time')}"
        if activity.trips
        else ""
    )
    next_step = f" {SWITCHBACK_HINT}" if shadow else ""
    value = activity.ahead_micro / MICRO if activity.ahead_valued else None
    foresight = activity.foresight
    foreseen = "" if foresight is None else f" {totals_sentence(foresight, value)}"
    return (
        f"{looked} and wanted {count_text(wanted, 'change')}: {became} carried out{held}{stopped}."
        f"{foreseen}{next_step}"
    )


def head_of(activity: Activity) -> str:
    """Return the sentence above the tables."""
    if activity.first_time is None or activity.last_time is None:
        return "Nothing was decided in that time."
    decided = sum(day.cycles for day in activity.days.values())
    wanted = sum(day.wanted for day in activity.days.values())
    modes = " and ".join(sorted(activity.modes)) or "nothing was carried out"
    return (
        f"{cluster_time(activity.first_time)} to {cluster_time(activity.last_time)}: "
        f"{count_text(decided, 'decision')} with {count_text(wanted, 'action')} ({modes})."
    )


def view(activity: Activity, tables: tuple[ReportTable, ...]) -> RenderableType:
    """Return the report as people see it."""
    parts: list[RenderableType] = [
        Text(sentence_of(activity), style="bold"),
        Text(head_of(activity)),
    ]
    for table in tables:
        parts += [Text(""), Text(table.title, style="bold")]
        if table.note:
            parts.append(Text(table.note, style="dim"))
        if table.rows:
            drawn = Table(box=None, padding=(0, 2, 0, 0))
            texts = _text_columns(table)
            for place, column in enumerate(table.columns):
                drawn.add_column(column, justify="left" if place in texts else "right")
            for row in table.rows:
                drawn.add_row(*(Text(value) for value in row))
            parts.append(drawn)
    return Group(*parts)


def as_markdown(activity: Activity, tables: tuple[ReportTable, ...]) -> str:
    """Return the report as Markdown."""
    lines = ["# Foresail report", "", sentence_of(activity), "", head_of(activity)]
    for table in tables:
        lines += ["", f"## {table.title}"]
        if table.note:
            lines += ["", table.note]
        if table.rows:
            texts = _text_columns(table)
            marks = ("---" if place in texts else "---:" for place in range(len(table.columns)))
            lines += ["", _markdown_row(table.columns), _markdown_row(marks)]
            lines += [_markdown_row(row) for row in table.rows]
    return "\n".join(lines) + "\n"


def _markdown_row(cells: Any) -> str:
    return "| " + " | ".join(str(value).replace("|", "\\|") for value in cells) + " |"


def _text_columns(table: ReportTable) -> frozenset[int]:
    """Return the places of columns that hold words."""
    words = {"most often", "actions", "newest", "command"} if table.title != "Day by day" else set()
    return frozenset({0} | {i for i, column in enumerate(table.columns) if column in words})


def as_json(activity: Activity) -> dict[str, Any]:
    """Return every figure as JSON values; objects are all named."""
    return {
        "from_seconds": activity.first_time,
        "to_seconds": activity.last_time,
        "currency": activity.currency,
        "modes": dict(sorted(activity.modes.items())),
        "actions": {label: _action_json(row) for label, row in sorted(activity.actions.items())},
        "touched": {name: dict(sorted(one.items())) for name, one in activity.touched.items()},
        "refusals": {
            reason: {"actions": dict(sorted(labels.items())), "newest": activity.examples[reason]}
            for reason, labels in sorted(activity.refusals.items())
        },
        "risks": {
            name: {**asdict(row), "brier": row.brier, "skill": row.skill}
            for name, row in sorted(activity.risks.items())
        },
        "days": {name: asdict(day) for name, day in sorted(activity.days.items())},
        "template_patches": template_patches(activity),
        "breaker_trips": dict(sorted(activity.trips.items())),
        "foresight": None
        if activity.foresight is None
        else activity.foresight.as_json()
        | {"value": activity.ahead_micro / MICRO if activity.ahead_valued else None},
    }


def _action_json(row: ActionRow) -> dict[str, Any]:
    expected = row.expected_micro / MICRO if row.expecting else None
    return {**asdict(row), "expected_money": expected}
