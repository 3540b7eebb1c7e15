"""What a policy leaves behind beside its answer: notes for the audit log, and variables computed once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from twin.custom.policy_expressions import Scope, check_expression
from twin.engine import Engine
from twin.errors import ApiError
from twin.kinds import KINDS
from twin.policies.deciding import Policies
from twin.rbac.attributes import Attributes, Decision
from twin.webhooks.hearing import Hearing
from twin.webhooks.matching import Write

Object = dict[str, Any]
RULE = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["configmaps"],
}


@pytest.fixture
def engine() -> Engine:
    """An empty cluster."""
    return Engine(seed=1)


def add_policy(engine: Engine, actions: list[str], **spec: Any) -> None:
    """Create a policy about new ConfigMaps, and bind it."""
    whole = {"matchConstraints": {"resourceRules": [RULE]}, **spec}
    head = {"metadata": {"name": "p"}}
    engine.store.create("validatingadmissionpolicies", "", {**head, "spec": whole})
    bound = {"policyName": "p", "validationActions": actions}
    engine.store.create("validatingadmissionpolicybindings", "", {**head, "spec": bound})


def ask(engine: Engine, **data: str) -> Hearing:
    """Ask about a new ConfigMap and return what was noted; raises ApiError."""
    hearing = Hearing(engine.now)
    write = Write("CREATE", KINDS["configmaps"], "default", "a")
    obj = {"metadata": {"name": "a", "namespace": "default"}, "data": data}
    Policies(engine.store).check(write, (obj, None), hearing)
    return hearing


def test_audit_notes_what_a_policy_computes(engine: Engine) -> None:
    """Under the policy's name; empty texts are nothing."""
    notes = [
        {"key": "size", "valueExpression": "'size ' + string(object.data.size())"},
        {"key": "none", "valueExpression": "object.data.size() > 5 ? 'large' : ' '"},
    ]
    add_policy(engine, ["Audit"], auditAnnotations=notes)
    assert ask(engine, x="y").annotations == {"p/size": "size 1"}


def test_audit_notes_what_failed_and_lets_it_pass(engine: Engine) -> None:
    """As a list with one entry of JSON."""
    validations = [{"expression": "true"}, {"expression": "false", "message": "no"}]
    add_policy(engine, ["Audit"], validations=validations)
    text = ask(engine).annotations["validation.policy.admission.k8s.io/validation_failure"]
    assert json.loads(text) == [
        {"message": "no", "policy": "p", "binding": "p", "expressionIndex": 1, "validationActions": ["Audit"]}
    ]  # fmt: skip


def test_a_variable_that_fails_is_named(engine: Engine) -> None:
    """Only in expressions that refer to it."""
    variables = [{"name": "size", "expression": "int(object.data.size)"}]
    validations = [{"expression": "object.data.a == 'b'"}, {"expression": "variables.size > 1"}]
    add_policy(engine, ["Deny"], variables=variables, validations=validations)
    with pytest.raises(ApiError) as refused:
        ask(engine, a="b")
    why = 'composited variable "size" fails to evaluate: no such key: size'
    text = f"expression 'variables.size > 1' resulted in error: {why}"
    assert refused.value.message.endswith(text)


def test_a_text_that_looks_like_a_variable_is_none() -> None:
    """Neither in quotes nor as a member of something else."""
    scope = Scope(
        [{"name": "a", "expression": "1 + 1"}],
        dict.fromkeys(("object", "oldObject", "request", "namespaceObject", "authorizer")),
    )
    assert scope.evaluate("'variables.a' + string(variables.a)") == "variables.a2"
    names = ("object", "oldObject", "request", "namespaceObject")
    assert check_expression("object.variables.b == 1", names, {"a": "int"}, ("bool",)) == ""


def test_policies_are_not_about_themselves(engine: Engine) -> None:
    """One that refuses everything can still be taken away."""
    everything = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    constraints = {"resourceRules": [everything]}
    add_policy(
        engine, ["Deny"], matchConstraints=constraints, validations=[{"expression": "false"}]
    )
    write = Write("DELETE", KINDS["validatingadmissionpolicies"], "", "p")
    Policies(engine.store).check(write, (None, {"metadata": {"name": "p"}}), Hearing(engine.now))
    with pytest.raises(ApiError, match="failed expression: false"):
        ask(engine)


@pytest.mark.parametrize(
    ("check", "allowed"),
    [
        ("group('').resource('pods').namespace('default').check('delete')", True),
        (
            "group('').resource('pods').namespace('default').name('a').subresource('log').check('get')",
            False,
        ),
        ("path('/metrics').check('get')", True),
        ("requestResource.check('create')", False),
    ],
)
def test_rights_are_asked_for_in_expressions(engine: Engine, check: str, allowed: bool) -> None:
    """Of whoever decides about the user of the write."""
    asked: list[Any] = []

    def may(about: Any) -> Decision:
        asked.append(about)
        return Decision(allowed, "because")

    text = f"authorizer.{check}.allowed() && authorizer.{check}.reason() == 'because'"
    add_policy(engine, ["Deny"], validations=[{"expression": text, "message": "no right"}])
    hearing = Hearing(engine.now, may=may)
    write = Write("CREATE", KINDS["configmaps"], "default", "a")
    pair = ({"metadata": {"name": "a"}}, None)
    if allowed:
        Policies(engine.store).check(write, pair, hearing)
    else:
        with pytest.raises(ApiError, match="no right"):
            Policies(engine.store).check(write, pair, hearing)
    about = {
        "requestResource.check('create')": Attributes(
            "create", "", "configmaps", "", "default", "a"
        ),
        "path('/metrics').check('get')": ("get", "/metrics"),
    }
    assert asked[0] == about.get(check, asked[0])
    if "log" in check:
        assert asked[0] == Attributes("get", "", "pods", "log", "default", "a")
