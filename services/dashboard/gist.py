"""Gists: every event in one short line, for the tail."""

from __future__ import annotations

from schemas.actions import Action
from schemas.checkpoint import Checkpoint
from schemas.config import Config
from schemas.control import Control
from schemas.decision import Decision
from schemas.model import EventData
from schemas.observation import Observation
from schemas.outage import outage_of
from schemas.outcome import OutcomeExecution, OutcomeForecast, OutcomeReward, OutcomeVerification
from schemas.prediction import Prediction, PredictionDemand, PredictionRisk, PredictionShadow
from schemas.proposal import Proposal
from schemas.reaction import Reaction
from schemas.run import RunComplete, RunDataSource, RunError, RunStage
from schemas.snapshot import SnapshotNodes
from schemas.stimulus import Stimulus
from services.dashboard.arrival import Arrival

LIMIT = 96
"""Characters of a gist; a row of the tail stays near 120 bytes."""


def gist_of(arrival: Arrival) -> str:
    """Return one line, at most `LIMIT` characters, that says what the event says."""
    if arrival.event is None:
        text = arrival.problem or f"{arrival.size_bytes / 1024:.1f} KiB"
    elif isinstance(arrival.event.data, SnapshotNodes):
        outage = outage_of(arrival.event.data)
        text = f"{arrival.size_bytes / 1024:.1f} KiB" if outage is None else outage.text()
    else:
        text = _said(arrival.event.data)
    return text if len(text) <= LIMIT else text[: LIMIT - 1] + "…"


def aimed(action: Action) -> str:
    """Return an action with its target, e.g. `AgentA:replicate node-7`."""
    return f"{action.label} {action.target.name}".rstrip()


def _said(data: EventData) -> str:
    if isinstance(data, Prediction):
        return _predicted(data)
    if isinstance(data, OutcomeExecution | OutcomeVerification | OutcomeReward | OutcomeForecast):
        return _came_of_it(data)
    match data:
        case Observation(totals=totals, frame=frame):
            return (
                f"{frame.frame}, {totals.nodes_ready}/{totals.nodes} nodes ready,"
                f" {totals.pods_running} pods, queue {totals.queue_length}"
            )
        case Proposal():
            return f"{data.status} {aimed(data.action)} {data.score:.2f}: {data.rule or data.text}"
        case Decision():
            return f"{aimed(data.action)} by {data.rule}, closed by {data.closed_by}"
        case Reaction(reactions=()):
            return "nothing happened"
        case Reaction(reactions=items):
            more = f" and {len(items) - 1 + data.omitted} more" if len(items) > 1 else ""
            return f"{items[0].kind} {items[0].object}{more}"
        case _:
            return _beside(data)


def _beside(data: EventData) -> str:
    match data:
        case Stimulus():
            return f"phase {data.phase} {data.name} {data.status}"
        case Control():
            return f"{data.command} {data.value}".rstrip()
        case Config():
            return f"{data.config_hash} {data.code_version}"
        case RunStage():
            return f"{data.stage} {data.status} {data.detail}".rstrip()
        case RunDataSource():
            return f"{data.kind} {data.name}"
        case RunError():
            return data.text
        case RunComplete():
            return data.status
        case Checkpoint():
            return f"state after seq {data.folded_seq}"
        case _:
            return data.TYPE


def _predicted(data: Prediction) -> str:
    if data.status == "skipped":
        return f"skipped: {data.reason}"
    if isinstance(data, PredictionRisk):
        return f"{_highest('risk', data.nodes.ids, data.nodes.risk_ratio)}, {data.model_id}"
    if isinstance(data, PredictionDemand):
        return f"{_highest('demand', data.nodes.ids, data.nodes.demand_ratio)}, {data.model_id}"
    if isinstance(data, PredictionShadow) and data.risk_table is not None:
        table = data.risk_table
        return f"shadow: {_highest('risk', table.ids, table.risk_ratio)}, {data.model_id}"
    return data.model_id


def _highest(what: str, ids: tuple[str, ...], ratios: tuple[float, ...]) -> str:
    if not ids:
        return f"no {what}: no nodes"
    value, name = max(zip(ratios, ids, strict=True))
    return f"highest {what} {value:.2f} on {name}"


def _came_of_it(
    data: OutcomeExecution | OutcomeVerification | OutcomeReward | OutcomeForecast,
) -> str:
    match data:
        case OutcomeExecution():
            why = f" ({data.reason})" if data.reason else ""
            return f"{data.phase} {aimed(data.action)}{why}"
        case OutcomeVerification():
            return f"{data.status}: {data.text}"
        case OutcomeReward(observed=None):
            return f"not observed, predicted {data.predicted.total:+.2f}"
        case OutcomeReward(observed=observed):
            assert observed is not None
            return f"total {observed.total:+.2f}, predicted {data.predicted.total:+.2f}"
        case OutcomeForecast(risk=risk):
            shadow = f"shadow {data.slot}: " if data.slot else ""
            scored = shadow + ("nothing to score" if risk is None else f"{risk.targets} targets")
            brier = "" if risk is None or risk.brier is None else f", Brier {risk.brier:.3f}"
            return f"{scored}{brier}"
