"""ValidatingAdmissionPolicies: what they refuse, in which words, and what a policy may say itself."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.patience import HANGS_SECONDS
from twin.tests.contract.faces import MERGE, Answer, Place, config_map

Object = dict[str, Any]
HOME = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{HOME}/validatingadmissionpolicies"
BINDINGS = f"{HOME}/validatingadmissionpolicybindings"
RULE = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["configmaps"],
}


class Desk:
    """Policies of one test, which are about its namespace alone."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.name = place.namespace
        self.made: list[str] = []

    def policy(self, **spec: Any) -> None:
        """Create the policy; it is about ConfigMaps that are created or changed here."""
        whole = {"matchConstraints": {"resourceRules": [RULE]}, **spec}
        self._make(POLICIES, whole)

    def bind(self, *actions: str, **spec: Any) -> None:
        """Bind it, and wait until it counts."""
        here = {"matchLabels": {"kubernetes.io/metadata.name": self.name}}
        whole = {
            "policyName": self.name,
            "validationActions": list(actions or ("Deny",)),
            "matchResources": {"namespaceSelector": here},
            **spec,
        }
        self._make(BINDINGS, whole)

    def _make(self, path: str, spec: Object) -> None:
        made = self.place.face.ask(
            "POST", path, body={"metadata": {"name": self.name}, "spec": spec}
        )
        assert made.status == 201, made.text
        self.made.append(f"{path}/{self.name}")

    def write(self, name: str, **data: str) -> Answer:
        """Create a ConfigMap without keeping it."""
        return self.place.ask(
            "POST", "configmaps", body=config_map(name, **data), query={"dryRun": "All"}
        )

    def until_refused(self, name: str, **data: str) -> Answer:
        """Create a ConfigMap until it is refused: a real server takes up policies with a delay."""
        deadline = time.monotonic() + HANGS_SECONDS
        while (answer := self.write(name, **data)).status == 201:
            assert time.monotonic() < deadline, "it is not refused"
            time.sleep(0.1)
        return answer

    def said(self, answer: Answer) -> str:
        """Return what the policy said in a refusal."""
        text = str(answer.body["message"])
        head = f"is forbidden: ValidatingAdmissionPolicy '{self.name}' with binding '{self.name}' denied request: "
        assert head in text, text
        return text.partition(head)[2]

    def clear(self) -> None:
        """Remove what was made."""
        for path in self.made:
            self.place.face.ask("DELETE", path)


@pytest.fixture
def desk(place: Place) -> Iterator[Desk]:
    """Return an empty desk."""
    made = Desk(place)
    yield made
    made.clear()


def test_a_validation_that_fails_refuses_the_write(desk: Desk) -> None:
    """422 with its message, else its expression, and a cause; others may pass; updates count as well."""
    desk.policy(validations=[
        {"expression": "object.metadata.name != 'bad'", "message": "no bad ones"},
        {"expression": "oldObject == null || request.operation == 'UPDATE' && object.data.a == oldObject.data.a"},
    ])  # fmt: skip
    desk.bind()
    refused = desk.until_refused("bad")
    assert (refused.status, refused.reason) == (422, "Invalid")
    assert desk.said(refused) == "no bad ones"
    text = refused.body["message"].partition("is forbidden: ")[2]
    assert refused.body["details"] == {
        "name": "bad",
        "kind": "configmaps",
        "causes": [{"message": text}],
    }
    desk.place.make("configmaps", config_map("good", a="1"))
    changed = desk.place.ask(
        "PATCH", "configmaps", "good", body={"data": {"a": "2"}}, content_type=MERGE
    )
    text = "oldObject == null || request.operation == 'UPDATE' && object.data.a == oldObject.data.a"
    assert desk.said(changed) == f"failed expression: {text}"
    named = {"metadata": {"labels": {"a": "b"}}}
    assert (
        desk.place.ask("PATCH", "configmaps", "good", body=named, content_type=MERGE).status == 200
    )


def test_reasons_messages_and_variables(desk: Desk) -> None:
    """A reason has its code; a message may be computed, from variables and the namespace."""
    desk.policy(
        variables=[
            {"name": "size", "expression": "has(object.data) ? object.data.size() : 0"},
            {"name": "twice", "expression": "variables.size * 2"},
        ],
        validations=[
            {"expression": "variables.twice <= 4", "reason": "Forbidden",
             "messageExpression": "string(variables.size) + ' in ' + namespaceObject.metadata.name"},
            {"expression": "variables.size != 2", "message": "two", "messageExpression": "string(object.data.none)"},
            {"expression": "variables.size == 0 || object.data.a == 'x'"},
        ],
    )  # fmt: skip
    desk.bind()
    refused = desk.until_refused("a", a="1", b="2", c="3")
    assert (refused.status, refused.reason) == (403, "Forbidden")
    assert desk.said(refused) == f"3 in {desk.name}"
    assert desk.said(desk.write("a", a="1", b="2")) == "two"
    text = (
        "expression 'variables.size == 0 || object.data.a == 'x'' resulted in error: no such key: a"
    )
    assert desk.said(desk.write("a", b="2")) == text
    assert desk.write("a", a="x").status == 201


def test_conditions_say_whom_a_policy_is_about(desk: Desk) -> None:
    """One that is false ends it; one that fails is a failure of the policy."""
    desk.policy(
        matchConditions=[{"name": "named", "expression": "object.data.of == 'policies'"}],
        validations=[{"expression": "false", "message": "never"}],
    )
    desk.bind()
    assert desk.said(desk.until_refused("a", of="policies")) == "never"
    assert desk.write("a", of="others").status == 201
    text = "expression 'object.data.of == 'policies'' resulted in error: no such key: of"
    assert text in desk.said(desk.write("a", other="x"))


def test_a_policy_that_ignores_its_failures(desk: Desk) -> None:
    """An expression that cannot be evaluated stands against nothing; one that is false does."""
    desk.policy(
        failurePolicy="Ignore",
        validations=[
            {"expression": "object.data.none == 'x'"},
            {"expression": "object.metadata.name != 'bad'", "message": "bad"},
        ],
    )
    desk.bind()
    assert desk.said(desk.until_refused("bad", a="b")) == "bad"
    assert desk.write("good", a="b").status == 201


def test_parameters(desk: Desk) -> None:
    """By name in the namespace of the write; what is not there is refused, where the binding says so."""
    desk.policy(
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        matchConditions=[{"name": "others", "expression": "object.metadata.name != 'limit'"}],
        validations=[
            {"expression": "object.data.size() <= int(params.data.most)", "message": "too many"}
        ],
    )
    desk.bind(paramRef={"name": "limit", "parameterNotFoundAction": "Deny"})
    refused = desk.until_refused("a", a="b")
    why = "no params found for policy binding with `Deny` parameterNotFoundAction"
    assert desk.said(refused) == f"failed to configure binding: {why}"
    assert desk.place.ask("POST", "configmaps", body=config_map("limit", most="1")).status == 422
    lax = {"spec": {"paramRef": {"parameterNotFoundAction": "Allow"}}}
    path = f"{BINDINGS}/{desk.name}"
    assert desk.place.face.ask("PATCH", path, body=lax, content_type=MERGE).status == 200
    deadline = time.monotonic() + HANGS_SECONDS
    while desk.place.ask("POST", "configmaps", body=config_map("limit", most="1")).status != 201:
        assert time.monotonic() < deadline, "the binding is still followed as it was"
        time.sleep(0.1)
    assert desk.said(desk.until_refused("a", a="b", c="d")) == "too many"
    assert desk.write("a", a="b").status == 201


def test_parameters_of_an_unknown_kind(desk: Desk) -> None:
    """The policy cannot be followed, so it refuses."""
    desk.policy(
        paramKind={"apiVersion": "example.com/v1", "kind": "Nothing"},
        validations=[{"expression": "params.a == 1"}],
    )
    desk.bind(paramRef={"name": "a", "parameterNotFoundAction": "Allow"})
    text = desk.until_refused("a").body["message"]
    why = "failed to find resource referenced by paramKind: 'example.com/v1, Kind=Nothing'"
    assert text.endswith(f"'{desk.name}' denied request: failed to configure policy: {why}")


def test_excluded_rules_and_selectors(desk: Desk) -> None:
    """Names that are left out, and objects without the label, are not looked at."""
    left_out = {**RULE, "resourceNames": ["free"]}
    constraints = {
        "resourceRules": [RULE],
        "excludeResourceRules": [left_out],
        "objectSelector": {"matchLabels": {"watched": "yes"}},
    }
    desk.policy(matchConstraints=constraints, validations=[{"expression": "false", "message": "m"}])
    desk.bind()
    watched = {"watched": "yes"}

    def write(name: str, labels: dict[str, str]) -> Answer:
        body = config_map(name, labels)
        return desk.place.ask("POST", "configmaps", body=body, query={"dryRun": "All"})

    deadline = time.monotonic() + HANGS_SECONDS
    while write("a", watched).status == 201:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert write("free", watched).status == 201
    assert write("a", {}).status == 201


def test_a_warning_lets_a_write_pass(desk: Desk, over_http: Place) -> None:
    """With the validation's message in the answer's header."""
    desk.place = over_http
    desk.name = over_http.namespace
    desk.policy(validations=[{"expression": "false", "message": "mind the gap"}])
    desk.bind("Warn", "Audit")
    deadline = time.monotonic() + HANGS_SECONDS
    while "Warning" not in (answer := desk.write("a")).headers:
        assert time.monotonic() < deadline, "no warning"
        time.sleep(0.1)
    assert answer.status == 201
    named = f"'{desk.name}' with binding '{desk.name}'"
    text = f"Validation failed for ValidatingAdmissionPolicy {named}: mind the gap"
    assert answer.headers["Warning"] == f'299 - "{text}"'


def test_what_is_made_is_completed(desk: Desk) -> None:
    """Defaults of the policy, its rules and the binding; the status follows."""
    desk.policy(validations=[{"expression": "true"}])
    desk.bind()
    policy = desk.place.face.ask("GET", f"{POLICIES}/{desk.name}").body
    rules = [{**RULE, "scope": "*"}]
    matching = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
    assert policy["metadata"]["generation"] == 1
    assert policy["spec"] == {
        "failurePolicy": "Fail",
        "matchConstraints": {**matching, "resourceRules": rules},
        "validations": [{"expression": "true"}],
    }
    binding = desk.place.face.ask("GET", f"{BINDINGS}/{desk.name}").body["spec"]
    here = {"matchLabels": {"kubernetes.io/metadata.name": desk.name}}
    assert binding["matchResources"] == {**matching, "namespaceSelector": here}
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    shown = desk.place.face.ask("GET", f"{POLICIES}/{desk.name}", accept=table).body
    assert [one["name"] for one in shown["columnDefinitions"]] == [
        "Name",
        "Validations",
        "ParamKind",
        "Age",
    ]
    assert shown["rows"][0]["cells"][:3] == [desk.name, 1, "<unset>"]
    if desk.place.face.simulated:
        time.sleep(0.5)
        status = desk.place.face.ask("GET", f"{POLICIES}/{desk.name}").body["status"]
        assert status == {"observedGeneration": 1, "typeChecking": {}}


def test_policies_may_ask_for_rights(desk: Desk) -> None:
    """`authorizer` knows what the user may do; an administrator may do everything, a stranger nothing."""
    checks = (
        "group('').resource('pods').namespace('default').check('delete')",
        "path('/metrics').check('get')",
    )
    texts = [f"authorizer.{check}.allowed()" for check in checks]
    desk.policy(validations=[
        {"expression": f"object.metadata.name != 'a' || ({' && '.join(texts)})", "message": "no rights"},
        {"expression": "!authorizer.requestResource.check('create').allowed()", "message": "may create"},
    ])  # fmt: skip
    desk.bind()
    assert desk.said(desk.until_refused("a")) == "may create"


def test_an_unset_path_is_refused(desk: Desk) -> None:
    """As an error of the expression."""
    desk.policy(validations=[{"expression": "authorizer.path('').check('get').allowed()"}])
    desk.bind()
    assert desk.said(desk.until_refused("a")).endswith("resulted in error: path must not be empty")
