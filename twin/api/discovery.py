"""Discovery: what is served, in the legacy form and in both aggregated versions, and a minimal
OpenAPI.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from twin.kinds import KINDS, Kind

VERSION = {
    "major": "1",
    "minor": "35",
    "gitVersion": "v1.35.0+foresail",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "none",
    "platform": "linux/amd64",
}
"""The suffix `+foresail` marks the cluster as simulated, where clients do not look."""
VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
METRICS_GROUP = "metrics.k8s.io"
METRICS_VERSION = "v1beta1"
SHORT_NAMES = {
    "nodes": ["no"],
    "pods": ["po"],
    "namespaces": ["ns"],
    "events": ["ev"],
    "services": ["svc"],
    "configmaps": ["cm"],
    "resourcequotas": ["quota"],
    "deployments": ["deploy"],
    "replicasets": ["rs"],
    "poddisruptionbudgets": ["pdb"],
    "priorityclasses": ["pc"],
}
CATEGORIES = {
    "pods": ["all"],
    "services": ["all"],
    "deployments": ["all"],
    "replicasets": ["all"],
    "jobs": ["all"],
}
SUBRESOURCES = {
    "nodes": [("status", "Node", ["get", "patch", "update"])],
    "pods": [
        ("status", "Pod", ["get", "patch", "update"]),
        ("eviction", "Eviction", ["create"]),
        ("log", "Pod", ["get"]),
    ],
    "deployments": [
        ("status", "Deployment", ["get", "patch", "update"]),
        ("scale", "Scale", ["get", "patch", "update"]),
    ],
    "replicasets": [
        ("status", "ReplicaSet", ["get", "patch", "update"]),
        ("scale", "Scale", ["get", "patch", "update"]),
    ],
    "jobs": [("status", "Job", ["get", "patch", "update"])],
    "poddisruptionbudgets": [("status", "PodDisruptionBudget", ["get", "patch", "update"])],
}


def group_versions() -> list[tuple[str, str]]:
    """Return served (group, version) pairs without the core group."""
    pairs = {(kind.group, kind.version) for kind in KINDS.values() if kind.group}
    return sorted({*pairs, (METRICS_GROUP, METRICS_VERSION), ("authorization.k8s.io", "v1")})


def api_versions() -> dict[str, Any]:
    """Return GET /api."""
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def api_groups() -> dict[str, Any]:
    """Return GET /apis."""
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [api_group(*pair) for pair in group_versions()],
    }


def api_group(group: str, version: str) -> dict[str, Any]:
    """Return GET /apis/GROUP."""
    entry = {"groupVersion": f"{group}/{version}", "version": version}
    return {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": group,
        "versions": [entry],
        "preferredVersion": entry,
    }


def resource_list(group: str, version: str) -> dict[str, Any]:
    """Return GET /api/v1 or /apis/GROUP/VERSION."""
    resources: list[dict[str, Any]] = []
    for kind in _kinds(group, version):
        resources.append(_resource(kind))
        resources += [
            {
                "name": f"{kind.resource}/{name}",
                "singularName": "",
                "namespaced": kind.namespaced,
                "kind": of,
                "verbs": verbs,
            }
            | ({"group": "autoscaling", "version": "v1"} if of == "Scale" else {})
            | ({"group": "policy", "version": "v1"} if of == "Eviction" else {})
            for name, of, verbs in SUBRESOURCES.get(kind.resource, [])
        ]
    if group == METRICS_GROUP:
        resources += [
            {
                "name": "nodes",
                "singularName": "",
                "namespaced": False,
                "kind": "NodeMetrics",
                "verbs": ["get", "list"],
            },
            {
                "name": "pods",
                "singularName": "",
                "namespaced": True,
                "kind": "PodMetrics",
                "verbs": ["get", "list"],
            },
        ]
    if group == "authorization.k8s.io":
        resources.append(
            {
                "name": "selfsubjectaccessreviews",
                "singularName": "",
                "namespaced": False,
                "kind": "SelfSubjectAccessReview",
                "verbs": ["create"],
            }
        )
    name = f"{group}/{version}" if group else version
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": name,
        "resources": resources,
    }


def aggregated(groups: Iterable[tuple[str, str]], version: str) -> dict[str, Any]:
    """Return the aggregated discovery document (`v2` or `v2beta1`, as the client asked)."""
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": group} if group else {},
                "versions": [
                    {"version": of, "freshness": "Current", "resources": _discovered(group, of)}
                ],
            }
            for group, of in groups
        ],
    }


def openapi_v3() -> dict[str, Any]:
    """Return GET /openapi/v3: where each group's document is."""
    paths = {"api/v1": {"serverRelativeURL": "/openapi/v3/api/v1"}}
    paths |= {
        f"apis/{g}/{v}": {"serverRelativeURL": f"/openapi/v3/apis/{g}/{v}"}
        for g, v in group_versions()
    }
    return {"paths": paths}


def openapi_v3_group(group: str, version: str) -> dict[str, Any]:
    """Return a group's OpenAPI: every kind as an open object, and the parameter that lets kubectl
    validate here.
    """
    schemas: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for kind in _kinds(group, version):
        gvk = [{"group": group, "version": version, "kind": kind.kind}]
        schemas[f"foresail.{kind.kind}"] = {
            "type": "object",
            "description": f"{kind.kind} of the embedded cluster.",
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
            "x-kubernetes-preserve-unknown-fields": True,
            "x-kubernetes-group-version-kind": gvk,
        }
        prefix = f"/apis/{group}/{version}" if group else f"/api/{version}"
        scope = "/namespaces/{namespace}" if kind.namespaced else ""
        parameters = [
            {"name": name, "in": "query", "schema": {"type": "string"}}
            for name in ("dryRun", "fieldManager", "fieldValidation")
        ]
        operation = {
            "parameters": parameters,
            "responses": {"200": {"description": "OK"}},
            "x-kubernetes-group-version-kind": gvk[0],
        }
        paths[f"{prefix}{scope}/{kind.resource}"] = {"post": operation}
        paths[f"{prefix}{scope}/{kind.resource}/{{name}}"] = {"patch": operation, "put": operation}
    return {
        "openapi": "3.0.0",
        "info": {"title": "Foresail embedded cluster", "version": VERSION["gitVersion"]},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _kinds(group: str, version: str) -> list[Kind]:
    return [kind for kind in KINDS.values() if (kind.group, kind.version) == (group, version)]


def _resource(kind: Kind) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": kind.resource,
        "singularName": kind.kind.lower(),
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": VERBS,
    }
    if kind.resource in SHORT_NAMES:
        entry["shortNames"] = SHORT_NAMES[kind.resource]
    if kind.resource in CATEGORIES:
        entry["categories"] = CATEGORIES[kind.resource]
    return entry


def _discovered(group: str, version: str) -> list[dict[str, Any]]:
    listed = resource_list(group, version)["resources"]
    entries: dict[str, dict[str, Any]] = {}
    for one in listed:
        name, _, subresource = one["name"].partition("/")
        of = {
            "group": one.get("group", group),
            "version": one.get("version", version),
            "kind": one["kind"],
        }
        if subresource:
            entries[name].setdefault("subresources", []).append(
                {"subresource": subresource, "responseKind": of, "verbs": one["verbs"]}
            )
            continue
        entry = {
            "resource": name,
            "responseKind": of,
            "scope": "Namespaced" if one["namespaced"] else "Cluster",
            "verbs": one["verbs"],
        }
        entry["singularResource"] = one["singularName"]
        entry |= {key: one[key] for key in ("shortNames", "categories") if key in one}
        entries[name] = entry
    return list(entries.values())
