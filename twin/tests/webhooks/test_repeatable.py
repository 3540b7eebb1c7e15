"""What webhooks do not break: re-runs without them, others' turns, and worlds that have none."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from twin.__main__ import build_engine
from twin.api.journal import Journal
from twin.api.messages import Request, Response
from twin.api.router import Router
from twin.config import START_2026
from twin.engine import Engine
from twin.settings import TwinSettings
from twin.tests.contract.webhook_server import WebhookServer, webhook_server
from twin.webhooks.answers import CallsNeeded, WebhookAnswers
from twin.webhooks.calling import call_all
from twin.world_settings import world_of

WORLD = TwinSettings(seed=5, nodes=2, workload="idle", start_time_seconds=START_2026)
KEY = world_of(WORLD)
MAPS = "/api/v1/namespaces/default/configmaps"
GROUP = "/apis/admissionregistration.k8s.io/v1"


def _write(path: str, body: Any) -> Request:
    headers = {"content-type": "application/json"}
    return Request("POST", path, {}, headers, json.dumps(body).encode())


def _configuration(server: WebhookServer, kind: str, path: str) -> Request:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    hook = {
        "name": "a.example.com.hooks",
        "clientConfig": server.client(path),
        "rules": [{**rule, "operations": ["CREATE"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return _write(
        f"{GROUP}/{kind}webhookconfigurations", {"metadata": {"name": "a"}, "webhooks": [hook]}
    )


def _requests(server: WebhookServer) -> list[Request]:
    return [
        _configuration(server, "mutating", "annotate/x"),
        _configuration(server, "validating", "warn/y"),
        _write(MAPS, {"metadata": {"name": "a"}}),
    ]


def _live(engine: Engine, requests: list[Request], journal: Journal, calls: list[int]) -> None:
    """Send writes a second apart, and call webhooks for them while time goes on."""
    router = Router(engine)
    for sent in requests:
        webhook_answers = WebhookAnswers(engine.now)
        request = Request(
            "POST", sent.path, {}, sent.headers, sent.body, webhook_answers=webhook_answers
        )
        while True:
            journal.reserve(engine.now + 1.0, 0.5)
            engine.advance(engine.now + 1.0)
            try:
                answer = router.handle(request)
            except CallsNeeded as needed:
                calls.append(len(needed.calls))
                webhook_answers.hear(needed.calls, call_all(needed.calls))
                continue
            assert isinstance(answer, Response)
            assert answer.status == 201, answer.body
            journal.note(engine.now, request)
            break
    engine.advance(engine.now + 0.25)


def test_a_journal_needs_no_webhooks(tmp_path: Path) -> None:
    """A world that is re-run from its journal has what webhooks once made of it, with none there any more."""
    engine, journal = build_engine(WORLD), Journal(tmp_path / "journal", KEY)
    journal.replay(engine)
    calls: list[int] = []
    with webhook_server(tmp_path) as server:
        _live(engine, _requests(server), journal, calls)
    journal.close()
    assert calls == [1, 1]
    again, journal = build_engine(WORLD), Journal(tmp_path / "journal", KEY)
    journal.replay(again)
    journal.close()
    both = max(engine.now, again.now)
    engine.advance(both)
    again.advance(both)
    (made,) = [one for one in again.store.list("configmaps") if one["metadata"]["name"] == "a"]
    assert made["metadata"]["annotations"] == {"order": "x"}
    assert engine.state_hash() == again.state_hash()


def test_nobody_is_called_without_a_hearing(tmp_path: Path) -> None:
    """Who asks the router without a way to call webhooks gets the answer of one that cannot be reached."""
    engine = build_engine(WORLD)
    router = Router(engine)
    with webhook_server(tmp_path) as server:
        for request in _requests(server)[:2]:
            router.handle(request)
        answer = router.handle(_requests(server)[2])
        assert isinstance(answer, Response)
        assert answer.status == 500
        assert b"nobody calls webhooks here" in answer.body
        assert server.asked == {}


@pytest.mark.twin
def test_others_have_their_turn(served_cluster: Any, tmp_path: Path) -> None:
    """While a webhook takes its time, the server answers others."""
    done = threading.Event()
    with webhook_server(tmp_path) as server:
        body = json.loads(_configuration(server, "validating", "break/wait").body)
        where = f"{GROUP}/validatingwebhookconfigurations"
        assert served_cluster.ask("POST", where, body=body).status == 201

        def write() -> None:
            served_cluster.ask("POST", MAPS, body={"metadata": {"name": "slow"}})
            done.set()

        writing = threading.Thread(target=write)
        writing.start()
        assert server.arrived.wait(30)
        assert served_cluster.ask("GET", MAPS).status == 200
        assert not done.is_set()
        server.go_on.set()
        writing.join()
        assert served_cluster.ask("GET", f"{MAPS}/slow").status == 200
        assert served_cluster.ask("DELETE", f"{where}/a").status == 200
