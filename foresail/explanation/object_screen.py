"""One screen on one object of the cluster: the answer, the facts behind it, and what happened to it."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from projections.objects.answer import ObjectAnswer
from projections.times import clock, cluster_clock
from schemas.wording import count_text

MOST_ENTRIES = 24
STYLES = {"foresail": "green", "kubernetes": "", "snapshot": "dim"}


def object_screen(answer: ObjectAnswer, *, recording: str = "") -> Group:
    """Return the screen; `recording` is the file the answer is from, for the commands it names."""
    title = Text(f"{answer.kind} {answer.name}: {answer.question}", style="bold")
    title.append(
        f"   as of {cluster_clock(answer.last_seconds)}, as are all times here", style="dim"
    )
    parts: list[RenderableType] = [title, Text(answer.answer)]
    parts += [Text(f"  {fact}") for fact in answer.facts]
    if answer.entries:
        parts += [Text(), _entries(answer)]
    where = f" --recording {recording}" if recording else ""
    for cycle in answer.decisions[-3:]:
        parts.append(Text(f"why: foresail explain {cycle}{where}", style="dim"))
    if answer.unreadable:
        text = f"{count_text(answer.unreadable, 'message')} cannot be read by this version and had to be left out"
        parts.append(Text(text, style="red"))
    return Group(*parts)


def _entries(answer: ObjectAnswer) -> Table:
    table = Table.grid(padding=(0, 1))
    for width in (8, 10, 9):
        table.add_column(width=width, no_wrap=True)
    table.add_column(ratio=1, overflow="fold")
    left_out = len(answer.entries) - MOST_ENTRIES
    if left_out > 0:
        table.add_row("", "", "", Text(f"{left_out} earlier entries: see --json", style="dim"))
    for entry in answer.entries[-MOST_ENTRIES:]:
        style = STYLES[entry.who]
        table.add_row(
            Text(clock(entry.time_seconds), style="dim"),
            Text(entry.who, style=style),
            Text(f"cycle {entry.cycle}" if entry.cycle else "", style="dim"),
            Text(entry.text, style=style),
        )
    return table
