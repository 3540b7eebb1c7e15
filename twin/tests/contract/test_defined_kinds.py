"""A definition of a kind that the twin has itself: its schema, defaults and rules hold, as on a server without it.

The rows are held against a definition in our own words and, where the file is at hand, against Karpenter's own ones.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from proofs.real_programs.processes import Missing, beside
from tests.patience import HANGS_SECONDS
from twin.tests.contract.custom import DEFINITIONS, object_of, version
from twin.tests.contract.faces import MERGE, Answer, Face

POOLS = "/apis/karpenter.sh/v1/nodepools"
CLASSES = "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses"
ALL = {"dryRun": "All"}
_TEXT = {"type": "string"}
_RULES = "x-kubernetes-validations"


def _list(item: dict[str, Any], *rules: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "maxItems": 30, "items": item, _RULES: list(rules)}


def _rule(rule: str, message: str) -> dict[str, Any]:
    return {"rule": rule, "message": message}


def _pools_in_own_words() -> dict[str, Any]:
    """Return a definition of NodePools that promises what Karpenter's does, as far as the rows go."""
    foreign = _rule('self == "karpenter.sh/capacity-type" || !self.find("^([^/]+)").endsWith("karpenter.sh")',
                    "a label of this domain is restricted")  # fmt: skip
    key = {
        **_TEXT,
        "maxLength": 316,
        _RULES: [foreign, _rule('self != "kubernetes.io/hostname"', "restricted")],
    }
    values = {"type": "array", "items": {**_TEXT, "maxLength": 63}, "maxItems": 50}
    row = {**object_of(key=key, operator=_TEXT, values=values), "required": ["key", "operator"]}
    number = "x.values.size() == 1 && int(x.values[0]) >= 0"
    requirements = _list(
        row,
        _rule(
            "self.all(x, x.operator == 'In' ? x.values.size() != 0 : true)", "In must have a value"
        ),
        _rule(f"self.all(x, x.operator == 'Gt' ? ({number}) : true)", "Gt: one positive integer"),
    )
    reference = {
        **object_of(
            kind={**_TEXT, _RULES: [_rule("self != ''", "may not be empty")]},
            group=_TEXT,
            name=_TEXT,
        ),
        _RULES: [_rule("self.kind == oldSelf.kind", "kind is immutable")],
    }
    expiry = {"type": "string", "pattern": "^(([0-9]+(s|m|h))+|Never)$", "default": "720h"}
    inner = object_of(nodeClassRef=reference, requirements=requirements, expireAfter=expiry)
    labels = {"type": "object", "maxProperties": 100, "additionalProperties": {**_TEXT, "maxLength": 63},
              _RULES: [_rule('self.all(x, x != "kubernetes.io/hostname")', "restricted")]}  # fmt: skip
    budget = object_of(nodes={**_TEXT, "default": "10%"}, schedule=_TEXT, duration=_TEXT)
    budgets = {**_list(budget, _rule("self.all(x, has(x.schedule) == has(x.duration))", "duration needs a schedule")),
               "default": [{"nodes": "10%"}]}  # fmt: skip
    disruption = {
        **object_of(budgets=budgets, consolidateAfter={**_TEXT, "default": "0s"}),
        "default": {},
    }
    spec = {
        **object_of(
            replicas={"type": "integer"},
            weight={"type": "integer"},
            disruption=disruption,
            template=object_of(metadata=object_of(labels=labels), spec=inner),
        ),
        _RULES: [
            _rule("!has(self.replicas) || !has(self.weight)", "'weight' of static pools"),
            _rule("has(self.replicas) == has(oldSelf.replicas)", "cannot transition between modes"),
        ],
    }
    return _definition("nodepools.karpenter.sh", "NodePool", "v1", object_of(spec=spec))


def _classes_in_own_words() -> dict[str, Any]:
    row = object_of(type=_TEXT, status=_TEXT)
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    status = {**object_of(conditions={"type": "array", "items": row}), "default": ready}
    schema = object_of(spec={"type": "object"}, status=status)
    return _definition("kwoknodeclasses.karpenter.kwok.sh", "KWOKNodeClass", "v1alpha1", schema)


def _definition(name: str, kind: str, served: str, schema: dict[str, Any]) -> dict[str, Any]:
    plural, _, group = name.partition(".")
    versions = [version(schema, served, subresources={"status": {}})]
    names = {"plural": plural, "kind": kind}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {"group": group, "scope": "Cluster", "names": names, "versions": versions},
    }


@pytest.fixture(scope="module", params=["own words", "Karpenter's"])
def defined(request: pytest.FixtureRequest, face: Face) -> Iterator[Face]:
    """Return a cluster in which somebody has defined NodePools and KWOKNodeClasses."""
    definitions = [_pools_in_own_words(), _classes_in_own_words()]
    if request.param != "own words":
        try:
            text = beside("karpenter-kwok", "karpenter-crds.yaml").read_text(encoding="utf-8")
        except Missing as missing:
            pytest.skip(str(missing))
        definitions = [
            one for one in yaml.safe_load_all(text) if Path(one["metadata"]["name"]).stem in _NEEDED
        ]
    for definition in definitions:
        answer = face.ask("POST", DEFINITIONS, body=definition)
        assert answer.status == 201, answer.text
    _until(lambda: _established(face, definitions) and face.ask("GET", POOLS).status == 200)
    _until(lambda: face.ask("GET", CLASSES).status == 200)
    yield face
    for definition in definitions:
        path = f"{DEFINITIONS}/{definition['metadata']['name']}"
        face.ask("DELETE", path)
        _until(lambda path=path: face.ask("GET", path).status == 404)


_NEEDED = ("nodepools.karpenter", "kwoknodeclasses.karpenter.kwok")


def _established(face: Face, definitions: list[dict[str, Any]]) -> bool:
    for definition in definitions:
        found = face.ask("GET", f"{DEFINITIONS}/{definition['metadata']['name']}").body
        rows = (found.get("status") or {}).get("conditions") or ()
        if not any(row["type"] == "Established" and row["status"] == "True" for row in rows):
            return False
    return True


def _until(so: Any) -> None:
    end = time.monotonic() + HANGS_SECONDS
    while not so():
        assert time.monotonic() < end
        time.sleep(0.05)


def _pool(**spec: Any) -> dict[str, Any]:
    reference = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
    inner = {"nodeClassRef": reference, "requirements": [], **spec.pop("inner", {})}
    template = {"spec": inner, **spec.pop("template", {})}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "contract"},
        "spec": {"template": template, **spec},
    }


def _requirement(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"requirements": [{"key": key, "operator": operator, "values": list(values)}]}


_INNER = "spec.template.spec"
REFUSED = [
    ({"inner": _requirement("x", "In")}, f"{_INNER}.requirements", "must have a value"),
    ({"inner": _requirement("x", "Gt", "-1")}, f"{_INNER}.requirements", "positive integer"),
    ({"inner": _requirement("x", "Gt", "1", "2")}, f"{_INNER}.requirements", "positive integer"),
    ({"inner": _requirement("kubernetes.io/hostname", "In", "a")}, f"{_INNER}.requirements[0].key", "restricted"),
    ({"inner": _requirement("karpenter.sh/own", "Exists")}, f"{_INNER}.requirements[0].key", "restricted"),
    ({"inner": {"expireAfter": "soon"}}, f"{_INNER}.expireAfter", "should match"),
    ({"inner": {"nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "", "name": "a"}}},
     f"{_INNER}.nodeClassRef.kind", "may not be empty"),
    ({"template": {"metadata": {"labels": {"kubernetes.io/hostname": "a"}}}},
     "spec.template.metadata.labels", "restricted"),
    ({"replicas": 1, "weight": 2}, "spec", "'weight'"),
    ({"disruption": {"consolidateAfter": "0s", "budgets": [{"nodes": "1", "duration": "5m"}]}},
     "spec.disruption.budgets", "duration"),
]  # fmt: skip
KEPT = [
    _requirement("x", "In", "a"),
    _requirement("x", "Gt", "1"),
    _requirement("karpenter.sh/capacity-type", "In", "spot"),
]


def _refusal(answer: Answer) -> tuple[str, str]:
    """Return field and message of the first cause."""
    assert answer.status == 422, answer.text
    first = answer.body["details"]["causes"][0]
    return str(first["field"]), str(first["message"])


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: f"{row[1]} {row[2]}"[-40:])
def test_a_rule_of_the_definition_refuses(
    defined: Face, row: tuple[dict[str, Any], str, str]
) -> None:
    """With 422, the field and the definition's own message."""
    change, field, words = row
    found, message = _refusal(defined.ask("POST", POOLS, body=_pool(**change), query=ALL))
    assert found == field, message
    assert words in message


@pytest.mark.parametrize("inner", KEPT, ids=lambda inner: inner["requirements"][0]["operator"])
def test_what_keeps_the_rules_is_stored_with_defaults(defined: Face, inner: dict[str, Any]) -> None:
    """What the definition has no place for is dropped."""
    answer = defined.ask("POST", POOLS, body=_pool(inner=inner, unheard="of"), query=ALL)
    assert answer.status == 201, answer.text
    spec = answer.body["spec"]
    assert spec["template"]["spec"]["expireAfter"] == "720h"
    assert spec["disruption"]["budgets"] == [{"nodes": "10%"}]
    assert "unheard" not in spec


def test_changes_are_held_against_what_was_there(defined: Face) -> None:
    """Rules with `oldSelf`: one mode for good, and one kind of node classes."""
    assert defined.ask("POST", POOLS, body=_pool()).status == 201
    one = f"{POOLS}/contract"
    try:
        for patch, field, words in (
            ({"replicas": 2}, "spec", "transition"),
            ({"template": {"spec": {"nodeClassRef": {"kind": "Other"}}}}, f"{_INNER}.nodeClassRef", "immutable"),
        ):  # fmt: skip
            answer = defined.ask("PATCH", one, body={"spec": patch}, content_type=MERGE)
            found, message = _refusal(answer)
            assert found == field
            assert words in message
        assert (
            defined.ask("PATCH", one, body={"spec": {"weight": 3}}, content_type=MERGE).status
            == 200
        )
    finally:
        defined.ask("DELETE", one)


def test_a_default_of_the_status_is_seen_in_a_new_object(defined: Face) -> None:
    """Though nobody can write the status with it."""
    body = {
        "apiVersion": "karpenter.kwok.sh/v1alpha1",
        "kind": "KWOKNodeClass",
        "metadata": {"name": "contract"},
        "spec": {},
        "status": {"conditions": []},
    }
    made = defined.ask("POST", CLASSES, body=body)
    try:
        assert made.status == 201, made.text
        found = defined.ask("GET", f"{CLASSES}/contract").body["status"]["conditions"]
        assert [(row["type"], row["status"]) for row in found] == [("Ready", "True")]
    finally:
        defined.ask("DELETE", f"{CLASSES}/contract")
