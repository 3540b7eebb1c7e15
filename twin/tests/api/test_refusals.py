"""What the API face refuses, and that a refusal changes nothing."""

from __future__ import annotations

import json

import pytest

from twin.api.access import ADMIN, READER, Identity
from twin.api.messages import JSON, Request, Response
from twin.api.router import Router
from twin.api.tokens import Tokens
from twin.engine import Engine
from twin.workloads import open_workload

NODES = "/api/v1/nodes"
NODE = f"{NODES}/node-0000"
EVICTION = "/api/v1/namespaces/default/pods/x/eviction"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


@pytest.fixture
def engine() -> Engine:
    """Return a cluster of three idle nodes."""
    made = Engine(None, 1)
    made.add_nodes(open_workload("idle", nodes=3, seed=1).nodes)
    return made


def _ask(
    engine: Engine,
    method: str,
    path: str,
    query: dict[str, str] | None = None,
    body: bytes = b"",
    kind: str = JSON,
    identity: Identity = ADMIN,
) -> Response:
    headers = {"content-type": kind, "accept": JSON}
    answer = Router(engine).handle(Request(method, path, query or {}, headers, body), identity)
    assert isinstance(answer, Response)
    return answer


@pytest.mark.parametrize(
    ("method", "path", "query", "body", "kind"),
    [
        ("DELETE", NODE, {"dryRun": "bogus"}, b"", JSON),
        ("DELETE", NODE, {"dryRun": ""}, b"", JSON),
        ("DELETE", NODE, {}, b'{"dryRun": ["all"]}', JSON),
        ("DELETE", NODE, {}, b'{"dryRun": "All"}', JSON),
        ("DELETE", NODE, {"gracePeriodSeconds": "x"}, b"", JSON),
        ("DELETE", NODE, {}, b'{"preconditions": 5}', JSON),
        ("POST", EVICTION, {}, b'{"deleteOptions": 5}', JSON),
        ("PATCH", NODE, {}, b'{"spec": 5}', MERGE),
        ("PATCH", NODE, {}, b'{"spec": {"taints": 5}}', STRATEGIC),
        ("PUT", NODE, {}, b'{"metadata": 5}', JSON),
        ("POST", NODES, {}, b'{"metadata": []}', JSON),
        ("GET", NODES, {"continue": "WzEsMiwzXQ=="}, b"", JSON),
        ("GET", NODES, {"labelSelector": "a in b"}, b"", JSON),
        ("GET", "/api/v1/pods", {"fieldSelector": "spec.foo=1"}, b"", JSON),
    ],
)
def test_malformed_requests_are_refused_and_change_nothing(
    engine: Engine, method: str, path: str, query: dict[str, str], body: bytes, kind: str
) -> None:
    """A request that cannot be understood gets 400 or 422 with a Status, and nothing is written."""
    before = engine.state_hash()
    answer = _ask(engine, method, path, query, body, kind)
    assert answer.status in (400, 422)
    assert json.loads(answer.body)["code"] == answer.status
    assert engine.state_hash() == before


def test_dry_run_delete_answers_and_keeps_the_node(engine: Engine) -> None:
    """`dryRun=All` answers as the delete would and leaves no trace."""
    before = engine.state_hash()
    assert _ask(engine, "DELETE", NODE, {"dryRun": "All"}).status == 200
    assert engine.state_hash() == before


def test_reader_is_forbidden_to_write(engine: Engine) -> None:
    """A write without the right to write gets 403 and changes nothing."""
    before = engine.state_hash()
    assert _ask(engine, "DELETE", NODE, identity=READER).status == 403
    assert engine.state_hash() == before


def test_protobuf_body_is_told_what_to_do(engine: Engine) -> None:
    """A protobuf body of a kind without a table gets 415 with the way round it."""
    body = b"k8s\x00\x0a\x13\x0a\x0eexample.com/v1\x12\x01A"
    answer = _ask(engine, "POST", NODES, {}, body, "application/vnd.kubernetes.protobuf")
    assert answer.status == 415
    assert "apply -f" in json.loads(answer.body)["message"]


def test_token_outside_ascii_is_refused() -> None:
    """A token with letters outside ASCII is a wrong token, not an error."""
    tokens = Tokens({"admin": "writer", "reader": "reader"})
    given = [tokens.identity(f"Bearer {token}") for token in ("writer", "reader", "é")]
    assert given == [ADMIN, READER, None]
