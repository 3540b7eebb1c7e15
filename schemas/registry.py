"""From type to model and back: the one encoder and the one decoder of events.

The encoder writes compact JSON with the standard library, fields in the model's order, so equal
events are equal bytes on every Python version.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from schemas.checkpoint import Checkpoint
from schemas.config import Config
from schemas.control import Control
from schemas.decision import Decision
from schemas.envelope import SPEC_VERSION, Event, attributes_of, headers_of
from schemas.model import EventData
from schemas.observation import Observation
from schemas.outcome import OutcomeExecution, OutcomeForecast, OutcomeReward, OutcomeVerification
from schemas.prediction import PredictionDemand, PredictionRisk
from schemas.proposal import Proposal
from schemas.reaction import Reaction
from schemas.run import RunArtifact, RunComplete, RunDataSource, RunError, RunStage, RunTrial
from schemas.snapshot import SnapshotNodes, SnapshotPlacements, SnapshotWorkloads
from schemas.stimulus import Stimulus
from schemas.upcast import upcast

EVENT_TYPES: tuple[type[EventData], ...] = (
    SnapshotNodes,
    SnapshotPlacements,
    SnapshotWorkloads,
    Observation,
    PredictionRisk,
    PredictionDemand,
    Proposal,
    Decision,
    OutcomeExecution,
    OutcomeVerification,
    OutcomeReward,
    OutcomeForecast,
    Reaction,
    Stimulus,
    Control,
    Config,
    RunStage,
    RunDataSource,
    RunArtifact,
    RunTrial,
    RunError,
    RunComplete,
    Checkpoint,
)
"""Every event type, in the order of the layers."""

BY_TYPE: Mapping[str, type[EventData]] = {kind.TYPE: kind for kind in EVENT_TYPES}

LAYERS: tuple[str, ...] = (
    "snapshot",
    "observation",
    "prediction",
    "proposal",
    "decision",
    "outcome",
)
"""The six layers, in order."""


class UnknownEvent(ValueError):
    """A message is not an event this version can read; says why."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """An event as it travels."""

    subject: str
    headers: Mapping[str, str]
    data: bytes


def to_json(value: Any) -> bytes:
    """Write JSON as every event is written: compact, UTF-8, no NaN."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def encode(event: Event[EventData]) -> Encoded:
    """Return subject, headers and bytes of an event."""
    return Encoded(event.subject, headers_of(event), to_json(event.data.model_dump(mode="json")))


def decode(
    subject: str, headers: Mapping[str, str], data: bytes, *, seq: int = 0, recorded_ns: int = 0
) -> Event[EventData]:
    """Read an event, upcasting old versions.

    Raises:
        UnknownEvent: headers are missing, the type is not known, or the data does not fit it.
    """
    attributes = attributes_of(headers)
    if attributes.get("specversion") != SPEC_VERSION:
        raise UnknownEvent(
            f"{subject}: not a CloudEvents {SPEC_VERSION} message (no ce-specversion)"
        )
    try:
        event_type, content = upcast(attributes["type"], json.loads(data))
        kind = BY_TYPE[event_type]
        return Event(
            id=attributes["id"],
            type=event_type,
            source=attributes["source"],
            subject=subject,
            time=attributes["time"],
            correlation_id=attributes["correlationid"],
            causation_ids=tuple(attributes.get("causationid", "").split()),
            traceparent=attributes.get("traceparent", ""),
            config_hash=attributes.get("confighash", ""),
            data=kind.read(content),
            seq=seq,
            recorded_ns=recorded_ns,
        )
    except KeyError as error:
        raise UnknownEvent(f"{subject}: unknown or missing {error}") from error
    except (ValidationError, json.JSONDecodeError) as error:
        raise UnknownEvent(
            f"{subject}: data does not fit {attributes.get('type')}: {error}"
        ) from error


def patterns(kinds: Iterable[type[EventData]]) -> tuple[tuple[str, ...], ...]:
    """Return the distinct subject patterns of some types, in order."""
    return tuple(dict.fromkeys(kind.PATTERN for kind in kinds))
