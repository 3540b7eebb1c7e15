"""Rights: Roles and bindings decide as Kubernetes documents it, and refusals read as a real server's."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest

from tests.patience import HANGS_SECONDS
from twin.tests.contract.faces import MERGE, Acting, Face
from twin.tests.contract.rights import (
    BINDINGS,
    BLUE,
    CLUSTER_ROLES,
    GROUP,
    RED,
    ROLES,
    asked_requests,
    subject_of,
)

RBAC = f"/apis/{GROUP}/v1"
REVIEWS = "/apis/authorization.k8s.io/v1"
SELF_REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@pytest.fixture(scope="session")
def ruled(rbac_face: Face) -> Face:
    """Return a cluster with the Roles and bindings of the matrix."""
    for namespace in (BLUE, RED):
        _create(rbac_face, "/api/v1/namespaces", {"metadata": {"name": namespace}})
    for name, rules in ROLES.items():
        role = {"metadata": {"name": name}, "rules": rules}
        _create(rbac_face, f"{RBAC}/namespaces/{BLUE}/roles", role)
    for name, role in CLUSTER_ROLES.items():
        named = {**role, "metadata": {**role.get("metadata", {}), "name": name}}
        _create(rbac_face, f"{RBAC}/clusterroles", named)
    for number, (who, namespace, kind, role_name) in enumerate(BINDINGS):
        reference = {"apiGroup": GROUP, "kind": kind, "name": role_name}
        binding = {
            "metadata": {"name": f"rights-{number}"},
            "roleRef": reference,
            "subjects": [subject_of(who)],
        }
        home = f"{RBAC}/namespaces/{namespace}/rolebindings"
        _create(rbac_face, home if namespace else f"{RBAC}/clusterrolebindings", binding)
    _wait_until_ruled(rbac_face)
    return rbac_face


def _create(face: Face, path: str, body: dict[str, Any]) -> None:
    response = face.ask("POST", path, body=body)
    assert response.status == 201, response.text


def _wait_until_ruled(face: Face) -> None:
    """Wait until the aggregated role has its rules and the authorizer knows the last binding."""
    deadline = time.monotonic() + HANGS_SECONDS
    path = f"/apis/batch/v1/namespaces/{RED}/jobs"
    while face.ask("GET", path, acting_for=Acting("sum")).status == 403:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _body(method: str) -> Any:
    return None if method in ("GET", "DELETE") else {}


def test_the_matrix_holds_200_requests() -> None:
    """Both answers are there many times, and no request twice."""
    asked = list(asked_requests())
    answers = Counter(one.allowed for one in asked)
    assert answers[True] + answers[False] >= 200
    assert min(answers.values()) >= 80
    assert len({(one.who, one.verb, one.path, *one.query.values()) for one in asked}) == len(asked)


def test_requests_are_answered_as_documented(ruled: Face) -> None:
    """Each request of the matrix is refused with 403 exactly where the documentation says so."""
    wrong = []
    for asked in asked_requests():
        kind = MERGE if asked.method == "PATCH" else "application/json"
        response = ruled.ask(
            asked.method,
            asked.path,
            asked.query,
            _body(asked.method),
            kind,
            acting_for=asked.who,
        )
        if (response.status != 403) is not asked.allowed:
            wrong.append((asked.who.user, asked.verb, asked.path, response.text[:300]))
    assert wrong == []


def test_reviews_say_the_same(ruled: Face) -> None:
    """A SubjectAccessReview of each request of the matrix gives the answer that the request gets."""
    wrong = []
    for asked in asked_requests():
        groups = [*asked.who.groups, *_implied_groups(asked.who)]
        spec = {**asked.attributes, "user": asked.who.user, "groups": groups}
        response = ruled.ask("POST", f"{REVIEWS}/subjectaccessreviews", body={"spec": spec})
        if response.body["status"]["allowed"] is not asked.allowed:
            wrong.append((asked.who.user, asked.verb, asked.path, response.text[:300]))
    assert wrong == []


def _implied_groups(who: Acting) -> list[str]:
    """Return the groups that a user has besides those that are named."""
    if "system:unauthenticated" in who.groups or who.user == "system:anonymous":
        return ["system:unauthenticated"]
    _, _, account = who.user.partition("system:serviceaccount:")
    home = account.partition(":")[0]
    more = ["system:serviceaccounts", f"system:serviceaccounts:{home}"] if account else []
    return ["system:authenticated", *more]


def test_rules_reviews_agree(ruled: Face) -> None:
    """What `kubectl auth can-i --list` reads covers what is allowed in a namespace, and nothing else."""
    wrong = []
    for asked in asked_requests():
        wanted = asked.attributes.get("resourceAttributes")
        if wanted is None or not wanted["namespace"]:
            continue
        body = {"spec": {"namespace": wanted["namespace"]}}
        path = f"{REVIEWS}/selfsubjectrulesreviews"
        response = ruled.ask("POST", path, body=body, acting_for=asked.who)
        if response.status == 403:
            assert asked.who.user == "system:anonymous"
            continue
        rules = response.body["status"]["resourceRules"]
        if any(_allows(rule, wanted) for rule in rules) is not asked.allowed:
            wrong.append((asked.who.user, asked.verb, asked.path, rules))
    assert wrong == []


def _allows(rule: dict[str, Any], wanted: dict[str, str]) -> bool:
    sub = wanted["subresource"]
    resource = f"{wanted['resource']}/{sub}" if sub else wanted["resource"]
    return (
        not {"*", wanted["verb"]}.isdisjoint(rule["verbs"])
        and not {"*", wanted["group"]}.isdisjoint(rule["apiGroups"])
        and not {"*", resource, f"*/{sub}"}.isdisjoint(rule["resources"])
        and wanted["name"] in rule.get("resourceNames", [wanted["name"]])
    )


@pytest.mark.parametrize(
    ("method", "path", "message", "details"),
    [
        (
            "GET", f"/api/v1/namespaces/{RED}/pods",
            f'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "{RED}"',
            {"kind": "pods"},
        ),
        (
            "GET", f"/api/v1/namespaces/{BLUE}",
            (f'namespaces "{BLUE}" is forbidden: User "jane" cannot get resource "namespaces" in API group "" in '
            f'the namespace "{BLUE}"'),
            {"kind": "namespaces", "name": BLUE},
        ),
        (
            "GET", f"/api/v1/namespaces/{RED}/pods/x/log",
            (f'pods "x" is forbidden: User "jane" cannot get resource "pods/log" in API group "" in the namespace '
            f'"{RED}"'),
            {"kind": "pods", "name": "x"},
        ),
        (
            "GET", "/apis/unknown.example.com/v1/things",
            ('things.unknown.example.com is forbidden: User "jane" cannot list resource "things" in API group '
            '"unknown.example.com" at the cluster scope'),
            {"kind": "things", "group": "unknown.example.com"},
        ),
        ("GET", "/foo<a>", 'forbidden: User "jane" cannot get path "/foo&lt;a&gt;"', {}),
        ("POST", "/healthz", 'forbidden: User "jane" cannot post path "/healthz"', {}),
    ],
)  # fmt: skip
def test_a_refusal_says_who_what_and_where(
    ruled: Face, method: str, path: str, message: str, details: dict[str, str]
) -> None:
    """403 has the words of the API server, and details of the resource."""
    response = ruled.ask(method, path, body=_body(method), acting_for=Acting("jane"))
    assert (response.status, response.reason) == (403, "Forbidden")
    assert response.body["message"] == message
    assert response.body.get("details", {}) == details


def test_a_role_that_is_not_there_is_named(ruled: Face) -> None:
    """A binding to an absent role gives nothing, and refusals name it."""
    binding = {
        "metadata": {"name": "dangling"},
        "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "absent"},
        "subjects": [subject_of("lost")],
    }
    _create(ruled, f"{RBAC}/namespaces/{RED}/rolebindings", binding)
    deadline = time.monotonic() + HANGS_SECONDS
    path = f"/api/v1/namespaces/{RED}/pods"
    while "RBAC: " not in ruled.ask("GET", path, acting_for=Acting("lost")).text:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    response = ruled.ask("GET", path, acting_for=Acting("lost"))
    assert response.body["message"].endswith(f'"{RED}": RBAC: role.{GROUP} "absent" not found')


def test_nobody_hands_out_what_it_does_not_have(ruled: Face) -> None:
    """Roles and bindings are refused with the missing rules, unless all of them are held."""
    boss, home = Acting("boss", ("crew",)), f"{RBAC}/namespaces/{BLUE}"
    rules = [
        {"verbs": ["get", "list"], "apiGroups": ["", "x.io"], "resources": ["pods", "nodes"]},
        {"verbs": ["get"], "apiGroups": [""], "resources": ["limitranges"], "resourceNames": ["a"]},
    ]
    role = {"metadata": {"name": "more"}, "rules": rules}
    response = ruled.ask("POST", f"{home}/roles", body=role, acting_for=boss)
    assert response.status == 403
    assert response.body["message"] == (
        f'roles.{GROUP} "more" is forbidden: user "boss" (groups=["crew" "system:authenticated"]) is '
        "attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["nodes"], Verbs:["get" "list"]}\n'
        '{APIGroups:["x.io"], Resources:["nodes"], Verbs:["get" "list"]}\n'
        '{APIGroups:["x.io"], Resources:["pods"], Verbs:["get" "list"]}'
    )
    role["rules"] = [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods", "pods/log"]}]
    made = ruled.ask("POST", f"{home}/roles", body=role, acting_for=boss)
    assert made.status == 201, made.text
    patch = {"rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["nodes"]}]}
    response = ruled.ask(
        "PATCH", f"{home}/roles/more", body=patch, content_type=MERGE, acting_for=boss
    )
    assert (response.status, response.reason) == (403, "Forbidden")
    binding: dict[str, Any] = {"metadata": {"name": "more"}, "subjects": [subject_of("friend")]}
    for name, status in (("cluster-admin", 403), ("view", 201), ("nowhere", 404)):
        binding["roleRef"] = {"apiGroup": GROUP, "kind": "ClusterRole", "name": name}
        response = ruled.ask(
            "POST", f"{home}/rolebindings", {"dryRun": "All"}, binding, acting_for=boss
        )
        assert response.status == status, response.text
    assert response.body["message"] == f'rolebindings.{GROUP} "nowhere" not found'


def test_bind_and_escalate_lift_the_check(ruled: Face) -> None:
    """Who may `bind` a role or `escalate` roles hands out more than it has."""
    rules = [
        {"verbs": ["create"], "apiGroups": [GROUP], "resources": ["roles", "rolebindings"]},
        {"verbs": ["escalate"], "apiGroups": [GROUP], "resources": ["roles"]},
        {"verbs": ["bind"], "apiGroups": [GROUP], "resources": ["clusterroles"],
         "resourceNames": ["edit"]},
    ]  # fmt: skip
    _create(ruled, f"{RBAC}/clusterroles", {"metadata": {"name": "rights-lift"}, "rules": rules})
    binding: dict[str, Any] = {
        "metadata": {"name": "rights-lift"},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "rights-lift"},
        "subjects": [subject_of("lifter")],
    }
    _create(ruled, f"{RBAC}/clusterrolebindings", binding)
    who, query = Acting("lifter"), {"dryRun": "All"}
    role = {"metadata": {"name": "all"},
            "rules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}  # fmt: skip
    deadline = time.monotonic() + HANGS_SECONDS
    path = f"{RBAC}/namespaces/{RED}/roles"
    while ruled.ask("POST", path, query, role, acting_for=who).status != 201:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    path = f"{RBAC}/namespaces/{RED}/rolebindings"
    for name, status in (("edit", 201), ("admin", 403)):
        binding["roleRef"] = {"apiGroup": GROUP, "kind": "ClusterRole", "name": name}
        response = ruled.ask("POST", path, query, binding, acting_for=who)
        assert response.status == status, response.text


ROLE_FAULTS = (
    "[rules[0].verbs: Required value: verbs must contain at least one value, rules[0].apiGroups: Required "
    "value: resource rules must supply at least one api group, rules[0].resources: Required value: resource "
    'rules must supply at least one resource, rules[1].nonResourceURLs: Invalid value: ["/x"]: namespaced '
    "rules cannot apply to non-resource URLs]"
)
BINDING_FAULTS = (
    f'[roleRef.apiGroup: Unsupported value: "x": supported values: "{GROUP}", roleRef.kind: Unsupported value: '
    '"Foo": supported values: "Role", "ClusterRole", roleRef.name: Required value, subjects[0].name: Required '
    'value, subjects[0].kind: Unsupported value: "X": supported values: "ServiceAccount", "User", "Group"]'
)


def test_roles_and_bindings_are_checked(ruled: Face) -> None:
    """422 names every field that is wrong; a roleRef cannot be changed, subjects get their group."""
    home = f"{RBAC}/namespaces/{RED}"
    rules = [{"verbs": []}, {"verbs": ["get"], "nonResourceURLs": ["/x"]}]
    response = ruled.ask("POST", f"{home}/roles", body={"metadata": {"name": "r"}, "rules": rules})
    assert response.body["message"] == f'Role.{GROUP} "r" is invalid: {ROLE_FAULTS}'
    wrong = {
        "metadata": {"name": "r"},
        "roleRef": {"kind": "Foo", "name": "", "apiGroup": "x"},
        "subjects": [{"kind": "X", "name": ""}],
    }
    response = ruled.ask("POST", f"{home}/rolebindings", body=wrong)
    assert response.body["message"] == f'RoleBinding.{GROUP} "r" is invalid: {BINDING_FAULTS}'
    wrong["roleRef"] = {"kind": "Role", "name": "x"}
    wrong["subjects"] = [{"kind": "ServiceAccount", "name": "a"}]
    response = ruled.ask("POST", f"{RBAC}/clusterrolebindings", body=wrong)
    assert response.body["message"].endswith("subjects[0].namespace: Required value]")
    wrong["subjects"] = [{"kind": "User", "name": "a"}]
    response = ruled.ask("POST", f"{home}/rolebindings", body=wrong)
    assert response.body["subjects"] == [{"kind": "User", "name": "a", "apiGroup": GROUP}]
    patch = {"roleRef": {"name": "y"}}
    response = ruled.ask("PATCH", f"{home}/rolebindings/r", body=patch, content_type=MERGE)
    assert response.status == 422
    assert response.body["message"].endswith(
        f'{{"APIGroup":"{GROUP}","Kind":"Role","Name":"y"}}: cannot change roleRef'
    )


def test_acting_for_somebody_else(ruled: Face) -> None:
    """Groups follow from the user, an account's from its namespace; groups alone are 400."""
    for who, groups in (
        (Acting("jane"), ["system:authenticated"]),
        (Acting("jane", ("a", "b")), ["a", "b", "system:authenticated"]),
        (
            Acting("system:serviceaccount:x:y"),
            ["system:serviceaccounts", "system:serviceaccounts:x", "system:authenticated"],
        ),
    ):
        response = ruled.ask("POST", SELF_REVIEW, body={}, acting_for=who)
        info = response.body["status"]["userInfo"]
        assert (info["username"], info["groups"]) == (who.user, groups)
    response = ruled.ask("POST", SELF_REVIEW, body={}, acting_for=Acting("", ("a",)))
    assert response.status == 400
    assert "without impersonating a user" in response.text


def test_reviews_are_checked(ruled: Face) -> None:
    """A review that asks nothing, two things, of nobody or of another namespace is 422; 400 of none."""
    resource, path = {"verb": "get", "resource": "pods"}, {"verb": "get", "path": "/"}
    local = f"namespaces/{RED}/localsubjectaccessreviews"
    for review, spec, message in (
        ("selfsubjectaccessreviews", {}, "exactly one of nonResourceAttributes or"),
        (
            "selfsubjectaccessreviews",
            {"resourceAttributes": resource, "nonResourceAttributes": path},
            'spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":"get"}: cannot be',
        ),
        ("subjectaccessreviews", {"resourceAttributes": resource}, "at least one of user or group"),
        (
            local,
            {"resourceAttributes": {**resource, "namespace": BLUE}, "user": "x"},
            f'"{BLUE}": must match metadata.namespace',
        ),
        (local, {"nonResourceAttributes": path, "user": "x"}, "disallowed on this kind of request"),
    ):
        response = ruled.ask("POST", f"{REVIEWS}/{review}", body={"spec": spec})
        assert response.status == 422, response.text
        assert message in response.body["message"]
    response = ruled.ask("POST", f"{REVIEWS}/selfsubjectrulesreviews", body={"spec": {}})
    assert (response.status, response.body["message"]) == (400, "no namespace on request")


def test_a_review_names_the_binding(ruled: Face) -> None:
    """What allows a request is named with its role and subject; nothing is named for system:masters."""
    spec: dict[str, Any] = {
        "user": "jane",
        "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": BLUE},
    }
    response = ruled.ask("POST", f"{REVIEWS}/subjectaccessreviews", body={"spec": spec})
    assert response.body["status"] == {
        "allowed": True,
        "reason": f'RBAC: allowed by RoleBinding "rights-0/{BLUE}" of Role "pod-reader" to User "jane"',
    }
    spec = {"groups": ["system:masters"], "resourceAttributes": {"verb": "x", "resource": "y"}}
    response = ruled.ask("POST", f"{REVIEWS}/subjectaccessreviews", body={"spec": spec})
    assert response.body["status"] == {"allowed": True}


def test_tables_show_what_is_bound_to_whom(ruled: Face) -> None:
    """`kubectl get` of a binding names its role and, when wide, its subjects; of a role its creation."""
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    path = f"{RBAC}/namespaces/{BLUE}/rolebindings/rights-5"
    shown = ruled.ask("GET", path, accept=table).body
    names = [column["name"] for column in shown["columnDefinitions"]]
    assert names == ["Name", "Role", "Age", "Users", "Groups", "ServiceAccounts"]
    cells = shown["rows"][0]["cells"]
    assert (cells[1], *cells[3:]) == ("Role/reads-all", "", "", "blue/robot")
    shown = ruled.ask("GET", f"{RBAC}/clusterroles/view", accept=table).body
    assert [column["name"] for column in shown["columnDefinitions"]] == ["Name", "Created At"]
