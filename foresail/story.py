"""The story of one cycle: every event of it, and one screen that says what was decided, why, what
lost and what followed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from schemas.actions import LETTERS, Evidence
from schemas.decision import Considered, Decision
from schemas.envelope import Event
from schemas.observation import Observation
from schemas.outcome import OutcomeExecution, OutcomeForecast, OutcomeReward, OutcomeVerification
from schemas.prediction import PredictionDemand, PredictionRisk
from schemas.proposal import Proposal
from schemas.signals import Signal


@dataclass
class Story:
    """The events of one cycle, by what they are."""

    cycle: int
    observation: Event[Observation] | None = None
    risk: Event[PredictionRisk] | None = None
    demand: Event[PredictionDemand] | None = None
    proposals: list[Event[Proposal]] = field(default_factory=list)
    decision: Event[Decision] | None = None
    executions: list[Event[OutcomeExecution]] = field(default_factory=list)
    verifications: list[Event[OutcomeVerification]] = field(default_factory=list)
    reward: Event[OutcomeReward] | None = None
    forecast: Event[OutcomeForecast] | None = None
    reactions: list[Any] = field(default_factory=list)

    def add(self, event: Event[Any]) -> None:
        """Take one event of the cycle."""
        kinds: dict[type, str] = {
            Observation: "observation",
            PredictionRisk: "risk",
            PredictionDemand: "demand",
            Decision: "decision",
            OutcomeReward: "reward",
            OutcomeForecast: "forecast",
        }
        lists: dict[type, list[Any]] = {
            Proposal: self.proposals,
            OutcomeExecution: self.executions,
            OutcomeVerification: self.verifications,
        }
        kind = type(event.data)
        if kind in kinds:
            setattr(self, kinds[kind], event)
        elif kind in lists:
            lists[kind].append(event)

    def late(self) -> list[Event[Proposal]]:
        """Return proposals that the decision did not consider although it stands."""
        if self.decision is None:
            return []
        considered = {one.id for one in self.decision.data.considered}
        return [proposal for proposal in self.proposals if proposal.id not in considered]

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""

        def dump(event: Event[Any] | None) -> Any:
            if event is None:
                return None
            content = event.data.model_dump(mode="json")
            for table in ("nodes", "pods", "frame"):
                content.pop(table, None)
            return {
                "id": event.id,
                "type": event.type,
                "seq": event.seq,
                "time": event.time,
                "data": content,
            }

        return {
            "cycle": self.cycle,
            "decision": dump(self.decision),
            "observation": dump(self.observation),
            "predictions": [dump(self.risk), dump(self.demand)],
            "proposals": [dump(event) for event in self.proposals],
            "late": [event.id for event in self.late()],
            "executions": [dump(event) for event in self.executions],
            "verifications": [dump(event) for event in self.verifications],
            "reward": dump(self.reward),
            "forecast": dump(self.forecast),
        }


def story_view(story: Story) -> Group:
    """Return the one screen of `foresail explain`."""
    assert story.decision is not None
    decision = story.decision.data
    action = decision.action
    title = Text(
        f"cycle {story.cycle}   {action.label} {action.target.name}".rstrip(), style="bold"
    )
    parts: list[Any] = [title, Text(decision.rationale)]
    parts.append(Text(_closing(decision), style="dim"))
    parts.extend(_proposal_panel(one, decision) for one in decision.considered)
    parts.extend(_late_lines(story))
    parts.append(_signals(story))
    parts.append(_aftermath(story))
    return Group(*parts)


def _closing(decision: Decision) -> str:
    missing = ", ".join(decision.missing) or "nobody"
    repeat = f", {decision.repeat_count} times in a row" if decision.repeat_count > 1 else ""
    return (
        f"rule {decision.rule}; closed by {decision.closed_by}; missing: {missing}; "
        f"profile {decision.profile}{repeat}"
    )


def _proposal_panel(one: Considered, decision: Decision) -> Panel:
    won = one.id == decision.selected
    override = decision.overridden.get(one.agent.value)
    table = Table.grid(padding=(0, 1))
    for evidence in one.evidence:
        table.add_row(*_evidence_cells(evidence))
    verdict = "wins" if won else f"lost by {override.rule}: {override.text}" if override else ""
    body = Group(Text(one.text), table, Text(verdict, style="bold green" if won else "yellow"))
    target = f" {one.target.name}" if one.target.name else ""
    title = f"{LETTERS[one.agent]} {one.agent}: {one.kind}{target}  score {one.score:.2f}"
    return Panel(body, title=title, title_align="left", border_style="green" if won else "dim")


def _evidence_cells(evidence: Evidence) -> tuple[str, str, str, str]:
    value = "missing" if evidence.value is None else f"{evidence.value:g}"
    threshold = (
        "" if evidence.threshold is None else f"{evidence.comparison} {evidence.threshold:g}"
    )
    age = (
        ""
        if evidence.age_seconds is None
        else f"[dim]{evidence.signal}, {evidence.age_seconds:g} s old[/dim]"
    )
    mark = "[green]yes[/green]" if evidence.holds else "[dim]no[/dim]"
    where = f" ({evidence.subject})" if evidence.subject else ""
    return f"{evidence.name}{where} = {value}", threshold, mark, age


def _late_lines(story: Story) -> list[Text]:
    return [
        Text(
            f"late: {LETTERS[event.data.agent]} {event.data.action.kind} arrived after the decision",
            style="yellow",
        )
        for event in story.late()
    ]


def _signals(story: Story) -> Panel:
    table = Table.grid(padding=(0, 2))
    signals: tuple[Signal, ...] = (
        () if story.observation is None else story.observation.data.signals
    )
    for signal in signals:
        age = "" if signal.age_seconds is None else f"{signal.age_seconds:g} s old"
        why = "" if signal.reason is None else str(signal.reason)
        but = f"not for {len(signal.exceptions)} rows" if signal.exceptions else ""
        table.add_row(signal.name, signal.source, str(signal.status), age, why, but)
    for prediction in (story.risk, story.demand):
        if prediction is not None:
            data = prediction.data
            table.add_row(
                prediction.type.split(".")[2],
                data.model_id,
                data.status,
                f"horizon {data.horizon_seconds:g} s",
                "",
                "",
            )
    return Panel(table, title="signals and models", title_align="left", border_style="dim")


def _aftermath(story: Story) -> Panel:
    lines: list[Text] = []
    for event in story.executions:
        execution = event.data
        lines.append(Text(f"{execution.phase} ({execution.mode}): {execution.text}"))
        for number, operation in enumerate(execution.operations):
            result = (
                execution.results[number].status if number < len(execution.results) else "planned"
            )
            lines.append(Text(f"  {operation.text}: {result}", style="dim"))
        lines += [
            Text(f"  guard {check.guard}: {check.text or check.reason}", style="yellow")
            for check in execution.guards
            if not check.passed
        ]
    lines += [
        Text(
            f"verification: {event.data.status} after {event.data.lag_seconds:g} s; {event.data.text}"
        )
        for event in story.verifications
    ]
    lines.append(_reward_line(story))
    return Panel(Group(*lines), title="what followed", title_align="left", border_style="dim")


def _reward_line(story: Story) -> Text:
    if story.reward is None:
        return Text("reward: not scored yet", style="dim")
    reward = story.reward.data
    if reward.observed is None:
        return Text(f"reward: not observed ({reward.reason})", style="dim")
    observed, predicted = reward.observed, reward.predicted
    return Text(
        f"reward {observed.total:+.2f} (A {observed.safety:+.2f}, B {observed.efficiency:+.2f}, "
        f"C {observed.admission:+.2f}); predicted {predicted.total:+.2f}"
    )
