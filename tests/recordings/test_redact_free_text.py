"""`redact` and what anybody may have written: canary words in every text field of every event type."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bus.port import StoredMessage
from bus.recording import RecordingWriter, open_recording
from lab.recordings.free_text import OPEN_FIELDS, PUBLIC_FIELDS, plain_fields
from lab.recordings.redact import redact
from lab.recordings.redaction import HIDDEN, CollectedNames, Renaming
from schemas.model import EventData
from schemas.outcome import OutcomeExecution
from schemas.registry import EVENT_TYPES, to_json
from tests.recordings.test_redact import SALT, text_of

CANARY = "canarybird"
OUR_SENTENCES = {
    "text": "made by our code from names and numbers; names in it are replaced",
    "rationale": "the referee's sentence, computed again from other names by verify",
    "detail": "what we say of a workload that we ship",
}
"""Fields whose words stay, and why; where others may write into one, a test below says that it is hidden."""
OTHERS_WRITE = {
    ("foresail.control.v1", ("text",)),
    ("foresail.run.error.v1", ("text",)),
    ("foresail.run.stage.v1", ("detail",)),
    ("foresail.run.data_source.v1", ("name",)),
    ("foresail.run.data_source.v1", ("detail",)),
}
PATHS = {kind: [path for path in plain_fields(kind) if path] for kind in EVENT_TYPES}


def redact_content(kind: type[EventData], content: dict[str, Any]) -> str:
    """Return what redacting makes of an event's content, as text."""
    gathered = CollectedNames()
    gathered.take(content)
    return json.dumps(Renaming(gathered, SALT).event(kind.TYPE, content))


def with_text(path: tuple[str, ...], text: str) -> dict[str, Any]:
    """Return content with a text at one place."""
    content: Any = text
    for name in reversed(path):
        content = {name: [content] if name == "reactions" else content}
    return dict(content)


@pytest.mark.parametrize("kind", EVENT_TYPES, ids=lambda kind: kind.TYPE)
def test_no_text_field_lets_a_canary_through(kind: type[EventData]) -> None:
    """Every field that can hold any text, as the schemas declare it: a new one is among them at once.
    Only what is public by design, or a sentence of ours, keeps its words.
    """
    for path in PATHS[kind]:
        content = redact_content(kind, with_text(path, CANARY))

        if (kind.TYPE, path) in OTHERS_WRITE:
            assert CANARY not in content, path
        elif path[-1] in PUBLIC_FIELDS or path[-1] in OUR_SENTENCES:
            assert CANARY in content, path
        elif path[-1] not in OPEN_FIELDS | {"cells", "deltas"}:  # keys are ours; columns are below
            assert CANARY not in content, path


def test_public_fields_are_not_those_of_names_or_texts() -> None:
    """A field that is public by design is no sentence, and every one of them exists."""
    known = {path[-1] for paths in PATHS.values() for path in paths}

    assert known >= PUBLIC_FIELDS
    assert not PUBLIC_FIELDS & {"text", "message", "patch", "undo", "value", "file_name", "study"}


def test_a_field_that_nobody_knows_is_hidden() -> None:
    """A new field, in an event or in a column of a table, is hidden until somebody says it is public."""
    content = {"brand_new": CANARY, "frame": {"cells": {"brand_new": {"values": [CANARY]}}}}
    said = redact_content(EVENT_TYPES[0], content)

    assert CANARY not in said
    assert said.count(HIDDEN) == 2


def test_what_may_move_keeps_its_joins() -> None:
    """Agents compare the places of a pod with nodes, its namespace with those watched, and count notices."""
    occupant = {"pod": "shop/web-1", "workload": "shop/Deployment/web", "places": ["rack-2"]}
    content = {
        "nodes": {"ids": ["plain", "rack-2"]},
        "namespaces": ["shop"],
        "occupancy": {
            "nodes": [{"node": "plain", "notices": ["KernelDeadlock"], "pods": [occupant]}],
            "closed": ["plain"],
            "marked": ["rack-2"],
            "free_gpus": {"plain": 2},
        },
    }
    said = json.loads(redact_content(EVENT_TYPES[0], content))
    (plain, rack), occupancy = said["nodes"]["ids"], said["occupancy"]
    (listed,) = occupancy["nodes"]

    assert not {"plain", "rack-2", HIDDEN} & {plain, rack}
    assert (listed["node"], listed["notices"]) == (plain, ["KernelDeadlock"])
    assert listed["pods"][0]["places"] == occupancy["marked"] == [rack]
    assert (occupancy["closed"], occupancy["free_gpus"]) == ([plain], {plain: 2})
    assert listed["pods"][0]["pod"].split("/")[0] == said["namespaces"][0] != "shop"


def test_files_of_the_machine_are_hidden_and_are_no_names() -> None:
    """Recordings of earlier versions hold whole paths: a folder `web2` on the way is no workload's name."""
    run = {
        "workload": "/home/web2/examples/own.csv",
        "scenario": "/home/web2/examples/bad-day.yaml",
        "machines": "../web2/types.yaml",
    }
    gathered = CollectedNames()
    gathered.take({"settings": {"run": run}})
    config = next(kind for kind in EVENT_TYPES if kind.TYPE == "foresail.config.v1")
    said = redact_content(config, {"settings": {"run": run}})

    assert not gathered.names
    assert not [word for word in ("web2", "own", "bad-day", "types") if word in said]
    assert "openb" in redact_content(config, {"settings": {"run": {"workload": "openb"}}})


def test_a_patch_keeps_its_form_and_none_of_its_words() -> None:
    """Labels, annotations, their values and their former values go; what every cluster has stays."""
    patch = {
        "metadata": {
            "annotations": {"team.example/canarybird": "canarybird", "foresail.dev/x": "canarybird"}
        },
        "spec": {
            "unschedulable": True,
            "replicas": 3,
            "taints": [{"effect": "NoSchedule", "key": "canarybird"}],
        },
    }
    for field in ("patch", "undo"):
        content = {"operations": [{field: json.dumps(patch), "text": "cordon"}]}
        said = redact_content(OutcomeExecution, content)
        made = json.loads(json.loads(said)["operations"][0][field])

        assert CANARY not in said
        assert made["spec"]["replicas"] == 3
        assert made["spec"]["unschedulable"] is True
        assert "NoSchedule" == made["spec"]["taints"][0]["effect"]
        assert "foresail.dev/x" in made["metadata"]["annotations"]
    assert CANARY not in redact_content(
        OutcomeExecution, {"operations": [{"undo": "canarybird {"}]}
    )


def test_what_the_api_server_said_keeps_its_own_words_alone() -> None:
    """The scheduler's sentence can still be read; a webhook's words, quoted or not, are gone."""
    webhook = 'admission webhook "a.example" denied the request: ask canarybird about Canarybird'
    scheduler = "0/6 nodes are available: 1 Insufficient cpu, 5 node(s) didn't match Pod's node affinity/selector."
    for field in ("message", "status_message"):
        assert CANARY not in redact_content(OutcomeExecution, {field: webhook}).lower()
        assert scheduler in json.loads(redact_content(OutcomeExecution, {field: scheduler}))[field]
    failed = redact_content(OutcomeExecution, {"text": f"scale web: {webhook}"})
    waits = {"reactions": [{"object": "a/b", "text": f"pod a/b waits for a node: {webhook}"}]}
    reaction = next(one for one in EVENT_TYPES if one.TYPE == "foresail.reaction.v1")

    assert CANARY not in failed.lower()
    assert CANARY not in redact_content(reaction, waits).lower()


def test_an_operators_words_are_in_no_line_of_the_file(run_file: Path, tmp_path: Path) -> None:
    """In a whole recording: the reason of a pause, the value of a command, an error, a patch."""
    recording = open_recording(run_file)
    messages = list(recording)
    executed = next(
        message for message in messages if message.subject.endswith(".outcome.execution")
    )
    source = next(message for message in messages if ".run.data_source." in message.subject)

    def event(base: StoredMessage, event_type: str, subject: str, **data: Any) -> StoredMessage:
        headers = {**base.headers, "ce-type": event_type}
        return replace(base, headers=headers, subject=subject, data=to_json(data))

    def edited(base: StoredMessage, **change: Any) -> StoredMessage:
        return replace(base, data=to_json({**json.loads(base.data), **change}))

    root = executed.subject.removesuffix(".outcome.execution")
    control = {"command": "pause", "nonce": "1", "wall_time_seconds": 1.0, "value": CANARY}
    added = [
        event(
            executed, "foresail.control.v1", f"{root}.control", **control, text=f"{CANARY} asked"
        ),
        edited(source, kind="file", name=f"{CANARY}.csv", detail=[CANARY]),
        edited(
            executed,
            operations=[{"verb": "patch", "undo": f'{{"{CANARY}":1}}'}],
            text=f"x: {CANARY}",
        ),
    ]
    writer = RecordingWriter(tmp_path / "a", recording.header)
    for message in messages:
        writer.write(message)
    for number, message in enumerate(added, start=messages[-1].seq + 1):
        writer.write(replace(message, seq=number))
    writer.seal()
    redact(tmp_path / "a", tmp_path / "b", SALT)

    assert text_of(tmp_path / "a").count(CANARY) >= 6
    assert CANARY not in text_of(tmp_path / "b")
