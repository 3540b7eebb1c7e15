"""The table of identities says what the schemas and the processes say."""

from __future__ import annotations

from pathlib import Path

import pytest

from bus.recording import open_recording
from foresail.settings import resolve
from foresail.stack.cluster import CLUSTER_SERVICES
from foresail.stack.processes import Connections, process_specs
from foresail.stack.virtual import run_virtual_stack
from schemas.agents import agent_names
from schemas.envelope import attributes_of
from schemas.model import EVERY_AGENT, EVERY_PROCESS, EVERY_STATEFUL, NOBODY, EventData
from schemas.registry import EVENT_TYPES
from services.identities import BY_NAME, IDENTITIES

CLUSTER = "twin"


def owners(kind: type[EventData]) -> set[str]:
    """Return who may publish a type on some subject."""
    return {
        identity.name
        for identity in IDENTITIES
        for tokens in identity.publishes
        if len(tokens) == len(kind.PATTERN)
        and all(want in {"*", given} for want, given in zip(kind.PATTERN, tokens, strict=True))
    }


@pytest.mark.parametrize("kind", EVENT_TYPES, ids=lambda kind: kind.TYPE)
def test_every_event_has_the_owner_that_its_schema_names(kind: type[EventData]) -> None:
    """A type that names its producer can be published by that identity and nobody else."""
    actual = owners(kind)

    if kind.WRITER in (EVERY_PROCESS, EVERY_STATEFUL):
        assert {"referee", "agent-safety"} <= actual
        assert ("collector" in actual) is (kind.WRITER == EVERY_PROCESS)
    elif kind.WRITER == EVERY_AGENT:
        assert actual == {f"agent-{agent}" for agent in agent_names()}
    elif kind.WRITER == NOBODY:
        assert actual == set()  # it stands in imported recordings alone
    else:
        assert actual == {kind.WRITER}


def test_no_subject_has_two_owners() -> None:
    """One writer per stored subject."""
    published = [subject for identity in IDENTITIES for subject in identity.subjects(CLUSTER)]

    assert len(published) == len(set(published))


def test_no_subject_is_a_wildcard_outside_replays() -> None:
    """Outside a replayed cluster every subject is named in full, but for sessions, which people name; in one only
    the replayer speaks.
    """
    sessions = {f"foresail.{CLUSTER}.run.{kind}.*" for kind in ("session", "session_cancel")}
    named = [
        subject
        for identity in IDENTITIES
        for subject in identity.subjects(CLUSTER)
        if not (identity.name == "operator" and subject in sessions)
    ]
    replayed = {identity.name: identity.subjects("replay-7") for identity in IDENTITIES}

    assert not any("*" in subject or ">" in subject for subject in named)
    assert {name: said for name, said in replayed.items() if said} == {
        "replayer": ("foresail.replay-7.>",)
    }


@pytest.mark.slow
def test_what_a_run_says_its_identities_may_say(tmp_path: Path) -> None:
    """Every event of a run with all services was published on a subject that its producer owns."""
    record = tmp_path / "run.fslog"
    given = {"run.virtual_time": True, "run.for_seconds": 330.0, "run.nodes": 8}
    more = {"run.record": str(record), "run.workload": "openb", "run.exercise": True}
    run_virtual_stack(resolve(None, {}, {**given, **more}), quiet=True)
    said = {
        (attributes_of(message.headers)["source"].rsplit("/", 1)[-1], message.subject)
        for message in open_recording(record)
    }

    foreign = [
        (producer, subject)
        for producer, subject in sorted(said)
        if subject not in BY_NAME[producer].subjects(CLUSTER)
    ]
    assert [] == foreign
    assert {producer for producer, _ in said} >= {"stack", "collector", "referee", "exerciser"}


def test_every_process_of_a_stack_is_somebody() -> None:
    """Each process that a stack starts has an identity that sends heartbeats, and its login in its environment."""
    settings = resolve(None, {}, {"run.exercise": True})
    files = dict.fromkeys(CLUSTER_SERVICES, "")
    specs = process_specs(settings, Connections(CLUSTER, "i1", "S", "nats://x", files, None))

    assert [] == [spec.name for spec in specs if not BY_NAME[spec.name].sends_heartbeats]
