"""The live terminal view: the cluster, the newest decision with its losers, rewards and how
many events of every layer came when.

On a terminal it is redrawn in place; elsewhere each decision is one line, so that logs stay
readable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from projections.breaker.text import standing_texts
from projections.demotion.text import foresight_standing
from projections.figures import age, number, percent, score, signed_score
from projections.operating import OperatingState
from projections.overview import Overview
from projections.promotion.text import driving_texts
from projections.stale import stale_text
from projections.times import WALL, cluster_clock
from schemas.actions import ActionKind
from schemas.agents import action_label, letter_of
from schemas.decision import counted_texts, is_noop, noop_reason, short_rationale
from schemas.mismatch import mismatch_text
from schemas.observation import UNHEALTHY_PODS
from schemas.outcome import OutcomeReward
from schemas.score import difference_text, score_text, verdict_in
from schemas.signals import Signal, SignalStatus
from schemas.switchback import switchback_text
from schemas.wording import count_text

COLOURS = {"A": "red", "B": "green", "C": "yellow", "Referee": "cyan"}


def view(
    overview: Overview,
    notes: Sequence[str],
    now_ns: int,
    header: str,
    processes: Mapping[str, int],
) -> Group:
    """Return the whole view.

    Args:
        overview: the newest of everything.
        notes: what the reader of the log met on its way.
        now_ns: wall time, nanoseconds since the Unix epoch.
        header: the first line.
        processes: process ids by name; 0 between two starts.
    """
    return Group(
        Text(header, style="bold"),
        _operating(overview.run.operating),
        _layers(overview, now_ns, processes),
        _cluster(overview),
        *_score(overview),
        *(Text(text, style="bold red") for text in standing_texts(overview.breakers)),
        *(Text(f"warning: {mismatch_text(one)}", style="yellow") for one in overview.mismatches),
        *_standing(overview),
        *([] if overview.models is None else [Text("\n".join(driving_texts(overview.models)))]),
        *(
            []
            if overview.foresight is None
            else [Text("\n".join(foresight_standing(overview.foresight)))]
        ),
        _decision(overview),
        Text("\n".join(notes), style="dim"),
    )


def _operating(operating: OperatingState) -> Text:
    """Return the mode in force, and the hold where there is one."""
    text = Text(f"mode {operating.mode or 'not announced yet'}")
    if operating.mode == "shadow":
        text.append(": every write is a dry run")
    if operating.hold:
        text.append(f"   {operating.hold_text()}", style="bold red")
    return text


def _standing(overview: Overview) -> list[Text]:
    """Return how much of ours stands on a cluster of the user's own."""
    source, text = overview.run.source, overview.standing.text()
    return [Text(text)] if text and source is not None and source.kind == "kubernetes" else []


def _layers(overview: Overview, now_ns: int, processes: Mapping[str, int]) -> Table:
    table = Table.grid(padding=(0, 2))
    cells = []
    for layer, activity in overview.layers.items():
        newest = activity.newest_ns
        came = "waiting" if newest is None else f"{age((now_ns - newest) / 1e9)} ago"
        cells.append(f"[bold]{layer}[/bold] {activity.count}\n[dim]{came}[/dim]")
    table.add_row(*cells)
    table.add_row(f"[dim]ages in {WALL}[/dim]")
    down = [name for name, pid in processes.items() if pid == 0]
    if down:
        table.add_row(f"[red]down: {', '.join(down)}[/red]")
    return table


def _cluster(overview: Overview) -> Panel:
    observation = overview.observation
    if overview.outage is not None:
        outage = Text(overview.outage.text(), style="bold red")
        return Panel(outage, title="cluster", title_align="left")
    if observation is None:
        return Panel("waiting for the first observation", title="cluster", title_align="left")
    time = cluster_clock(observation.cluster_time_seconds)
    speed = overview.run.speed
    if speed is not None and speed != 1:
        time += f", {number(speed)} times as fast as {WALL}"
    totals = observation.totals
    trouble = [
        f"{signal.name} {signal.status}"
        for signal in observation.signals
        if signal.status in _TROUBLE
    ]
    text = (
        f"{totals.nodes_ready}/{totals.nodes} nodes ready, {count_text(totals.pods_running, 'pod')} running, "
        f"queue {totals.queue_length}, {UNHEALTHY_PODS} {totals.sla_violations}, done {totals.completed_tasks}\n"
        f"requested cpu {percent(totals.cpu_requested_ratio)} memory {percent(totals.memory_requested_ratio)}, "
        f"{number(totals.energy_watts / 1000)} kW ({_power_basis(observation.signals)})"
    )
    if stale := stale_text(observation.signals):
        text += f"\n[bold red]{stale}[/bold red]"
    elif trouble:
        text += f"\n[yellow]{', '.join(trouble)}[/yellow]"
    return Panel(text, title=f"cluster, cycle {observation.cycle}, {time}", title_align="left")


def _power_basis(signals: Sequence[Signal]) -> str:
    power = next((signal for signal in signals if signal.name == "power"), None)
    if power is None or not power.measured:
        return "estimated"
    estimated = count_text(len(power.modelled), "node")
    return f"measured, {estimated} estimated" if power.modelled else "measured"


_TROUBLE = (SignalStatus.STALE, SignalStatus.MISSING)


def _decision(overview: Overview) -> Panel:
    record = overview.cycles.newest_decided
    if record is None or record.decision is None:
        return Panel("waiting for the first decision", title="decision", title_align="left")
    decision = record.decision.data
    idle = is_noop(decision)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("agent", "proposes", "score", "wins, or loses by", "because"):
        table.add_column(name)
    for proposal in decision.considered:
        letter = letter_of(proposal.agent)
        won = proposal.id in decision.winners
        lost = decision.overridden.get(proposal.agent)
        mark = "[bold]wins[/bold]" if won else f"[dim]{lost.rule if lost else ''}[/dim]"
        mark = "[dim]waits[/dim]" if idle and proposal.kind is ActionKind.NOOP else mark
        name = f"[{COLOURS[letter]}]{letter} {proposal.agent}[/]"
        aim = f"{proposal.kind} {proposal.target.name}"
        table.add_row(name, aim, score(proposal.score), mark, proposal.rule)
    lines = [Text(noop_reason(decision) if idle else short_rationale(decision))]
    done = [part.rollback or part.execution for part in record.parts]
    results = counted_texts([one.result for one in done if one is not None])
    lines += [Text(result, style="italic") for result in results]
    if overview.reward is not None and overview.reward.observed is not None:
        lines.append(_reward(overview.reward))
    wanted = ", ".join(f"{action_label(one)} {one.aim}" for one in decision.actions)
    wanted = "nothing to do" if idle else wanted
    title = f"decision {decision.cycle}: {wanted}"
    return Panel(Group(table, *lines), title=title, title_align="left")


def _score(overview: Overview) -> list[Text]:
    """Return the outcome score and what acting changed, where they are known."""
    lines = []
    if overview.score is not None:
        lines.append(Text(f"score {score_text(overview.score)}"))
    if overview.counterfactual is not None:
        difference = overview.counterfactual
        style = {"helps": "green", "harms": "red"}.get(verdict_in(difference), "dim")
        lines.append(Text(f"acting changed {difference_text(difference)}", style=style))
    if overview.switchback is not None:
        lines.append(Text(f"acting {switchback_text(overview.switchback)}"))
    return lines


def _reward(reward: OutcomeReward) -> Text:
    assert reward.observed is not None
    text = (
        f"reward.baseline of cycle {reward.cycle}: {signed_score(reward.observed.total)}, "
        f"predicted {signed_score(reward.predicted.total)}"
    )
    return Text(text, style="dim")
