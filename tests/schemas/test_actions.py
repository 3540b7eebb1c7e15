"""Each kind of action is a model of its own, and its stored bytes are those of every recording so far."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter, ValidationError

from schemas.actions import PARAMETERS, Action, ActionKind, MigrateAction, ThrottleAction
from schemas.export import json_schema
from schemas.proposal import Proposal
from schemas.registry import to_json
from tests.action_builder import USUAL_PARAMETERS, make_action
from tests.builders import make_proposal

ACTION: TypeAdapter[Action] = TypeAdapter(Action)


def stored(action: Action) -> dict[str, Any]:
    """Return an action as it is stored."""
    return action.model_dump(mode="json")


@pytest.mark.parametrize("kind", ActionKind)
def test_an_action_is_stored_as_it_always_was(kind: ActionKind) -> None:
    """Seven members of `parameters` in one order, null for other kinds'; and it is read back."""
    action = make_action("safety", kind)
    parameters = dict.fromkeys(PARAMETERS) | dict(USUAL_PARAMETERS.get(kind, {}))
    old = {
        "agent": "safety",
        "kind": kind.value,
        "target": {"kind": action.target.kind.value, "name": action.target.name},
        "parameters": parameters,
    }

    assert to_json(stored(action)) == to_json(old)
    assert ACTION.validate_json(to_json(old)) == action
    made = make_proposal("safety", kind)
    assert Proposal.read(to_json(made.model_dump(mode="json"))) == made


def test_pods_that_are_named_are_stored_and_read_back() -> None:
    """Behind the members that every action has, through the event's own reading; and the published schema has them."""
    named = {"pods": ("shop/web-1", "shop/web-2")}
    action = make_action("safety", ActionKind.MIGRATE, **named)
    proposal = make_proposal("safety", ActionKind.MIGRATE, parameters=named)
    content = proposal.model_dump(mode="json")

    assert list(stored(action)["parameters"]) == [*PARAMETERS, "pods"]
    read = Proposal.read(to_json(content))
    assert (read, read.action.parameters) == (proposal, named)
    assert Draft202012Validator(json_schema(Proposal)).is_valid(content)


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, given in USUAL_PARAMETERS.items() for name in given]
)
def test_an_action_without_what_its_kind_needs_is_refused(kind: ActionKind, name: str) -> None:
    """A throttle without its cap can neither be built nor read, and the field is named."""
    content = stored(make_action("safety", kind))
    content["parameters"][name] = None

    with pytest.raises(ValidationError, match=name):
        ACTION.validate_json(json.dumps(content))
    with pytest.raises(ValidationError, match=name):
        ACTION.validate_python({"kind": kind, "target": {"kind": "node", "name": "n1"}})


def test_an_action_has_no_field_of_another_kind() -> None:
    """A migrate has no cap: not when it is built, and not when somebody stored one."""
    content = stored(make_action("safety", ActionKind.MIGRATE))
    content["parameters"]["cpu_cap_ratio"] = 0.5
    read = ACTION.validate_python(content)

    assert isinstance(read, MigrateAction)
    assert not hasattr(read, "cpu_cap_ratio")
    with pytest.raises(ValidationError, match="cpu_cap_ratio"):
        ACTION.validate_python(
            {"kind": "migrate", "target": read.target, "agent": None, "cpu_cap_ratio": 0.5}
        )


@pytest.mark.parametrize("kind", ActionKind)
def test_the_published_schema_is_that_of_the_stored_form(kind: ActionKind) -> None:
    """A subscriber's validator accepts every kind, and refuses one without what it needs."""
    schema = Draft202012Validator(json_schema(Proposal))
    content = make_proposal("safety", kind).model_dump(mode="json")
    assert schema.is_valid(content), [one.message for one in schema.iter_errors(content)]

    if kind is ActionKind.RESIZE:
        return  # either of two amounts will do, which the schema does not say
    for name in USUAL_PARAMETERS.get(kind, {}):
        content["action"]["parameters"][name] = None
        assert not schema.is_valid(content)


def test_the_parameters_of_an_action_are_its_own() -> None:
    """What people are shown of an action has no member of other kinds."""
    throttle = make_action("safety", ActionKind.THROTTLE, cpu_cap_ratio=0.5)

    assert isinstance(throttle, ThrottleAction)
    assert throttle.parameters == {"cpu_cap_ratio": 0.5}
    assert make_action().parameters == {}


def test_a_workload_gets_a_number_of_replicas_and_a_node_none() -> None:
    """The number is absolute and stored; without it, or with it on a node, there is no such action."""
    shop = {"kind": "workload", "name": "shop/Deployment/web"}
    content = {"kind": "replicate", "target": shop, "agent": "safety", "replicas": 7}
    action = ACTION.validate_python(content)
    node_target = {"kind": "node", "name": "n1"}

    assert action.parameters == {"replicas": 7}
    assert ACTION.validate_python(stored(action)) == action
    assert make_action("safety", ActionKind.REPLICATE).parameters == {}
    for wrong in ({**content, "replicas": None}, {**content, "target": node_target}):
        with pytest.raises(
            ValidationError, match="a workload gets a number of replicas, a node none"
        ):
            ACTION.validate_python(wrong)
