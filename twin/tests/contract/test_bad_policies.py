"""Policies and bindings that cannot be followed are refused when they are written, in a real server's words."""

from __future__ import annotations

from typing import Any

import pytest

from twin.tests.contract.faces import Answer, Place
from twin.tests.contract.test_policies import BINDINGS, POLICIES, RULE

Object = dict[str, Any]
EMPTY = "validations or auditAnnotations must contain at least one item"
_FAILED = 'Invalid value: "{0}": compilation failed: ERROR: <input>:1:'
UNKNOWN = _FAILED + "1: undeclared reference to '{1}' (in container '')\n | {0}\n | ^"
NO_VARIABLE = _FAILED + "10: undefined field 'b'\n | {0}\n | .........^"
BAD_POLICIES: list[tuple[Object, list[tuple[str, str]]]] = [
    ({"validations": []}, [("spec.validations", f"Required value: {EMPTY}"),
                           ("spec.auditAnnotations", f"Required value: {EMPTY}")]),
    ({"matchConstraints": None}, [("spec.matchConstraints", "Required value")]),
    ({"matchConstraints": {}}, [("spec.matchConstraints.resourceRules", "Required value")]),
    ({"validations": [{"expression": "'a'"}]},
     [("spec.validations[0].expression", "Invalid value: \"'a'\": must evaluate to bool but got string")]),
    ({"validations": [{"expression": "foo == 1"}]},
     [("spec.validations[0].expression", UNKNOWN.format("foo == 1", "foo"))]),
    ({"validations": [{"expression": "params == null"}]},
     [("spec.validations[0].expression", UNKNOWN.format("params == null", "params"))]),
    ({"variables": [{"name": "a", "expression": "1"}], "validations": [{"expression": "variables.b == 1"}]},
     [("spec.validations[0].expression", NO_VARIABLE.format("variables.b == 1"))]),
    ({"variables": [{"name": "a", "expression": "variables.b"}, {"name": "b", "expression": "1"}]},
     [("spec.variables[0].expression", NO_VARIABLE.format("variables.b"))]),
    ({"variables": [{"name": "a-b", "expression": "1"}, {"name": "", "expression": ""}]},
     [("spec.variables[0].name", 'Invalid value: "a-b": must be a valid CEL identifier'),
      ("spec.variables[1].name", "Required value: name is not specified"),
      ("spec.variables[1].expression", "Required value: expression is not specified")]),
    ({"validations": [{"expression": " ", "message": "a\nb"}, {"expression": "true", "message": " ", "reason": "No"},
                      {"expression": "true", "messageExpression": "1"},
                      {"expression": "true", "messageExpression": " "},
                      {"expression": "true", "messageExpression": "object.data.a"},
                      {"expression": "object.data.a"}, {"expression": "request.dryRun"}]},
     [("spec.validations[0].expression", "Required value: expression is not specified"),
      ("spec.validations[0].message", 'Invalid value: "a\\nb": must not contain line breaks'),
      ("spec.validations[1].message", 'Invalid value: " ": must be non-empty if specified'),
      ("spec.validations[1].reason",
       'Unsupported value: "No": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"'),
      ("spec.validations[2].messageExpression", 'Invalid value: "1": must evaluate to string but got int'),
      ("spec.validations[3].messageExpression", 'Invalid value: " ": must be non-empty if specified'),
      ("spec.validations[4].messageExpression",
       'Invalid value: "object.data.a": must evaluate to string but got dyn'),
      ("spec.validations[5].expression", 'Invalid value: "object.data.a": must evaluate to bool but got dyn')]),
    ({"failurePolicy": "Maybe"},
     [("spec.failurePolicy", 'Unsupported value: "Maybe": supported values: "Fail", "Ignore"')]),
    ({"paramKind": {"apiVersion": "a/b/c", "kind": ""}},
     [("spec.paramKind.apiVersion", 'Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'),
      ("spec.paramKind.kind", "Required value")]),
    ({"matchConstraints": {"resourceRules": [{**RULE, "apiVersions": [], "resourceNames": ["a", "a", "b/c"]}]}},
     [("spec.matchConstraints.resourceRules[0].resourceNames[1]", 'Duplicate value: "a"'),
      ("spec.matchConstraints.resourceRules[0].resourceNames[2]", 'Invalid value: "b/c": may not contain \'/\''),
      ("spec.matchConstraints.resourceRules[0].apiVersions", "Required value")]),
    ({"auditAnnotations": [{"key": "x", "valueExpression": "1"}, {"key": "x", "valueExpression": "'a'"}]},
     [("spec.auditAnnotations[0].valueExpression",
       'Invalid value: "1": must evaluate to one of [string null_type] but got int'),
      ("spec.auditAnnotations[1].key", 'Duplicate value: "x"')]),
    ({"matchConditions": [{"name": "", "expression": "1"}]},
     [("spec.matchConditions[0].expression", 'Invalid value: "1": must evaluate to bool but got int'),
      ("spec.matchConditions[0].name", "Required value")]),
]  # fmt: skip


def causes(answer: Answer) -> set[tuple[str, str]]:
    """Return (field, sentence) of what a refusal names."""
    assert answer.status == 422, answer.text
    return {(one["field"], one["message"]) for one in answer.body["details"]["causes"]}


@pytest.mark.parametrize(("spec", "wrong"), BAD_POLICIES)
def test_a_policy_that_cannot_be_followed_is_refused(
    place: Place, spec: Object, wrong: list[tuple[str, str]]
) -> None:
    """With the field and the sentence of a real server."""
    usual = {"matchConstraints": {"resourceRules": [RULE]}, "validations": [{"expression": "true"}]}
    whole = {key: value for key, value in {**usual, **spec}.items() if value is not None}
    body = {"metadata": {"name": "a"}, "spec": whole}
    answer = place.face.ask("POST", POLICIES, body=body, query={"dryRun": "All"})
    assert causes(answer) == set(wrong)


BOTH = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)
CLASH = "Forbidden: name and selector are mutually exclusive"


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({"policyName": "", "validationActions": []},
         [("spec.policyName", "Required value"),
          ("spec.validationActions", "Required value: at least one validation action is required")]),
        ({"validationActions": ["Deny", "Warn", "Deny", "X"]},
         [("spec.validationActions[2]", 'Duplicate value: "Deny"'),
          ("spec.validationActions[3]", 'Unsupported value: "X": supported values: "Audit", "Deny", "Warn"'),
          ("spec.validationActions", f'Invalid value: ["Deny","Warn","Deny","X"]: {BOTH}')]),
        ({"paramRef": {"name": "a/b", "selector": {}, "parameterNotFoundAction": "X"}},
         [("spec.paramRef.name", 'Invalid value: "a/b": may not contain \'/\''), ("spec.paramRef.name", CLASH),
          ("spec.paramRef.selector", CLASH),
          ("spec.paramRef.parameterNotFoundAction",
           'Unsupported value: "X": supported values: "Deny", "Allow"')]),
        ({"paramRef": {}},
         [("spec.paramRef", "Required value: one of name or selector must be specified"),
          ("spec.paramRef.parameterNotFoundAction", "Required value")]),
    ],
)  # fmt: skip
def test_a_binding_that_cannot_be_followed_is_refused(
    place: Place, spec: Object, wrong: list[tuple[str, str]]
) -> None:
    """With the field and the sentence of a real server."""
    whole = {"policyName": "p", "validationActions": ["Deny"], **spec}
    body = {"metadata": {"name": "a"}, "spec": whole}
    answer = place.face.ask("POST", BINDINGS, body=body, query={"dryRun": "All"})
    assert causes(answer) == set(wrong)
