"""Every event in one line of text for people, in the words of its layer."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nsmallest
from typing import Any

from projections.band_text import band_text
from projections.figures import duration, number, score, signed_score
from projections.history_text import history_text
from projections.measure_names import UNHEALTHY_PODS
from projections.noop_text import is_noop, noop_run_text
from projections.prediction_table import prediction_table
from projections.promotion.text import judgement_texts
from projections.score.text import difference_text, score_text
from projections.switchback.text import switchback_text
from projections.times import CLUSTER
from schemas.actions import Action
from schemas.agents import letter_of
from schemas.breaker import OutcomeBreaker
from schemas.capabilities import OutcomeCapabilities
from schemas.capacity import PredictionCapacity
from schemas.checkpoint import Checkpoint
from schemas.config import Config
from schemas.control import Control
from schemas.decision import Decision
from schemas.envelope import Event
from schemas.frames import FramedData
from schemas.history import HistoryBlock, HistoryFilled
from schemas.imported import ImportedRow
from schemas.observation import ObservedState
from schemas.outcome import (
    ExecutionPhase,
    OutcomeExecution,
    OutcomeForecast,
    OutcomeReward,
    OutcomeVerification,
)
from schemas.prediction import Prediction
from schemas.promotion import OutcomeModels
from schemas.proposal import Proposal
from schemas.reaction import Reaction
from schemas.reasons import Reason
from schemas.run import RunDataSource, RunError, RunStage
from schemas.score import OutcomeCounterfactual, OutcomeScore
from schemas.snapshot import NodesState, PlacementsState, SnapshotUsage, WorkloadsState
from schemas.stimulus import Stimulus
from schemas.subjects import parse
from schemas.switchback import OutcomeSwitchback
from schemas.wording import count_text

TIME_COLUMNS = len(CLUSTER)
HEADING = f"{'seq':>7}  {CLUSTER}  {'subject':<22}  event"
"""The line above those of `event_line`: it names the clock."""
LONGEST = 200
"""Characters of the text of an event that has no words of its own."""
MOST_REACTIONS = 4


def event_line(event: Event[Any], text: str = "") -> str:
    """Return one event as one line: position, cluster time, subject, and `text`, or its own text."""
    tail = ".".join(parse(event.subject).tokens)
    return f"{event.seq:>7}  {event.time[11:19]:<{TIME_COLUMNS}}  {tail:<22}  {text or event_text(event)}"


def event_text(event: Event[Any]) -> str:
    """Return the content of an event as one line of text."""
    match event.data:
        case Prediction() as prediction:
            return _prediction(prediction)
        case Proposal() as proposal:
            return f"{action_text(proposal.action)} {score(proposal.score)}: {proposal.text}"
        case Decision() as decision:
            return decision_line(decision)
        case FramedData() as framed:
            return _frame_text(framed)
        case OutcomeScore() as scored:
            return f"cycle {scored.cycle}: {score_text(scored)}"
        case OutcomeCounterfactual() as difference:
            return f"cycle {difference.cycle}: acting changed {difference_text(difference)}"
        case OutcomeBreaker() | OutcomeCapabilities() as change:
            return f"cycle {change.cycle}: {change.text}"
        case OutcomeModels() as judged:
            return f"cycle {judged.cycle}: {'; '.join(judgement_texts(judged))}"
        case OutcomeSwitchback() as estimate:
            return f"cycle {estimate.cycle}: acting {switchback_text(estimate)}"
        case OutcomeExecution() | OutcomeVerification() | OutcomeReward() | OutcomeForecast():
            return _outcome(event.data)
        case Reaction() as reaction:
            more = len(reaction.reactions) - MOST_REACTIONS + reaction.omitted
            texts = [item.text for item in reaction.reactions[:MOST_REACTIONS]]
            texts += [f"{more} more"] if more > 0 else []
            return "; ".join(texts) or "nothing happened"
        case data:
            return _other(data)


def decision_line(decision: Decision, executions: Sequence[OutcomeExecution] = ()) -> str:
    """Return one decision as one line: cycle, rationale or why nothing is done, losers, what became of its parts."""
    losers = ", ".join(
        f"{letter_of(proposal.agent)} {proposal.kind}"
        for proposal in decision.considered
        if proposal.id not in decision.winners
    )
    missing = (
        f"; missing {', '.join(letter_of(agent) for agent in decision.missing)}"
        if decision.missing
        else ""
    )
    if is_noop(decision):
        return f"{noop_run_text(decision.cycle, decision, 1)}{missing}"
    over = f"; over {losers}" if losers else ""
    results = "".join(f"; {execution_text(execution)}" for execution in executions)
    return f"cycle {decision.cycle:>4}  {decision.rationale}{over}{missing}{results}"


def execution_text(execution: OutcomeExecution) -> str:
    """Return what became of a decision in a few words."""
    if execution.reason is Reason.NOOP:
        return "nothing to do"
    match execution.phase:
        case ExecutionPhase.REFUSED:
            return f"not executed ({execution.reason})"
        case ExecutionPhase.STARTED:
            return f"executing {len(execution.operations)} operations"
        case _:
            done = "done" if execution.succeeded else "failed"
            return f"{done} ({execution.mode}, {len(execution.operations)} operations)"


def action_text(action: Action) -> str:
    """Return an action by kind and target, e.g. `power_state:sleep node-7`."""
    return f"{action.full_kind} {action.aim}".rstrip()


def _prediction(prediction: Prediction) -> str:
    what, ids, ratios = prediction_table(prediction)
    if prediction.status == "skipped":
        return f"{prediction.model_id} skipped: {prediction.reason}"
    if not ids:
        return f"{prediction.model_id}: no nodes"
    pairs = nsmallest(3, zip(ratios, ids, strict=True), key=lambda pair: (-pair[0], pair[1]))
    highest = ", ".join(f"{name} {number(ratio)}" for ratio, name in pairs)
    return f"{prediction.model_id}: highest {what} {highest}"


def _frame_text(framed: FramedData) -> str:
    kind = framed.frame.frame
    match framed:
        case ObservedState(totals=totals):
            return (
                f"{kind}: {totals.nodes_ready}/{totals.nodes} nodes ready, "
                f"{totals.pods_running} running, queue {totals.queue_length}, "
                f"{UNHEALTHY_PODS} {totals.sla_violations}"
            )
        case NodesState(sources=sources):
            failed = [read.source for read in sources if not read.ok]
            return f"{kind}: " + (
                f"no answer for {', '.join(failed)}" if failed else "all answered"
            )
        case WorkloadsState():
            return f"{kind}: {framed.pods_running} of {framed.pods_total} pods running"
        case PlacementsState():
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
    return f"{count_text(len(rows), 'row')} changed, {removed} removed"


def _outcome(
    data: OutcomeExecution | OutcomeVerification | OutcomeReward | OutcomeForecast,
) -> str:
    match data:
        case OutcomeExecution() as execution:
            return f"cycle {_place(execution)}: {execution_text(execution)}: {execution.text}"
        case OutcomeVerification():
            return f"cycle {_place(data)}: {data.status} after {duration(data.lag_seconds)}: {data.text}"
        case OutcomeReward() as reward:
            observed = (
                "not observed"
                if reward.observed is None
                else f"{signed_score(reward.observed.total)}"
            )
            return f"cycle {reward.cycle}: {observed}, predicted {signed_score(reward.predicted.total)}"
        case OutcomeForecast() as forecast:
            scored = [
                f"{name} of {score.targets} targets ({score.uncertain} uncertain)"
                for name, score in (("risk", forecast.risk), ("demand", forecast.demand))
                if score is not None
            ]
            scored += (
                []
                if forecast.bands is None
                else [band_text(forecast.horizon_seconds, forecast.bands)]
            )
            return (
                f"cycle {forecast.cycle}: {forecast.model_id} {'; '.join(scored) or 'not scored'}"
            )


def _place(data: OutcomeExecution | OutcomeVerification) -> str:
    """Return the cycle, and the part of its decision unless it is the first, as `undo` names it."""
    return f"{data.cycle}.{data.part}" if data.part else str(data.cycle)


def _other(data: Any) -> str:
    match data:
        case SnapshotUsage() | HistoryFilled() | HistoryBlock() | PredictionCapacity():
            return history_text(data)
        case Stimulus():
            return f"phase {data.phase} {data.name} {data.status}: {data.text}"
        case Control():
            return f"{data.command} {data.value}".rstrip()
        case Config():
            return f"{data.config_hash} {data.code_version} {' '.join(data.model_ids)}".rstrip()
        case Checkpoint():
            return f"state of {data.process} after seq {data.folded_seq}"
        case RunStage() as stage:
            return f"{stage.stage} {stage.status} {stage.detail}".rstrip()
        case RunDataSource() as source:
            return f"{source.kind} {source.name}"
        case RunError() as error:
            return error.text
        case ImportedRow() as row:
            counts = {
                "nodes": row.node_count,
                "tasks": row.task_count,
                "in the queue": row.queue_length,
            }
            known = [f"{count} {what}" for what, count in counts.items() if count is not None]
            return f"row {row.cycle}: {', '.join(known) or 'no count'}"
        case _:
            text = str(data.model_dump_json())
            return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
