"""One screen that explains one decision: 100 columns and 40 lines for usual ones, readable without
colour.

Every section is a label and lines of text; it is left out when it has nothing to say.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from foresail.explanation.foresight import foresight_sections
from foresail.explanation.inputs import input_sections
from foresail.explanation.learned import learned_sections
from foresail.explanation.outcomes import outcome_sections
from foresail.explanation.proposals import proposal_sections
from foresail.explanation.section import Section
from projections.cycle_record import CycleRecord
from projections.figures import number
from projections.foresight.log import Settled
from projections.times import CLUSTER
from schemas.actions import Action
from schemas.agents import action_label
from schemas.decision import RULES, ClosedBy, Decision

LABEL_COLUMNS = 10
CLOSED = {
    ClosedBy.ALL: "closed by all",
    ClosedBy.DEADLINE: "closed by the deadline",
    ClosedBy.SUPERSEDED: "closed as superseded",
    ClosedBy.RESTART: "closed after a restart",
}


def screen(record: CycleRecord, *, recording: str = "", foresight: Sequence[Settled] = ()) -> Group:
    """Return the screen.

    Args:
        record: what the log holds of the cycle.
        recording: the file it is from, for the commands that the screen names.
        foresight: rises that actions of the decision answer, with what came of them.
    """
    assert record.decision is not None
    table = Table.grid(padding=(0, 1))
    table.add_column(width=LABEL_COLUMNS)
    table.add_column(ratio=1, overflow="fold")
    sections = (
        *proposal_sections(record),
        *learned_sections(record),
        *foresight_sections(record.cycle, foresight),
        *input_sections(record),
        *outcome_sections(record),
        _deeper(record, recording),
    )
    for section in sections:
        for place, line in enumerate(section.lines):
            label = section.label if place == 0 else ""
            table.add_row(Text(label, style=f"bold {section.style}".rstrip()), _hanging(line))
    return Group(*_heading(record.decision.data, record), table)


def _hanging(line: Text) -> RenderableType:
    """Let a line that is wrapped begin as far in as its first row."""
    indent = len(line.plain) - len(line.plain.lstrip())
    return Padding(line[indent:], (0, 0, 0, indent)) if indent else line


def _heading(decision: Decision, record: CycleRecord) -> list[Text]:
    assert record.decision is not None
    time = record.decision.time[:19].replace("T", " ")
    done = "; ".join(action_text(action) for action in decision.actions)
    title = Text(f"cycle {decision.cycle}  {done}", style="bold")
    title.append(f"   all in {CLUSTER}: {time}, seq {record.decision.seq}", style="dim")
    reason = f" [{decision.reason}]" if decision.reason is not None else ""
    repeat = f"; {decision.repeat_count} times in a row" if decision.repeat_count > 1 else ""
    closing = (
        f"rule {decision.rule}: {RULES[decision.rule]}; {CLOSED[decision.closed_by]}; "
        f"profile {decision.profile or 'none'}{repeat}"
    )
    return [title, Text(decision.rationale + reason), Text(closing, style="dim")]


def action_text(action: Action) -> str:
    """Return an action with target and parameters, e.g. `AgentB:dvfs node-7 (clock_scale 0.65)`."""
    numbers = ", ".join(
        f"{name.removesuffix('_ratio')} {number(value)}"
        for name, value in action.parameters.items()
        if isinstance(value, float)
    )
    named = f"{action_label(action)} {action.aim}".rstrip()
    return f"{named} ({numbers})" if numbers else named


def _deeper(record: CycleRecord, recording: str) -> Section:
    by_layer: dict[str, list[int]] = {}
    for event in record.events:
        by_layer.setdefault(event.type.split(".")[1], []).append(event.seq)
    seqs = "; ".join(f"{name} {_ranges(found)}" for name, found in by_layer.items())
    where = f" --recording {recording}" if recording else ""
    command = f"foresail tap --cycle {record.cycle} --json{where}"
    lines = [
        Text(seqs),
        Text(f"all of it: {command}", style="dim"),
    ]
    if record.unreadable:
        text = f"this version cannot read {_ranges(record.unreadable)}"
        lines.insert(1, Text(text, style="red"))
    return Section("SEQS", lines, "dim")


def _ranges(seqs: Sequence[int]) -> str:
    """Write positions, those one after the other as `8-10`."""
    runs: list[list[int]] = []
    for seq in seqs:
        if runs and seq == runs[-1][-1] + 1:
            runs[-1].append(seq)
        else:
            runs.append([seq])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
