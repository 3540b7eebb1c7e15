"""MutatingAdmissionPolicies: what they make of a write, and what a policy may say itself."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.patience import HANGS_SECONDS
from twin.tests.contract.faces import APPLY, MERGE, Answer, Place, config_map

Object = dict[str, Any]
HOME = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{HOME}/mutatingadmissionpolicies"
BINDINGS = f"{HOME}/mutatingadmissionpolicybindings"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
        "resources": ["configmaps", "pods"]}  # fmt: skip
LABELLED = 'Object{metadata: Object.metadata{labels: Object.metadata.labels{added: "yes"}}}'
READY = 'Object{metadata: Object.metadata{annotations: {"ready": "yes"}}}'


def applied(expression: str) -> Object:
    """Return a mutation by an apply configuration."""
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def patched(expression: str) -> Object:
    """Return a mutation by a JSON Patch."""
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def policy(*mutations: Object, **spec: Any) -> Object:
    """Return what a policy says, with defaults of these tests."""
    whole = {
        "matchConstraints": {"resourceRules": [RULE]},
        "reinvocationPolicy": "Never",
        "mutations": list(mutations),
        **spec,
    }
    return {key: value for key, value in whole.items() if value is not None}


class Desk:
    """Policies of one test, which are about its namespace alone."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.made: list[str] = []

    def install(
        self, *mutations: Object, suffix: str = "", bind: Object | None = None, **spec: Any
    ) -> str:
        """Create a policy and its binding; return their name."""
        name = f"{self.place.namespace}{suffix}"
        here = {"matchLabels": {"kubernetes.io/metadata.name": self.place.namespace}}
        binding = {
            "policyName": name,
            "matchResources": {"namespaceSelector": here},
            **(bind or {}),
        }
        for path, body in ((POLICIES, policy(*mutations, **spec)), (BINDINGS, binding)):
            answer = self.place.face.ask(
                "POST", path, body={"metadata": {"name": name}, "spec": body}
            )
            assert answer.status == 201, answer.text
            self.made.append(f"{path}/{name}")
        return name

    def wait(self) -> None:
        """Wait until policies count: a real server takes up new ones with a delay, one after the other."""
        self.install(applied(READY), suffix="-ready")
        end = time.monotonic() + HANGS_SECONDS
        while "ready" not in (self.write("waiting").body["metadata"].get("annotations") or {}):
            assert time.monotonic() < end, "the policy does not count"
            time.sleep(0.1)

    def write(self, name: str, **data: str) -> Answer:
        """Create a ConfigMap without keeping it."""
        body = config_map(name, **data)
        body["metadata"]["labels"] = {"old": "1"}
        return self.place.ask("POST", "configmaps", body=body, query={"dryRun": "All"})

    def clear(self) -> None:
        """Remove what was made."""
        for path in reversed(self.made):
            self.place.face.ask("DELETE", path)
        self.made.clear()


@pytest.fixture
def desk(place: Place) -> Iterator[Desk]:
    """Return an empty desk."""
    made = Desk(place)
    yield made
    made.clear()


def _when_bound(desk: Desk, *mutations: Object, **spec: Any) -> str:
    """Install a policy about ConfigMaps other than `waiting`, and wait until it counts."""
    condition = {"name": "not-waiting", "expression": "request.name != 'waiting'"}
    name = desk.install(*mutations, matchConditions=[condition], **spec)
    desk.wait()
    return name


@pytest.mark.parametrize(
    ("expression", "labels"),
    [
        (LABELLED, {"old": "1", "added": "yes"}),
        ('Object{metadata: Object.metadata{labels: {"x.y/z": "yes"}}}', {"old": "1", "x.y/z": "yes"}),
        ("Object{}", {"old": "1"}),
        ("Object{metadata: Object.metadata{labels: Object.metadata.labels{?old: optional.none()}}}", {"old": "1"}),
        ('Object{metadata: Object.metadata{labels: Object.metadata.labels{?old: optional.of("2")}}}', {"old": "2"}),
        ('has(object.data) ? Object{metadata: Object.metadata{labels: {"n": variables.n}}} : Object{}',
         {"old": "1", "n": "2"}),
    ],
)  # fmt: skip
def test_an_apply_configuration_merges(desk: Desk, expression: str, labels: dict[str, str]) -> None:
    """What it says is added or replaced, the rest stays."""
    variables = [{"name": "n", "expression": "string(size(object.data))"}]
    _when_bound(desk, applied(expression), variables=variables)
    answer = desk.write("a", a="1", b="2")
    assert answer.status == 201, answer.text
    assert answer.body["metadata"]["labels"] == labels
    assert answer.body["data"] == {"a": "1", "b": "2"}


@pytest.mark.parametrize(
    ("expression", "data"),
    [
        (('[JSONPatch{op: "test", path: "/data/a", value: "1"}, JSONPatch{op: "replace", path: "/data/a", value: "9"}, '
         'JSONPatch{op: "remove", path: "/data/b"}, JSONPatch{op: "copy", from: "/data/a", path: "/data/z"}, '
         'JSONPatch{op: "move", from: "/data/z", path: "/data/y"}]'), {"a": "9", "y": "9"}),
        ('[JSONPatch{op: "test", path: "/data/a", value: "7"}, JSONPatch{op: "remove", path: "/data/a"}]',
         {"a": "1", "b": "2"}),
        ('"a" in object.data ? [JSONPatch{op: "add", path: "/data/c", value: object.data.a}] : []',
         {"a": "1", "b": "2", "c": "1"}),
        (('[JSONPatch{op: "add", path: "/data/" + jsonpatch.escapeKey("a~b"), value: "t"}, '
         'JSONPatch{op: "remove", path: "/data/a~0b"}]'), {"a": "1", "b": "2"}),
    ],
)  # fmt: skip
def test_a_json_patch_is_applied(desk: Desk, expression: str, data: dict[str, str]) -> None:
    """All of its operations, or none when a test fails."""
    _when_bound(desk, patched(expression))
    answer = desk.write("a", a="1", b="2")
    assert answer.status == 201, answer.text
    assert answer.body["data"] == data


@pytest.mark.parametrize(
    ("mutation", "said"),
    [
        (applied("Object{metadata: Object.spec{}}"),
         ('type mismatch: unexpected type name "Object.spec", expected "Object.metadata", which matches field name '
          "path from root Object type")),
        (applied("Object{spec: Object.spec{a: 1}}"),
         "error applying patch: failed to convert patch object to typed object: .spec: field not declared in schema"),
        (applied("Object{data: Object.data{a: 1}}"),
         ("error applying patch: failed to convert patch object to typed object: .data.a: expected string, got "
         "&value.valueUnstructured{Value:1}")),
        (applied("Object{data: Object.data{a: object.data.nope}}"),
         "expression 'Object{data: Object.data{a: object.data.nope}}' resulted in error: no such key: nope"),
        (patched('[JSONPatch{op: "remove", path: "/data/nope"}]'),
         "JSON Patch: error in remove for path: '/data/nope': Unable to remove nonexistent key: nope: missing value"),
        (patched('[JSONPatch{op: "fold", path: "/data"}]'), "JSON Patch: Unexpected kind: fold"),
    ],
)  # fmt: skip
def test_a_mutation_that_fails_refuses_the_write(desk: Desk, mutation: Object, said: str) -> None:
    """With 403, what went wrong, and whose mutation it was."""
    name = _when_bound(desk, mutation)
    answer = desk.write("a", a="1")
    text = f"policy '{name}' with binding '{name}' denied request: {said}"
    assert (answer.status, answer.reason, answer.body["message"]) == (403, "Invalid", text)
    details = {"name": "a", "kind": "configmaps", "causes": [{"message": text}]}
    assert answer.body["details"] == details


def test_failures_that_are_ignored(desk: Desk) -> None:
    """A mutation that cannot be carried out changes nothing, and the next one has its turn."""
    failing = applied("Object{data: Object.data{a: object.data.nope}}")
    _when_bound(desk, failing, applied(LABELLED), failurePolicy="Ignore")
    answer = desk.write("a", a="1")
    assert (answer.status, answer.body["data"]) == (201, {"a": "1"})
    assert answer.body["metadata"]["labels"]["added"] == "yes"


@pytest.mark.parametrize(
    ("expression", "field"),
    [
        ('Object{spec: Object.spec{tolerations: [Object.spec.tolerations{key: "a"}]}}', ".spec.tolerations"),
        ('Object{spec: Object.spec{nodeSelector: {"a": "b"}}}', ".spec.nodeSelector"),
        ('Object{spec: Object.spec{containers: [Object.spec.containers{name: "app", args: ["x"]}]}}',
         ".spec.containers[0].args"),
    ],
)  # fmt: skip
def test_what_merges_as_a_whole_is_left_alone(desk: Desk, expression: str, field: str) -> None:
    """An apply configuration would lose what it does not say there."""
    _when_bound(desk, applied(expression), matchConstraints=_about("pods"))
    answer = desk.place.ask("POST", "pods", body=_pod(), query={"dryRun": "All"})
    why = "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs"
    assert answer.status == 403, answer.text
    assert answer.body["message"].endswith(f"error applying patch: {why}: {field}")


def test_containers_are_merged_by_name(desk: Desk) -> None:
    """A new one is added with its defaults, a known one gets what is new."""
    more = 'Object{spec: Object.spec{containers: [Object.spec.containers{name: "side", image: "side:1"}]}}'
    each = 'Object.spec.containers{name: c.name, env: [Object.spec.containers.env{name: "B", value: "2"}]}'
    all_of_them = (
        f"Object{{spec: Object.spec{{containers: object.spec.containers.map(c, {each})}}}}"
    )
    _when_bound(desk, applied(more), applied(all_of_them), matchConstraints=_about("pods"))
    answer = desk.place.ask("POST", "pods", body=_pod(), query={"dryRun": "All"})
    assert answer.status == 201, answer.text
    app, side = answer.body["spec"]["containers"]
    added = {"name": "B", "value": "2"}
    assert (app["name"], app["env"]) == ("app", [{"name": "A", "value": "1"}, added])
    assert (side["name"], side["env"], side["imagePullPolicy"]) == ("side", [added], "IfNotPresent")


def _about(*resources: str) -> Object:
    return {"resourceRules": [{**RULE, "resources": list(resources)}]}


def _pod() -> Object:
    app = {"name": "app", "image": "app:1", "env": [{"name": "A", "value": "1"}]}
    return {"metadata": {"name": "p"}, "spec": {"containers": [app]}}


@pytest.mark.parametrize(
    ("policies", "log"),
    [
        ({"a": "Never", "b": "Never"}, "ab"),
        ({"a": "IfNeeded"}, "aa"),
        ({"a": "IfNeeded", "b": "IfNeeded"}, "abab"),
        ({"a": "IfNeeded", "b": "Never"}, "aba"),
    ],
)
def test_policies_are_invoked_again(desk: Desk, policies: dict[str, str], log: str) -> None:
    """Those that ask for it, once more, when something has changed; in which order is up to the server."""
    condition = {"name": "logged", "expression": "has(object.data) && 'log' in object.data"}
    for letter, again in policies.items():
        text = (
            f'[JSONPatch{{op: "replace", path: "/data/log", value: object.data.log + "{letter}"}}]'
        )
        suffix, conditions = f"-{letter}", [condition]
        desk.install(
            patched(text), suffix=suffix, reinvocationPolicy=again, matchConditions=conditions
        )
    desk.wait()
    found = desk.write("a", log="").body["data"]["log"]
    assert sorted(found) == sorted(log)


@pytest.mark.parametrize(
    ("reference", "status", "labels"),
    [
        ({"name": "given", "parameterNotFoundAction": "Deny"}, 201, {"old": "1", "p": "7"}),
        ({"name": "none", "parameterNotFoundAction": "Allow"}, 201, {"old": "1"}),
        ({"name": "none", "parameterNotFoundAction": "Deny"}, 403, None),
    ],
)  # fmt: skip
def test_parameters(
    desk: Desk, reference: Object, status: int, labels: dict[str, str] | None
) -> None:
    """A binding names objects whose values an expression may use."""
    desk.place.make("configmaps", config_map("given", v="7"))
    text = 'Object{metadata: Object.metadata{labels: {"p": params.data.v}}}'
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    reference = {**reference, "namespace": desk.place.namespace}
    name = desk.place.namespace
    about = {"matchLabels": {"kubernetes.io/metadata.name": name}}
    only = {"resourceRules": [{**RULE, "resourceNames": ["a"]}], "namespaceSelector": about}
    bind = {"paramRef": reference, "matchResources": only}
    desk.install(applied(text), paramKind=kind, bind=bind)
    desk.wait()
    end = time.monotonic() + HANGS_SECONDS
    while (answer := desk.write("a")).status != status and time.monotonic() < end:
        time.sleep(
            0.1
        )  # a real server begins to follow such objects with the first policy that names their kind
    assert answer.status == status, answer.text
    if labels is None:
        why = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
        assert answer.reason == "Forbidden"
        assert (
            answer.body["message"] == f"policy '{name}' with binding '{name}' denied request: {why}"
        )
    else:
        assert answer.body["metadata"]["labels"] == labels


def test_every_kind_of_write_is_changed(desk: Desk) -> None:
    """Patches and applies as well; what a policy sets belongs to nobody who applies, and reading changes nothing."""
    _when_bound(desk, applied('Object{data: Object.data{set: "yes"}}'))
    desk.place.make("configmaps", config_map("a", own="1"))
    for content_type, body in (
        (MERGE, {"data": {"own": "2", "set": None}}),
        (APPLY, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"more": "3"}}),
    ):  # fmt: skip
        query = {"fieldManager": "me"} if content_type == APPLY else {}
        answer = desk.place.ask(
            "PATCH", "configmaps", "a", body=body, content_type=content_type, query=query
        )
        assert answer.status == 200, answer.text
        assert answer.body["data"]["set"] == "yes"
    owners = {
        each["manager"]: each["fieldsV1"] for each in answer.body["metadata"]["managedFields"]
    }
    assert owners["me"] == {"f:data": {"f:more": {}}}


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"mutations": []}, "spec.mutations", "Required value: mutations must contain at least one item"),
        ({"reinvocationPolicy": None}, "spec.reinvocationPolicy", "Required value"),
        ({"reinvocationPolicy": "Often"}, "spec.reinvocationPolicy", 'supported values: "IfNeeded", "Never"'),
        ({"matchConstraints": None}, "spec.matchConstraints", "Required value"),
        ({"matchConstraints": {"resourceRules": [{**RULE, "operations": ["DELETE"]}]}},
         "spec.matchConstraints.resourceRules.operations", 'supported values: "*", "CONNECT", "CREATE", "UPDATE"'),
        ({"mutations": [{"applyConfiguration": {"expression": "Object{}"}}]}, "spec.mutations[0].patchType",
         "Required value"),
        ({"mutations": [{"patchType": "JSONPatch"}]}, "spec.mutations[0].jsonPatch",
         "Required value: must be specified when patchType is JSONPatch"),
        ({"mutations": [{**applied("Object{}"), "jsonPatch": {"expression": "[]"}}]}, "spec.mutations[0].jsonPatch",
         "must not be specified when patchType is ApplyConfiguration"),
        ({"mutations": [applied(" ")]}, "spec.mutations[0].applyConfiguration.expression", "Required value"),
        ({"mutations": [applied("1")]}, "spec.mutations[0].applyConfiguration.expression",
         "must evaluate to Object but got int"),
        ({"mutations": [applied('{"a":"b"}')]}, "spec.mutations[0].applyConfiguration.expression",
         'Invalid value: "{\\"a\\":\\"b\\"}": must evaluate to Object but got map(string, string)'),
        ({"mutations": [applied("object")]}, "spec.mutations[0].applyConfiguration.expression",
         "must evaluate to Object but got dyn"),
        ({"mutations": [patched("[]")]}, "spec.mutations[0].jsonPatch.expression",
         "must evaluate to list(JSONPatch) but got list(dyn)"),
        ({"mutations": [patched('JSONPatch{op: "add", path: "/a"}')]}, "spec.mutations[0].jsonPatch.expression",
         "must evaluate to list(JSONPatch) but got JSONPatch"),
        ({"mutations": [patched("[JSONPatch{op: 1}]")]}, "spec.mutations[0].jsonPatch.expression",
         "<input>:1:14: expected type of field 'op' is 'string' but provided type is 'int'"),
        ({"mutations": [applied("Object{metadata: foo}")]}, "spec.mutations[0].applyConfiguration.expression",
         "<input>:1:18: undeclared reference to 'foo' (in container '')\n | Object{metadata: foo}\n"),
        ({"mutations": [applied("Object{metadata: variables.y}")]}, "spec.mutations[0].applyConfiguration.expression",
         "<input>:1:27: undefined field 'y'"),
    ],
)  # fmt: skip
def test_what_a_policy_may_not_say(
    place: Place, changes: dict[str, Any], field: str, said: str
) -> None:
    """It is refused by field, in the API server's words."""
    body = {"metadata": {"name": "bad"}, "spec": policy(applied("Object{}"), **changes)}
    if changes.get("mutations") is not None:
        body["spec"]["mutations"] = changes["mutations"]
    answer = place.face.ask("POST", POLICIES, body=body, query={"dryRun": "All"})
    assert answer.status == 422, answer.text
    causes = {one["field"]: one["message"] for one in answer.body["details"]["causes"]}
    assert said in causes[field]


def test_defaults_of_a_policy(place: Place) -> None:
    """Failures refuse, all versions are meant, and a binding has none."""
    query = {"dryRun": "All"}
    body = {"metadata": {"name": "a"}, "spec": policy(applied("Object{}"))}
    made = place.face.ask("POST", POLICIES, body=body, query=query).body
    assert made["metadata"]["generation"] == 1
    assert made["spec"]["failurePolicy"] == "Fail"
    constraints = made["spec"]["matchConstraints"]
    assert constraints["matchPolicy"] == "Equivalent"
    assert constraints["namespaceSelector"] == constraints["objectSelector"] == {}
    body = {"metadata": {"name": "a"}, "spec": {"policyName": "a"}}
    made = place.face.ask("POST", BINDINGS, body=body, query=query).body
    assert made["spec"] == {"policyName": "a"}
