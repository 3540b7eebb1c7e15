"""What holds where the library of CEL has no wheel."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

PROGRAM = """
import json, sys
sys.modules["cel_expr_python"] = None  # an import of it fails, as where it is not installed
from twin.api.messages import Request
from twin.api.router import Router
from twin.engine import Engine

engine = Engine(None, 1)
router = Router(engine)

def ask(method, path, body):
    headers = {"content-type": "application/json"}
    answer = router.handle(Request(method, path, {}, headers, json.dumps(body).encode()))
    engine.advance(engine.now + 5.0)
    return answer.status, json.loads(answer.body)

print(json.dumps([ask(*each) for each in json.load(sys.stdin)]))
"""
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def _definition(plural: str, **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"size": {"type": "integer", "minimum": 1, **more}}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    names = {"plural": plural, "kind": plural.removesuffix("s").capitalize()}
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": names,
        "versions": [version],
    }
    return {"metadata": {"name": f"{plural}.example.com"}, "spec": spec}


def _ask(*requests: tuple[str, str, Any]) -> list[tuple[int, Any]]:
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(requests),
        capture_output=True,
        text=True,
        check=True,
    )
    answers: list[tuple[int, Any]] = json.loads(told.stdout)
    return answers


def test_rules_are_refused_and_all_else_works() -> None:
    """Without the library a definition with rules is 422 and names it; one without rules is served and checked."""
    rules = [{"rule": "self > 0"}]
    path = "/apis/example.com/v1/namespaces/default/gadgets"
    gadget = {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "a"}}
    answers = _ask(
        ("POST", DEFINITIONS, _definition("widgets", **{"x-kubernetes-validations": rules})),
        ("POST", DEFINITIONS, _definition("gadgets")),
        ("POST", path, {**gadget, "size": 3}),
        ("POST", path, {**gadget, "size": 0}),
    )
    assert [status for status, _ in answers] == [422, 201, 201, 422]
    causes = answers[0][1]["details"]["causes"]
    assert [cause["field"].rpartition(".")[2] for cause in causes] == ["rule"]
    assert "the package cel-expr-python is not installed" in causes[0]["message"]
