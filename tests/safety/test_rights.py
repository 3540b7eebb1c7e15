"""deploy/rbac.yaml allows what is asked of a real cluster, and nothing more in writing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from foresail.stack.real_cluster import READ
from services.collector.cluster import SERVICES, WATCHED
from services.rights.executor import RESOURCES

FILE = Path(__file__).parents[2] / "deploy" / "rbac.yaml"


def rules(name: str) -> set[tuple[str, str, str]]:
    """Return (group, resource, verb) of a ClusterRole."""
    manifests: list[dict[str, Any]] = list(yaml.safe_load_all(FILE.read_text(encoding="utf-8")))
    (role,) = [
        manifest
        for manifest in manifests
        if manifest["kind"] == "ClusterRole" and manifest["metadata"]["name"] == name
    ]
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def _group_and_resource(path: str) -> tuple[str, str]:
    group = path.split("/")[2] if path.startswith("/apis/") else ""
    return group, path.rsplit("/", maxsplit=1)[-1]


def test_everything_that_is_read_may_be_read() -> None:
    """What the start reads, and every kind of owner, is there to get and to list; what is followed, to watch."""
    allowed = rules("foresail-read")
    for path in READ:
        assert {(*_group_and_resource(path), verb) for verb in ("get", "list")} <= allowed
    for (version, _), resource in RESOURCES.items():
        assert (version.split("/")[0], resource, "get") in allowed
    followed = {_group_and_resource(source.path) for source in (*WATCHED, SERVICES)}
    assert {(group, resource) for group, resource, verb in allowed if verb == "watch"} == followed
    assert {verb for _, _, verb in allowed} == {"get", "list", "watch"}


def test_writes_are_those_of_the_plans() -> None:
    """No secret, no pod deleted outright, no node but by a role of its own."""
    assert rules("foresail-write") == {
        ("", "pods/eviction", "create"),
        ("", "pods/resize", "patch"),
        ("", "resourcequotas", "create"),
        ("", "resourcequotas", "delete"),
        ("apps", "deployments", "patch"),
        ("apps", "deployments/scale", "patch"),
        ("batch", "jobs", "patch"),
        ("autoscaling", "horizontalpodautoscalers", "patch"),
    }
    assert rules("foresail-nodes") == {("", "nodes", "patch")}
    assert {verb for _, _, verb in rules("foresail-karpenter")} == {"get", "list", "delete"}
    assert {resource for _, resource, _ in rules("foresail-karpenter")} == {"nodeclaims"}
