"""Requests one after the other are answered as kube-apiserver 1.36 answered them, warnings included."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from twin.tests.contract.faces import APPLY, Place
from twin.tests.contract.flow_rows import FLOWS, ON_THE_WIRE
from twin.tests.contract.flows import FILE, Flow, answers

KNOWN: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
_WARNING = re.compile(r'299 - "(?:[^"\\]|\\.)*"')
_OF_HEADERS = frozenset({"type", "warning"})


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.name)
def test_answers_are_those_of_a_real_server(place: Place, flow: Flow) -> None:
    """Each step has the status, the body and the warnings that a real server answered with."""
    _compare(place, flow)


@pytest.mark.parametrize("flow", ON_THE_WIRE, ids=lambda flow: flow.name)
def test_forms_are_those_of_a_real_server(over_http: Place, flow: Flow) -> None:
    """What is negotiated, and what a watch sends, is as on a real server."""
    _compare(over_http, flow)


def _compare(place: Place, flow: Flow) -> None:
    wanted: list[dict[str, Any]] = [dict(one) for one in KNOWN[flow.name]]
    found = list(answers(place.face, place.namespace, flow))
    if not place.face.has_headers:
        text = json.dumps(wanted).replace(
            "contract-suite", "unknown"
        )  # who writes is said in a header
        wanted = [
            {name: value for name, value in one.items() if name not in _OF_HEADERS}
            for one in json.loads(text)
        ]
    for one in (*found, *wanted):  # a real server's come in the order of a Go map
        if "warning" in one:
            one["warning"] = sorted(_WARNING.findall(one["warning"]))
    for number, (step, expected) in enumerate(zip(flow.steps, wanted, strict=True)):
        assert found[number] == expected, f"step {number}: {step[0]} {step[1]}"


def test_who_applies_what_is_there_already_leaves_no_time(place: Place) -> None:
    """A second manager of the same value has an entry without one, until it changes something."""
    path = f"/api/v1/namespaces/{place.namespace}/configmaps/shared"

    def apply(manager: str, **data: str) -> dict[str, bool]:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "shared"},
            "data": data,
        }
        done = place.face.ask("PATCH", path, {"fieldManager": manager}, body, APPLY)
        assert done.status in {200, 201}, done.text
        return {one["manager"]: "time" in one for one in done.body["metadata"]["managedFields"]}

    assert apply("one", a="1") == {"one": True}
    assert apply("two", a="1") == {"one": True, "two": False}
    assert apply("two", a="1", b="2") == {"one": True, "two": True}
