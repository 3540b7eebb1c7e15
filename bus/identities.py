"""Who may do what on the log: one table, from which nats.conf, the tests and the docs are made.

Which agents there are is not known here; the table is made for the agents' names that are given
(`services.identities` gives those that are registered), and an agent's identity follows from its
name alone.

Each identity publishes exactly the subjects of the event types that name it as their writer, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from schemas import subjects
from schemas.actions import AGENT_NAME, AgentName
from schemas.checkpoint import Checkpoint
from schemas.model import EVERY_AGENT, EVERY_PROCESS, EVERY_STATEFUL
from schemas.registry import EVENT_TYPES

AGENT_PREFIX = "agent-"
"""An agent's process is called `agent-<name>`."""
REPLAY_PREFIX = "replay-"
"""Clusters of replayed logs are called `replay-<run>`; only the replayer publishes there."""

Tokens = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Identity:
    """One account and user of the server."""

    name: str
    purpose: str
    publishes: tuple[Tokens, ...] = ()
    """Subject tokens after the cluster; `*` where a session names itself."""
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
        return tuple(subjects.pattern(cluster, tokens) for tokens in self.publishes)


def _written_by(*writers: str, name: str) -> tuple[Tokens, ...]:
    """Return the subjects of the types that name one of these writers, `name` where the data says who speaks."""
    written = (
        subject
        for writer in writers
        for kind in EVENT_TYPES
        if writer == kind.WRITER
        for subject in kind.patterns_of(name)
    )
    return tuple(dict.fromkeys(written))


def _service_identity(name: str, purpose: str, *, keeps: bool = True) -> Identity:
    """Return a service's identity: its events, its settings, its checkpoint if it `keeps` one, what it could not
    handle, its heartbeat.
    """
    families = (EVERY_PROCESS, EVERY_STATEFUL) if keeps else (EVERY_PROCESS,)
    published = _written_by(name, *families, name=name)
    return Identity(name, purpose, published, sends_heartbeats=True)


def _agent_identity(agent: AgentName) -> Identity:
    base = _service_identity(f"{AGENT_PREFIX}{agent}", f"proposes what {agent} wants")
    return replace(base, publishes=(*_written_by(EVERY_AGENT, name=agent), *base.publishes))


_BEFORE_AGENTS: tuple[Identity, ...] = (
    Identity("bootstrap", "declares the log, then leaves", reads=False, administers=True),
    Identity(
        "stack",
        "`foresail up` itself: run events, watching",
        _written_by("stack", EVERY_PROCESS, name="stack"),
    ),
    _service_identity("collector", "reads the cluster", keeps=False),
    _service_identity("inference", "predicts"),
)
_AFTER_AGENTS: tuple[Identity, ...] = (
    _service_identity("referee", "decides"),
    _service_identity("executor", "acts"),
    _service_identity("scoreboard", "scores"),
    _service_identity("untouched", "looks at the simulated world without us"),
    _service_identity("exerciser", "stirs its own namespace"),
    Identity("dashboard", "shows the log to browsers", sends_heartbeats=True),
    Identity("tracing", "turns cycles into traces", sends_heartbeats=True),
    Identity("recorder", "writes the log to a file"),
    Identity("replayer", "publishes a recording again, as a cluster of its own", replays=True),
    Identity(
        "operator",
        "kill, pause, resume, mode, undo, rearm, tuning sessions",
        _written_by("operator", name="operator"),
    ),
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
