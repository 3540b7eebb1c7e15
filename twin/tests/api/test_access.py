"""Identities: what each may do, how a refusal reads, and what they learn about themselves."""

from __future__ import annotations

from typing import Any

import pytest

from twin.api.access import (
    ADMIN,
    COLLECTOR,
    EXECUTOR,
    EXERCISER,
    IDENTITIES,
    READER,
    Attributes,
    Identity,
)
from twin.api.tokens import Tokens
from twin.tests.api.conftest import MERGE, Api

PODS = "/api/v1/namespaces/default/pods"
REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@pytest.mark.parametrize(
    ("identity", "asked", "allowed"),
    [
        (READER, Attributes("list", "", "pods"), True),
        (READER, Attributes("get", "", "pods", "log", "x"), True),
        (READER, Attributes("delete", "", "pods", "", "x"), False),
        (COLLECTOR, Attributes("watch", "apps", "deployments"), True),
        (COLLECTOR, Attributes("patch", "", "nodes"), False),
        (EXECUTOR, Attributes("patch", "", "nodes"), True),
        (EXECUTOR, Attributes("patch", "apps", "deployments", "scale", "x"), True),
        (EXECUTOR, Attributes("create", "", "pods", "eviction", "x"), True),
        (EXECUTOR, Attributes("create", "", "pods", "", "x"), False),
        (EXECUTOR, Attributes("delete", "", "nodes"), False),
        (EXERCISER, Attributes("create", "apps", "deployments", "", "foresail-exercise"), True),
        (EXERCISER, Attributes("create", "apps", "deployments", "", "default"), False),
        (EXERCISER, Attributes("patch", "", "nodes"), False),
        (ADMIN, Attributes("delete", "anything.example.com", "things"), True),
    ],
)
def test_rules(api: Api, identity: Identity, asked: Attributes, allowed: bool) -> None:
    """An identity may do what its rules say, and a review of itself says the same."""
    assert identity.may(asked) is allowed
    names = ("verb", "group", "resource", "subresource", "namespace", "name")
    spec = {"resourceAttributes": {name: getattr(asked, name) for name in names}}
    _, answer = api.ask("POST", REVIEW, {"spec": spec}, identity=identity)
    assert answer["status"] == {"allowed": allowed}


@pytest.mark.parametrize("identity", [READER, COLLECTOR, EXECUTOR, EXERCISER])
def test_nobody_but_the_administrator_rules_the_simulation(api: Api, identity: Identity) -> None:
    """/foresail/v1 is closed to everybody else, for reading as well."""
    assert api.ask("GET", "/foresail/v1/state", identity=identity)[0] == 403
    assert api.ask("POST", "/foresail/v1/nodes/x/fail", {}, identity=identity)[0] == 403


def test_a_refusal_reads_as_on_a_real_server(api: Api) -> None:
    """403 names user, verb, resource, group and scope, and changes nothing."""
    before = api.engine.state_hash()
    status, refused = api.ask("DELETE", f"{PODS}/x", identity=READER)
    assert status == 403
    assert refused["message"] == (
        'pods "x" is forbidden: User "foresail:reader" cannot delete resource "pods" in API group '
        '"" in the namespace "default"'
    )
    assert refused["details"] == {"name": "x", "kind": "pods"}
    patch = {"spec": {"unschedulable": True}}
    _, refused = api.ask("PATCH", "/api/v1/nodes/x", patch, kind=MERGE, identity=EXERCISER)
    assert refused["message"].endswith('in API group "" at the cluster scope')
    assert api.engine.state_hash() == before


def test_acting_for_somebody_else(api: Api) -> None:
    """An administrator acts with the rights of whom it names, and only an administrator may."""
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    _, who = api.ask("POST", path, {}, acting_for="jane")
    assert who["status"]["userInfo"]["username"] == "jane"
    assert api.ask("GET", PODS, acting_for="jane")[0] == 403
    assert api.ask("GET", PODS, acting_for="foresail:reader")[0] == 200
    assert api.ask("DELETE", f"{PODS}/x", acting_for="foresail:reader")[0] == 403
    status, refused = api.ask("GET", PODS, identity=READER, acting_for="foresail:admin")
    assert status == 403
    assert "cannot impersonate" in refused["message"]


def test_who_am_i(api: Api) -> None:
    """A self review names the user and its groups; a rules review lists what it may do."""
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    _, who = api.ask("POST", path, {}, identity=EXECUTOR)
    assert who["status"]["userInfo"]["username"] == "foresail:executor"
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    _, rules = api.ask("POST", path, {"spec": {"namespace": "default"}}, identity=EXERCISER)
    verbs: list[Any] = [rule["verbs"] for rule in rules["status"]["resourceRules"]]
    assert ["create", "delete", "patch"] not in verbs
    assert ["get", "list", "watch"] in verbs


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer x", "Basic {admin}", "{admin}", "bearer é"]
)
def test_what_is_no_token_is_nobody(header: str) -> None:
    """Only a whole token behind the word Bearer is somebody."""
    tokens = Tokens.draw()
    assert tokens.identity(header.format(**tokens.of_all())) is None


def test_each_identity_has_its_own_token() -> None:
    """Every token stands for one identity, and no two are equal."""
    tokens = Tokens.draw()
    actual = [
        tokens.identity(f"Bearer {tokens.of_all()[identity.name]}") for identity in IDENTITIES
    ]
    assert tuple(actual) == IDENTITIES
    assert len(set(tokens.of_all().values())) == len(IDENTITIES)
