"""The live terminal view: the cluster, the newest decision with its losers, rewards and the pulse
of every layer.

On a terminal it is redrawn in place; elsewhere each decision is one line, so that logs stay
readable.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from schemas.actions import LETTERS
from schemas.decision import Decision
from schemas.envelope import Event
from schemas.observation import Observation
from schemas.operating import OperatingState, operating_after
from schemas.outage import Outage, outage_of
from schemas.outcome import ExecutionPhase, OutcomeExecution, OutcomeReward
from schemas.registry import LAYERS
from schemas.signals import SignalStatus
from schemas.snapshot import SnapshotNodes
from schemas.subjects import parse

COLOURS = {"A": "red", "B": "green", "C": "yellow", "Referee": "cyan"}


@dataclass
class LiveState:
    """The newest of everything, for the view."""

    observation: Observation | None = None
    decision: Decision | None = None
    execution: OutcomeExecution | None = None
    reward: OutcomeReward | None = None
    outage: Outage | None = None
    """The cluster cannot be read now."""
    operating: OperatingState = field(default_factory=OperatingState)
    counts: dict[str, int] = field(default_factory=dict)
    newest_ns: dict[str, int] = field(default_factory=dict)
    notes: deque[str] = field(default_factory=lambda: deque(maxlen=4))

    def add(self, event: Event[Any]) -> None:
        """Take one stored event into account."""
        layer = parse(event.subject).layer
        self.counts[layer] = self.counts.get(layer, 0) + 1
        self.newest_ns[layer] = event.recorded_ns
        self.operating = operating_after(self.operating, event.data)
        match event.data:
            case SnapshotNodes() as snapshot:
                self.outage = outage_of(snapshot)
            case Observation() as observation:
                self.observation = observation
            case Decision() as decision:
                self.decision = decision
            case OutcomeExecution() as execution:
                self.execution = execution
            case OutcomeReward() as reward:
                self.reward = reward


def decision_line(decision: Decision, execution: OutcomeExecution | None = None) -> str:
    """Return one decision as one line: cycle, rationale, losers, what became of it."""
    losers = ", ".join(
        f"{LETTERS[one.agent]} {one.kind}"
        for one in decision.considered
        if one.id != decision.selected
    )
    missing = (
        f"; missing {', '.join(LETTERS[agent] for agent in decision.missing)}"
        if decision.missing
        else ""
    )
    over = f"; over {losers}" if losers else ""
    what = "" if execution is None else f"; {execution_text(execution)}"
    return f"cycle {decision.cycle:>4}  {decision.rationale}{over}{missing}{what}"


def execution_text(execution: OutcomeExecution) -> str:
    """Return what became of a decision in a few words."""
    match execution.phase:
        case ExecutionPhase.REFUSED:
            return f"not executed ({execution.reason})"
        case ExecutionPhase.STARTED:
            return f"executing {len(execution.operations)} operations"
        case _:
            done = "done" if execution.succeeded else "failed"
            return f"{done} ({execution.mode}, {len(execution.operations)} operations)"


def view(state: LiveState, now_ns: int, header: str, processes: dict[str, int]) -> Group:
    """Return the whole view; `now_ns` is wall time, nanoseconds since the Unix epoch."""
    return Group(
        Text(header, style="bold"),
        _operating(state.operating),
        _pulse(state, now_ns, processes),
        _cluster(state),
        _decision(state),
        Text("\n".join(state.notes), style="dim"),
    )


def _operating(operating: OperatingState) -> Text:
    """Return the mode in force, and the hold where there is one."""
    text = Text(f"mode {operating.mode or 'not announced yet'}")
    if operating.mode == "shadow":
        text.append(": every write is a dry run")
    if operating.hold:
        text.append(f"   {operating.hold_text()}", style="bold red")
    return text


def _pulse(state: LiveState, now_ns: int, processes: dict[str, int]) -> Table:
    table = Table.grid(padding=(0, 2))
    cells = []
    for layer in LAYERS:
        newest = state.newest_ns.get(layer)
        age = "waiting" if newest is None else f"{max(0.0, (now_ns - newest) / 1e9):.1f} s ago"
        cells.append(f"[bold]{layer}[/bold] {state.counts.get(layer, 0)}\n[dim]{age}[/dim]")
    table.add_row(*cells)
    down = [name for name, pid in processes.items() if pid == 0]
    if down:
        table.add_row(f"[red]down: {', '.join(down)}[/red]")
    return table


def _cluster(state: LiveState) -> Panel:
    observation = state.observation
    if state.outage is not None:
        return Panel(
            Text(state.outage.text(), style="bold red"), title="cluster", title_align="left"
        )
    if observation is None:
        return Panel("waiting for the first observation", title="cluster", title_align="left")
    totals = observation.totals
    trouble = [
        f"{signal.name} {signal.status}"
        for signal in observation.signals
        if signal.status in _TROUBLE
    ]
    text = (
        f"{totals.nodes_ready}/{totals.nodes} nodes ready, {totals.pods_running} pods running, "
        f"queue {totals.queue_length}, SLA violations {totals.sla_violations}, done {totals.completed_tasks}\n"
        f"requested cpu {totals.cpu_requested_ratio:.0%} memory {totals.memory_requested_ratio:.0%}, "
        f"{totals.energy_watts / 1000:.1f} kW (estimated)"
    )
    if trouble:
        text += f"\n[yellow]{', '.join(trouble)}[/yellow]"
    return Panel(text, title=f"cluster, cycle {observation.cycle}", title_align="left")


_TROUBLE = (SignalStatus.STALE, SignalStatus.MISSING)


def _decision(state: LiveState) -> Panel:
    decision = state.decision
    if decision is None:
        return Panel("waiting for the first decision", title="decision", title_align="left")
    table = Table.grid(padding=(0, 2))
    for one in decision.considered:
        letter = LETTERS[one.agent]
        won = one.id == decision.selected
        lost = decision.overridden.get(one.agent.value)
        mark = "[bold]wins[/bold]" if won else f"[dim]{lost.rule if lost else ''}[/dim]"
        name = f"[{COLOURS[letter]}]{letter} {one.agent}[/]"
        table.add_row(name, f"{one.kind} {one.target.name}", f"{one.score:.2f}", mark, one.rule)
    execution = state.execution
    lines = [Text(decision.rationale)]
    if execution is not None and execution.cycle == decision.cycle:
        lines.append(Text(execution_text(execution), style="italic"))
    if state.reward is not None and state.reward.observed is not None:
        reward = state.reward
        observed, predicted = reward.observed, reward.predicted
        if observed is not None:
            lines.append(
                Text(
                    f"cycle {reward.cycle} earned {observed.total:+.2f}, predicted {predicted.total:+.2f}",
                    style="dim",
                )
            )
    title = f"decision {decision.cycle}: {decision.action.label} {decision.action.target.name}"
    return Panel(Group(table, *lines), title=title, title_align="left")
