"""Worlds with custom resources: the same after a journal, a checkpoint or a clone; others unchanged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from twin.__main__ import build_engine
from twin.api.journal import Journal
from twin.api.messages import Request, Response
from twin.api.router import Router
from twin.checkpoint import Checkpoint
from twin.config import START_2026
from twin.definitions.registry import DEFINITIONS as RESOURCE
from twin.engine import Engine
from twin.settings import TwinSettings
from twin.tests.contract.custom import DEFINITIONS, object_of, version
from twin.world_settings import world_of

WORLD = TwinSettings(seed=5, nodes=2, workload="idle", start_time_seconds=START_2026)
KEY = world_of(WORLD)
SCHEMA = object_of(spec=object_of(size={"type": "integer", "default": 1}))
PATH = "/apis/example.com/v1/namespaces/default"


def _definition(plural: str) -> dict[str, Any]:
    kind = plural.removesuffix("s").capitalize()
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": plural, "kind": kind},
        "versions": [
            version(SCHEMA, subresources={"status": {}}),
            version(SCHEMA, "v1beta1", storage=False),
        ],
    }
    return {"metadata": {"name": f"{plural}.example.com"}, "spec": spec}


def _object(kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": name}, "spec": {}}


def _requests() -> list[Request]:
    """Return writes that make, change and take away definitions and their objects."""
    headers = {"content-type": "application/json"}

    def write(method: str, path: str, body: Any, kind: str = "application/json") -> Request:
        return Request(
            method, path, {}, {**headers, "content-type": kind}, json.dumps(body).encode()
        )

    merge = "application/merge-patch+json"
    return [
        write("POST", DEFINITIONS, _definition("widgets")),
        write("POST", DEFINITIONS, _definition("gadgets")),
        write("POST", f"{PATH}/widgets", _object("Widget", "a")),
        write("POST", f"{PATH}/widgets", _object("Widget", "b")),
        write("POST", f"{PATH}/gadgets", _object("Gadget", "c")),
        write("PATCH", f"{PATH}/widgets/a", {"spec": {"size": 3}}, merge),
        write("PATCH", f"{PATH}/widgets/a/status", {"status": {"ready": True}}, merge),
        Request("DELETE", f"{DEFINITIONS}/gadgets.example.com"),
        write("POST", DEFINITIONS, _definition("doodads")),
    ]


def _live(engine: Engine, requests: list[Request], journal: Journal | None = None) -> list[bytes]:
    """Send requests a second apart; return what was answered."""
    router, answers = Router(engine), []
    for request in requests:
        until = engine.now + 1.0
        if journal is not None:
            journal.reserve(until, 0.5)
        engine.advance(until)
        answer = router.handle(request)
        assert isinstance(answer, Response)
        assert answer.status in (200, 201), answer.body
        answers.append(answer.body)
        if journal is not None:
            journal.note(engine.now, request)
    engine.advance(engine.now + 0.25)
    return answers


def test_the_same_requests_give_the_same_bytes() -> None:
    """Two worlds that are asked the same answer the same, and end in the same state."""
    first, second = build_engine(WORLD), build_engine(WORLD)
    assert _live(first, _requests()) == _live(second, _requests())
    assert first.state_hash() == second.state_hash()


def test_a_journal_brings_custom_resources_back(tmp_path: Path) -> None:
    """A world that is re-run from its journal has the definitions and objects that it had."""
    engine, journal = build_engine(WORLD), Journal(tmp_path / "journal", KEY)
    journal.replay(engine)
    _live(engine, _requests(), journal)
    journal.close()
    again, journal = build_engine(WORLD), Journal(tmp_path / "journal", KEY)
    journal.replay(again)
    journal.close()
    both = max(engine.now, again.now)  # a restart skips to the newest mark
    engine.advance(both)
    again.advance(both)
    assert [one["metadata"]["name"] for one in again.store.list("widgets.example.com")] == [
        "a",
        "b",
    ]
    assert engine.state_hash() == again.state_hash()


def test_a_checkpoint_at_any_request_goes_on_alike(tmp_path: Path) -> None:
    """Restored after any request, and cloned, a world serves what it served and has the same future."""
    requests = _requests()
    for number in range(len(requests) + 1):
        engine = build_engine(WORLD)
        _live(engine, requests[:number])
        path = tmp_path / "checkpoint"
        Checkpoint.of(engine, {"seed": 5}).write(path)
        restored = build_engine(WORLD)
        Checkpoint.read(path, {"seed": 5}).restore(restored, path)
        clone = engine.clone()
        answers = _live(engine, requests[number:])
        assert answers == _live(restored, requests[number:])
        assert answers == _live(clone, requests[number:])
        assert engine.state_hash() == restored.state_hash() == clone.state_hash()


def test_definitions_that_are_gone_leave_no_resources() -> None:
    """After its definition is deleted, a kind is neither kept nor served."""
    engine = build_engine(WORLD)
    _live(engine, _requests())
    assert [one.name for one in engine.store.records(RESOURCE)] == [
        "doodads.example.com",
        "widgets.example.com",
    ]
    assert set(engine.store.custom.stored) == {"doodads.example.com", "widgets.example.com"}
    assert Router(engine).handle(Request("GET", f"{PATH}/gadgets")).status == 404  # type: ignore[union-attr]


def test_namespaces_take_custom_resources_with_them() -> None:
    """A namespace that is deleted deletes the custom resources in it."""
    engine = build_engine(WORLD)
    engine.store.create("namespaces", "", {"metadata": {"name": "shop"}})
    _live(engine, _requests()[:1])
    engine.store.create("widgets.example.com", "shop", _object("Widget", "a"))
    engine.store.delete("namespaces", "", "shop")
    engine.advance(engine.now + 6.0)
    assert engine.store.find("namespaces", "", "shop") is None
    assert list(engine.store.records("widgets.example.com")) == []
