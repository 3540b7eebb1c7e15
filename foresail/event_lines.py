"""Every event in one line for people: what it says, in the words of its layer."""

from __future__ import annotations

from typing import Any

from foresail.stack.live_view import decision_line, execution_text
from schemas.actions import Action
from schemas.checkpoint import Checkpoint
from schemas.config import Config
from schemas.control import Control
from schemas.decision import Decision
from schemas.envelope import Event
from schemas.frames import FramedData
from schemas.observation import Observation
from schemas.outcome import OutcomeExecution, OutcomeForecast, OutcomeReward, OutcomeVerification
from schemas.prediction import Prediction
from schemas.proposal import Proposal
from schemas.reaction import Reaction
from schemas.snapshot import SnapshotNodes, SnapshotPlacements, SnapshotWorkloads
from schemas.stimulus import Stimulus
from schemas.subjects import parse
from schemas.tables import Table

LONGEST = 200
"""Characters of what an unknown kind of event says."""
SHOWN_REACTIONS = 4


def event_line(event: Event[Any], said: str = "") -> str:
    """Return one event as one line: position, cluster time, subject, what it says.

    `said` takes the place of what it says.
    """
    tail = ".".join(parse(event.subject).tokens)
    return f"{event.seq:>7}  {event.time[11:19]}  {tail:<22}  {said or gist(event)}"


def gist(event: Event[Any]) -> str:
    """Return what an event says."""
    match event.data:
        case Prediction() as prediction:
            return _prediction(prediction)
        case Proposal() as proposal:
            return f"{_aimed(proposal.action)} {proposal.score:.2f}: {proposal.text}"
        case Decision() as decision:
            return decision_line(decision)
        case FramedData() as framed:
            return _framed(framed)
        case OutcomeExecution() | OutcomeVerification() | OutcomeReward() | OutcomeForecast():
            return _outcome(event.data)
        case Reaction() as reaction:
            more = len(reaction.reactions) - SHOWN_REACTIONS + reaction.omitted
            shown = [item.text for item in reaction.reactions[:SHOWN_REACTIONS]]
            shown += [f"{more} more"] if more > 0 else []
            return "; ".join(shown) or "nothing happened"
        case data:
            return _beside(data)


def table_of_prediction(prediction: Prediction) -> tuple[str, tuple[str, ...], tuple[float, ...]]:
    """Return what a prediction is about (`risk` or `demand`), its nodes and their ratios."""
    for _, table in prediction:
        for name in ("risk", "demand"):
            ratios = getattr(table, f"{name}_ratio", None)
            if isinstance(table, Table) and ratios is not None:
                return name, table.ids, ratios
    return "", (), ()


def _prediction(prediction: Prediction) -> str:
    what, ids, ratios = table_of_prediction(prediction)
    if prediction.status == "skipped":
        return f"{prediction.model_id} skipped: {prediction.reason}"
    if not ids:
        return f"{prediction.model_id}: no nodes"
    pairs = sorted(zip(ratios, ids, strict=True), key=lambda pair: (-pair[0], pair[1]))[:3]
    highest = ", ".join(f"{name} {ratio:.2f}" for ratio, name in pairs)
    return f"{prediction.model_id}: highest {what} {highest}"


def _framed(framed: FramedData) -> str:
    kind = framed.frame.frame
    match framed:
        case Observation(totals=totals):
            return (
                f"{kind}: {totals.nodes_ready}/{totals.nodes} nodes ready, "
                f"{totals.pods_running} running, queue {totals.queue_length}, "
                f"SLA violations {totals.sla_violations}"
            )
        case SnapshotNodes(sources=sources):
            failed = [one.source for one in sources if not one.ok]
            return f"{kind}: " + (
                f"no answer for {', '.join(failed)}" if failed else "all answered"
            )
        case SnapshotWorkloads():
            return f"{kind}: {framed.pods_running} of {framed.pods_total} pods running"
        case SnapshotPlacements():
            return f"{kind}: {_changes(framed)}"
        case _:
            return kind


def _changes(framed: FramedData) -> str:
    deltas = framed.frame.deltas
    if deltas is None:
        return "every row"
    rows = {
        row for delta in deltas.values() for change in delta.cells.values() for row in change.rows
    }
    removed = sum(len(delta.removed) for delta in deltas.values())
    return f"{len(rows)} rows changed, {removed} removed"


def _outcome(
    data: OutcomeExecution | OutcomeVerification | OutcomeReward | OutcomeForecast,
) -> str:
    match data:
        case OutcomeExecution() as execution:
            return f"cycle {execution.cycle}: {execution_text(execution)}: {execution.text}"
        case OutcomeVerification():
            return f"cycle {data.cycle}: {data.status} after {data.lag_seconds:g} s: {data.text}"
        case OutcomeReward() as reward:
            seen = "not observed" if reward.observed is None else f"{reward.observed.total:+.2f}"
            return f"cycle {reward.cycle}: {seen}, predicted {reward.predicted.total:+.2f}"
        case OutcomeForecast() as forecast:
            scored = [
                f"{name} of {score.targets} targets ({score.uncertain} uncertain)"
                for name, score in (("risk", forecast.risk), ("demand", forecast.demand))
                if score is not None
            ]
            return (
                f"cycle {forecast.cycle}: {forecast.model_id} {'; '.join(scored) or 'not scored'}"
            )


def _beside(data: Any) -> str:
    match data:
        case Stimulus():
            return f"phase {data.phase} {data.name} {data.status}: {data.text}"
        case Control():
            return f"{data.command} {data.value}".rstrip()
        case Config():
            return f"{data.config_hash} {data.code_version} {' '.join(data.model_ids)}".rstrip()
        case Checkpoint():
            return f"state of {data.process} after seq {data.folded_seq}"
        case _:
            text = str(data.model_dump_json())
            return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _aimed(action: Action) -> str:
    detail = action.parameters.admission or action.parameters.power_state
    kind = f"{action.kind}:{detail}" if detail else str(action.kind)
    return f"{kind} {action.target.name}".rstrip()
