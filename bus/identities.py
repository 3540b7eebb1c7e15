"""Who may do what on the log: one table, from which nats.conf, the tests and the docs are made.

Which agents there are is not known here; the table is made for the agents' names that are given
(`services.identities` gives those that are registered), and an agent's identity follows from its
name alone.

Each identity publishes exactly the subjects named here and nothing else; subjects come from the
schemas, so that a new event type belongs to nobody until it is given to somebody (a test says so).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from schemas import subjects
from schemas.actions import AGENT_NAME, AgentName
from schemas.breaker import OutcomeBreaker
from schemas.capabilities import OutcomeCapabilities
from schemas.capacity import PredictionCapacity
from schemas.checkpoint import Checkpoint
from schemas.config import Config
from schemas.control import Control
from schemas.decision import Decision
from schemas.history import HistoryBlock, HistoryFilled
from schemas.model import EventData
from schemas.observation import Observation
from schemas.outcome import OutcomeExecution, OutcomeForecast, OutcomeReward, OutcomeVerification
from schemas.prediction import (
    SHADOW_SLOTS,
    PredictionDemand,
    PredictionRisk,
    PredictionShadow,
)
from schemas.promotion import OutcomeModels
from schemas.proposal import Proposal
from schemas.reaction import Reaction
from schemas.run import RunArtifact, RunComplete, RunDataSource, RunError, RunStage, RunTrial
from schemas.score import OutcomeCounterfactual, OutcomeScore
from schemas.snapshot import SnapshotNodes, SnapshotPlacements, SnapshotUsage, SnapshotWorkloads
from schemas.stimulus import Stimulus
from schemas.switchback import OutcomeSwitchback
from schemas.untouched import (
    UntouchedNodes,
    UntouchedObservation,
    UntouchedPlacements,
    UntouchedWorkloads,
)

AGENT_PREFIX = "agent-"
"""An agent's process is called `agent-<name>`."""
REPLAY_PREFIX = "replay-"
"""Clusters of replayed logs are called `replay-<run>`; only the replayer publishes there."""

Kind = type[EventData]
Tokens = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Identity:
    """One account and user of the server."""

    name: str
    purpose: str
    publishes: tuple[Tokens, ...] = ()
    """Subject tokens after the cluster, without wildcards."""
    reads: bool = True
    """Whether it may read the log: direct get, the stream's state, and the live feed."""
    sends_heartbeats: bool = False
    """Whether it may say on `health.<cluster>.<its name>` that it lives."""
    receives_heartbeats: bool = False
    """Whether it may listen to everybody's heartbeats."""
    replays: bool = False
    """Whether it may publish everything of a replayed cluster (and nothing of any other)."""
    administers: bool = False
    """Whether it may create streams and consumers; it reads and publishes no event."""

    def subjects(self, cluster: str) -> tuple[str, ...]:
        """Return the stored subjects that it may publish in one cluster."""
        if cluster.startswith(REPLAY_PREFIX):
            return (subjects.pattern(cluster, (">",)),) if self.replays else ()
        return tuple(subjects.build(cluster, tokens) for tokens in self.publishes)


def _subjects_of(name: str, *kinds: Kind) -> tuple[Tokens, ...]:
    """Return the subjects of some types, with `name` where the data names who speaks."""
    return tuple(tuple(name if token == "*" else token for token in kind.PATTERN) for kind in kinds)


def _service_identity(name: str, purpose: str, *kinds: Kind, keeps: bool = True) -> Identity:
    """Return a service's identity: its events, its settings, its checkpoint if it `keeps` one, what it could not
    handle, its heartbeat.
    """
    published = (Config, Checkpoint, RunError) if keeps else (Config, RunError)
    return Identity(name, purpose, _subjects_of(name, *kinds, *published), sends_heartbeats=True)


def _agent_identity(agent: AgentName) -> Identity:
    name = f"{AGENT_PREFIX}{agent}"
    published = (*_subjects_of(agent, Proposal), *_subjects_of(name, Config, Checkpoint, RunError))
    return Identity(name, f"proposes what {agent} wants", published, sends_heartbeats=True)


def _inference_identity() -> Identity:
    """Return the identity of inference: besides its own subjects one for each shadow model."""
    kinds = (PredictionRisk, PredictionDemand, PredictionCapacity, HistoryBlock)
    base = _service_identity("inference", "predicts", *kinds)
    slots = (str(slot) for slot in range(1, SHADOW_SLOTS + 1))
    shadows = tuple((*PredictionShadow.PATTERN[:-1], slot) for slot in slots)
    return replace(base, publishes=(*base.publishes, *shadows))


_RUN = (RunStage, RunDataSource, RunArtifact, RunTrial, RunError, RunComplete)

_BEFORE_AGENTS: tuple[Identity, ...] = (
    Identity("bootstrap", "declares the log, then leaves", reads=False, administers=True),
    Identity(
        "stack", "`foresail up` itself: run events, watching", _subjects_of("stack", Config, *_RUN)
    ),
    _service_identity(
        "collector",
        "reads the cluster",
        *(SnapshotNodes, SnapshotPlacements, SnapshotWorkloads, SnapshotUsage, HistoryFilled),
        *(Observation, Reaction),
        keeps=False,
    ),
    _inference_identity(),
)
_AFTER_AGENTS: tuple[Identity, ...] = (
    _service_identity("referee", "decides", Decision),
    _service_identity(
        "executor", "acts", OutcomeExecution, OutcomeVerification, OutcomeCapabilities
    ),
    _service_identity(
        "scoreboard",
        "scores",
        *(OutcomeReward, OutcomeForecast, OutcomeScore, OutcomeCounterfactual, OutcomeSwitchback),
        *(OutcomeBreaker, OutcomeModels),
    ),
    _service_identity(
        "untouched",
        "looks at the simulated world without us",
        *(UntouchedNodes, UntouchedPlacements, UntouchedWorkloads, UntouchedObservation),
    ),
    _service_identity("exerciser", "stirs its own namespace", Stimulus),
    Identity("dashboard", "shows the log to browsers", sends_heartbeats=True),
    Identity("tracing", "turns cycles into traces", sends_heartbeats=True),
    Identity("recorder", "writes the log to a file"),
    Identity("replayer", "publishes a recording again, as a cluster of its own", replays=True),
    Identity("operator", "kill, pause, resume, mode, undo, rearm", _subjects_of("", Control)),
    Identity("reader", "tap, explain, status, and whoever gives no name", receives_heartbeats=True),
)
_FIXED = {identity.name: identity for identity in (*_BEFORE_AGENTS, *_AFTER_AGENTS)}


def identity_table(agents: Iterable[AgentName]) -> tuple[Identity, ...]:
    """Return everybody who connects to a log of ours, with an identity for each agent."""
    return (*_BEFORE_AGENTS, *(_agent_identity(agent) for agent in agents), *_AFTER_AGENTS)


def identity_of(name: str) -> Identity | None:
    """Return the identity of that name; None when nobody is called so."""
    prefix, agent = name[: len(AGENT_PREFIX)], name[len(AGENT_PREFIX) :]
    if prefix == AGENT_PREFIX and AGENT_NAME.fullmatch(agent):
        return _agent_identity(agent)
    return _FIXED.get(name)


def table_of_names(names: Iterable[str]) -> tuple[Identity, ...]:
    """Return the table that holds the agents among some identities' names."""
    agents = (name[len(AGENT_PREFIX) :] for name in names if name.startswith(AGENT_PREFIX))
    return identity_table(agents)


def keeps_state(process: str) -> bool:
    """Say whether a process stores checkpoints."""
    identity = identity_of(process)
    return identity is not None and (Checkpoint.PATTERN[0], process) in identity.publishes
