"""Who wanted what, by which numbers, who won, and the rule that beat each loser."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from foresail.explanation.section import Section, number, seconds
from projections import figures
from projections.cycle_record import CycleRecord
from projections.measure_names import measure_name
from projections.times import cluster_time
from schemas.actions import Action, ActionKind, AgentName, Evidence
from schemas.agents import letter_of
from schemas.decision import Considered, Decision, Override, is_noop


def proposal_sections(record: CycleRecord) -> Iterator[Section]:
    """Return a section for each proposal, for who was missing and for what came late."""
    assert record.decision is not None
    decision = record.decision.data
    actions = {event.id: event.data.action for event in record.proposals}
    for proposal in decision.considered:
        yield _proposal(proposal, decision, actions.get(proposal.id))
    yield Section("LEFT", list(_left(record)), "yellow")
    missing = [f"{letter_of(agent)} {agent}" for agent in decision.missing]
    if missing:
        text = f"{', '.join(missing)} said nothing before the cycle closed"
        yield Section("MISSING", [Text(text)], "red")
    late = [
        Text(
            f"{letter_of(event.data.agent)} {event.data.agent}: {_action_text(event.data.action)}, score "
            f"{figures.score(event.data.score)} (seq {event.seq}) was stored after the decision; not considered"
        )
        for event in record.late
    ]
    yield Section("LATE", late, "yellow")


def _left(record: CycleRecord) -> Iterator[Text]:
    """Yield whose forecasts were left out, and what was wanted and left by a draw: its propensity, until when."""
    for event in record.proposals:
        for model in event.data.left_out_models:
            agent = f"{letter_of(event.data.agent)} {event.data.agent}"
            yield Text(
                f"{agent}: forecasts of {model}, which is back in shadow (`foresail status` says why)"
            )
        draw = event.data.untouched
        for one in () if draw is None else draw.left:
            assert draw is not None
            yield Text(
                f"{letter_of(event.data.agent)} {_action_text(one.action)}: left untouched until "
                f"{cluster_time(draw.ends_seconds)}, a draw of {figures.percent(draw.ratio)} of the targets; {one.text}"
            )


def _proposal(one: Considered, decision: Decision, action: Action | None) -> Section:
    won = one.id in decision.winners
    waits = is_noop(decision) and one.kind is ActionKind.NOOP
    wanted = f"{one.kind} {one.target.name}".rstrip() if action is None else _action_text(action)
    head = Text(f"{letter_of(one.agent)} {one.agent}: {wanted}", style="bold" if won else "")
    if not waits:
        head.append(f"   score {figures.score(one.score)}, priority {one.priority}")
    if one.reason is not None:
        head.append(f"   [{one.reason}]")
    lines = [head, *_evidence(one)]
    if waits:
        return Section("WAITS", lines)
    override = decision.overridden.get(one.agent)
    if override is not None and not won:
        lines.append(Text("  " + _beaten(override, one.agent), style="yellow"))
    return Section("WINS" if won else "LOSES", lines, "green" if won else "yellow")


def _action_text(action: Action) -> str:
    return f"{action.full_kind} {action.aim}".rstrip()


def _evidence(one: Considered) -> list[Text]:
    """Return the numbers against their thresholds, those of one measurement on one line."""
    measured: dict[tuple[str, str], list[Evidence]] = {}
    for item in one.evidence:
        measured.setdefault((item.name, item.subject), []).append(item)
    lines = []
    for (name, subject), items in measured.items():
        where = f" of {subject}" if subject else ""
        label = measure_name(name)
        tried = ", ".join(_attempt_text(item, one.rule) for item in items)
        value = _beside(items[0].value, *(item.threshold for item in items))
        line = Text(f"  {label}{where} {value}: {tried}")
        line.append(_source(items[0]), style="dim")
        lines.append(line)
    return lines or [Text(f"  {one.text}")]


def _attempt_text(item: Evidence, rule: str) -> str:
    verdict = "yes" if item.holds else "no"
    decided = " (decides)" if item.words in rule.split(" and ") else ""
    return f"{item.comparison} {_beside(item.threshold, item.value)} {verdict}{decided}"


def _beside(value: float | None, *others: float | None) -> str:
    """Return a number that is seen to differ from those it was compared with."""
    return number(value) if value is None else figures.number_beside(value, *others)


def _source(item: Evidence) -> str:
    if not item.signal:
        return ""
    age = "" if item.age_seconds is None else f" {seconds(item.age_seconds)}"
    return f"  [{item.signal}{age}]"


def _beaten(override: Override, agent: AgentName) -> str:
    numbers = []
    if override.winner_score is not None and override.loser_score is not None:
        same = override.winner_score == override.loser_score
        against = "equal to" if same else "against"
        numbers.append(
            f"score {figures.number_beside(override.loser_score, override.winner_score)} {against} "
            f"{figures.number_beside(override.winner_score, override.loser_score)}"
        )
    if override.winner_priority is not None and override.loser_priority is not None:
        numbers.append(f"priority {override.loser_priority} against {override.winner_priority}")
    verb = "not taken" if override.by is None else f"lost to {letter_of(override.by)}"
    if override.by == agent:
        verb = "comes after another action of its own"
    measured = f" ({', '.join(numbers)})" if numbers else ""
    return f"{verb} by {override.rule}{measured}"
