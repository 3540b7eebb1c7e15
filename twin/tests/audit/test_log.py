"""What the audit log promises: each request in the form of Kubernetes, as the policy says."""

from __future__ import annotations

import re
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from twin.tests.audit.conftest import Audited
from twin.tests.audit.rows import MAPS, ROWS, Row, Said
from twin.tests.contract.faces import Acting
from twin.tests.contract.webhook_server import webhook_server

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def _ask(audited: Audited, row: Row) -> list[dict[str, Any]]:
    agent = f"row {ROWS.index(row)}"
    audited.face.agent = agent
    acting = Acting(row.acting_for) if row.acting_for else None
    if "watch" in row.query:
        audited.face.events(row.path, row.query)
    else:
        audited.face.ask(
            row.method,
            row.path,
            query=row.query,
            body=row.body,
            content_type=row.kind,
            acting_for=acting,
        )
    return audited.events(agent)


def _holds(part: Any, whole: Any) -> bool:
    if isinstance(part, Mapping):
        return isinstance(whole, Mapping) and all(
            _holds(value, whole.get(name)) for name, value in part.items()
        )
    return bool(part == whole)


def _check(event: dict[str, Any], said: Said) -> None:
    assert (event["kind"], event["apiVersion"]) == ("Event", "audit.k8s.io/v1")
    assert (event["stage"], event["level"], event["verb"]) == (said.stage, said.level, said.verb)
    assert event.get("responseStatus", {}).get("code", 0) == said.code
    if said.reference is not None:
        assert event["objectRef"] == dict(said.reference)
    for name, part in (("requestObject", said.sent), ("responseObject", said.answered)):
        if part is None:
            assert name not in event
        else:
            assert _holds(part, event[name]), event[name]
            assert "managedFields" not in event[name].get("metadata", {})
    assert _holds(said.status, event.get("responseStatus", {})), event
    annotations = event.get("annotations", {})
    assert annotations.get("authorization.k8s.io/decision") == said.decision
    assert TIME.fullmatch(event["requestReceivedTimestamp"])
    assert TIME.fullmatch(event["stageTimestamp"])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_requests_are_written_as_the_policy_says(audited: Audited, row: Row) -> None:
    """Each stage is one line with user, object and status, and with the bodies that its level has."""
    events = _ask(audited, row)
    assert [event["stage"] for event in events] == [said.stage for said in row.events]
    assert len({event["auditID"] for event in events}) == min(len(events), 1)
    for event, said in zip(events, row.events, strict=True):
        assert event["requestURI"].partition("?")[0] == row.path
        assert event["user"]["username"]
        _check(event, said)
        impersonated = event.get("impersonatedUser", {}).get("username", "")
        assert impersonated == (row.acting_for if said.code else "")


def test_a_wrong_token_is_written(audited: Audited) -> None:
    """Who cannot say who it is leaves one event, as its answer starts."""
    audited.face.agent = "stranger"
    assert audited.face.ask_as("wrong", MAPS).status == 401
    (event,) = audited.events("stranger")
    assert (event["stage"], event["responseStatus"]["code"]) == ("ResponseStarted", 401)
    assert event["responseStatus"]["message"] == "Unauthorized"
    assert event["responseStatus"]["reason"] == "Unauthorized"
    assert event["user"] == {}


def test_an_answer_names_its_event(audited: Audited) -> None:
    """The header Audit-Id of an answer is that of its event."""
    audited.face.agent = "named"
    answer = audited.face.ask("GET", MAPS)
    assert {event["auditID"] for event in audited.events("named")} == {answer.headers["audit-id"]}


def test_only_its_owner_reads_the_log(audited: Audited) -> None:
    """Bodies may hold secrets, so the file is nobody else's."""
    assert stat.S_IMODE(audited.log.stat().st_mode) == 0o600


def test_webhooks_add_to_the_log(audited: Audited, tmp_path: Path) -> None:
    """The audit annotations of a webhook are those of the event, under its name."""
    with webhook_server(tmp_path) as server:
        hook = {
            "name": "a.example.com.hooks",
            "clientConfig": server.client("warn/said"),
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
                       "operations": ["CREATE"]}],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }  # fmt: skip
        where = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        body = {"metadata": {"name": "a"}, "webhooks": [hook]}
        assert audited.face.ask("POST", where, body=body).status == 201
        written: dict[str, str] = {}
        for number in range(100):
            audited.face.agent = f"annotated {number}"
            made = {"metadata": {"name": "annotated"}}
            audited.face.ask("POST", MAPS, body=made, query={"dryRun": "All"})
            (event,) = audited.events(audited.face.agent)
            written = event["annotations"]
            if len(written) > 2:
                break
            time.sleep(0.1)
        assert written["a.example.com.hooks/said"] == "said"
        assert audited.face.ask("DELETE", f"{where}/a").status == 200
