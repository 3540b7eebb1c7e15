"""What rules in CEL promise: values held against them, changes, messages, and rules that cannot be."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from twin.tests.contract.custom import Custom, Schema, causes, object_of, patch, version
from twin.tests.contract.faces import Face
from twin.tests.contract.rule_cases import CHANGES, RULES, WRONG, Row

ALL = {"dryRun": "All"}
_ROOT = [{"rule": "self.metadata.name != 'bad'", "message": "bad name"}]


@pytest.fixture(scope="module")
def ruled_kind(face: Face) -> Custom:
    """Return a definition with all the rules."""
    members = {name: schema for name, schema, _, _ in RULES}
    schema = {**object_of(spec=object_of(**members)), "x-kubernetes-validations": _ROOT}
    return Custom(face, version(schema)).create()


def _ask(custom: Custom, name: str, value: Any) -> Any:
    body = custom.object("a", spec={name: value})
    return custom.face.ask("POST", custom.path("default"), body=body, query=ALL)


@pytest.mark.parametrize("row", RULES, ids=lambda row: row[0])
def test_values_are_held_against_rules(ruled_kind: Custom, row: Row) -> None:
    """What keeps the rules is stored; what breaks one is 422 with its field, reason and message."""
    name, _, kept, broken = row
    for value in kept:
        answer = _ask(ruled_kind, name, value)
        assert answer.status == 201, answer.text
    for value, expected in broken:
        answer = _ask(ruled_kind, name, value)
        assert answer.status == 422, answer.text
        assert [(one["field"], one["message"]) for one in causes(answer)] == expected


@pytest.mark.parametrize("row", CHANGES, ids=lambda row: f"{row[0]} {row[3]}"[:30])
def test_changes_are_held_against_transition_rules(
    face: Face, row: tuple[str, Schema, Any, Any, list[tuple[str, str]]]
) -> None:
    """A rule about `oldSelf` sees what was there, item by item in lists with keys, and leaves new values alone."""
    name, schema, first, then, expected = row
    custom = Custom(face, version(object_of(spec=object_of(**{name: schema})))).create()
    custom.make("default", "a", spec={name: first})
    answer = patch(custom, custom.path("default", "a"), {"spec": {name: then}})
    assert answer.status == (422 if expected else 200), answer.text
    assert [(one["field"], one["message"]) for one in causes(answer)] == expected


def test_a_rule_at_the_root_sees_the_name(ruled_kind: Custom) -> None:
    """Rules of the whole object may look at its name, and name no field."""
    body = ruled_kind.object("bad", spec={})
    answer = ruled_kind.face.ask("POST", ruled_kind.path("default"), body=body, query=ALL)
    assert answer.status == 422
    assert [(one["field"], one["message"]) for one in causes(answer)] == [
        ("<nil>", "Invalid value: bad name")
    ]


@pytest.mark.parametrize("row", WRONG, ids=lambda row: row[0])
def test_rules_that_cannot_be_are_refused(face: Face, row: tuple[str, Schema, str, str]) -> None:
    """A rule that cannot be compiled, or says something that cannot be, is 422 with its place."""
    _, schema, field, part = row
    answer = Custom(face, version(object_of(spec=object_of(a=schema)))).ask_to_create(**ALL)
    assert answer.status == 422, answer.text
    said = {one["field"]: one["message"] for one in causes(answer)}
    assert part in said.get(field, ""), said


def test_rules_end_within_their_budget(simulated_face: Face) -> None:
    """Rules that take too much work end with a refusal instead of stopping everybody else."""
    numbers: Schema = {"type": "array", "items": {"type": "integer"}}
    rule = {"rule": "self.all(x, self.all(y, self.all(z, x + y + z >= 0)))"}
    schema = object_of(spec=object_of(a={**numbers, "x-kubernetes-validations": [rule]}))
    custom = Custom(simulated_face, version(schema)).create()
    answer = _ask(custom, "a", list(range(500)))
    assert answer.status == 422
    assert "budget" in answer.body["message"].lower()


def test_a_process_without_rules_does_not_load_the_library() -> None:
    """The twin's server starts without the library of CEL."""
    script = "import sys, twin.api.server, twin.inprocess; print('cel_expr_python' in sys.modules)"
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == "False"
