"""Who may do what on the log: one table, from which nats.conf, the tests and the docs are made.

Each identity publishes exactly the subjects named here and nothing else; subjects come from the
schemas, so that a new event type belongs to nobody until it is given to somebody (a test says so).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from schemas import subjects
from schemas.actions import Agent
from schemas.checkpoint import Checkpoint
from schemas.config import Config
from schemas.control import Control
from schemas.decision import Decision
from schemas.model import EventData
from schemas.observation import Observation
from schemas.outcome import OutcomeExecution, OutcomeForecast, OutcomeReward, OutcomeVerification
from schemas.prediction import (
    SHADOW_SLOTS,
    PredictionDemand,
    PredictionRisk,
    PredictionShadow,
)
from schemas.proposal import Proposal
from schemas.reaction import Reaction
from schemas.run import RunArtifact, RunComplete, RunDataSource, RunError, RunStage, RunTrial
from schemas.snapshot import SnapshotNodes, SnapshotPlacements, SnapshotWorkloads
from schemas.stimulus import Stimulus

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
    beats: bool = False
    """Whether it may say on `health.<cluster>.<its name>` that it lives."""
    hears_beats: bool = False
    """Whether it may listen to everybody's beats."""
    replays: bool = False
    """Whether it may publish everything of a replayed cluster (and nothing of any other)."""
    administers: bool = False
    """Whether it may create streams and consumers; it reads and publishes no event."""

    def subjects(self, cluster: str) -> tuple[str, ...]:
        """Return the stored subjects that it may publish in one cluster."""
        if cluster.startswith(REPLAY_PREFIX):
            return (subjects.pattern(cluster, (">",)),) if self.replays else ()
        return tuple(subjects.build(cluster, tokens) for tokens in self.publishes)


def _own(name: str, *kinds: Kind) -> tuple[Tokens, ...]:
    """Return the subjects of some types, with `name` where the data names who speaks."""
    return tuple(tuple(name if token == "*" else token for token in kind.PATTERN) for kind in kinds)


def _process(name: str, purpose: str, *kinds: Kind, keeps: bool = True) -> Identity:
    """Return a service's identity: its events, its settings, its checkpoint if it `keeps` one, its
    beat.
    """
    said = (Config, Checkpoint) if keeps else (Config,)
    return Identity(name, purpose, _own(name, *kinds, *said), beats=True)


def _agent(agent: Agent) -> Identity:
    name = f"agent-{agent.value}"
    published = (*_own(agent.value, Proposal), *_own(name, Config, Checkpoint))
    return Identity(name, f"proposes what {agent.value} wants", published, beats=True)


def _inference() -> Identity:
    """Return the identity of inference: besides its own subjects one for each shadow model."""
    base = _process("inference", "predicts", PredictionRisk, PredictionDemand)
    slots = (str(slot) for slot in range(1, SHADOW_SLOTS + 1))
    shadows = tuple((*PredictionShadow.PATTERN[:-1], slot) for slot in slots)
    return replace(base, publishes=(*base.publishes, *shadows))


_RUN = (RunStage, RunDataSource, RunArtifact, RunTrial, RunError, RunComplete)

IDENTITIES: tuple[Identity, ...] = (
    Identity("bootstrap", "declares the log, then leaves", reads=False, administers=True),
    Identity("stack", "`foresail up` itself: run events, watching", _own("stack", Config, *_RUN)),
    _process(
        "collector",
        "reads the cluster",
        *(SnapshotNodes, SnapshotPlacements, SnapshotWorkloads, Observation, Reaction),
        keeps=False,
    ),
    _inference(),
    *(_agent(agent) for agent in Agent),
    _process("referee", "decides", Decision),
    _process("executor", "acts", OutcomeExecution, OutcomeVerification),
    _process("scoreboard", "scores", OutcomeReward, OutcomeForecast),
    _process("exerciser", "stirs its own namespace", Stimulus),
    Identity("dashboard", "shows the log to browsers", beats=True),
    Identity("tracing", "turns cycles into traces", beats=True),
    Identity("recorder", "writes the log to a file"),
    Identity("replayer", "publishes a recording again, as a cluster of its own", replays=True),
    Identity("operator", "kill, pause, resume, mode, undo", _own("", Control)),
    Identity("reader", "tap, explain, status, and whoever gives no name", hears_beats=True),
)
"""Everybody who connects to a log of ours."""

BY_NAME = {identity.name: identity for identity in IDENTITIES}
