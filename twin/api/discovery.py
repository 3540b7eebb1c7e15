"""Discovery: what is served, in the legacy form and in both aggregated versions.

Everything follows from the kinds that are kept, so a kind that is added shows up by itself. `custom` are
those of definitions, version by version.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

from twin.api.core_kinds import UNKEPT
from twin.api.custom_metrics import VERSIONS, served_resources
from twin.api.reviews import REVIEWS
from twin.custom.version import version_rank
from twin.kinds import ELSEWHERE, KINDS, KUBERNETES_VERSION, Kind

Kinds = Sequence[Kind]
VERSION = {
    "major": KUBERNETES_VERSION[1:].split(".")[0],
    "minor": KUBERNETES_VERSION.split(".")[1],
    "emulationMajor": KUBERNETES_VERSION[1:].split(".")[0],
    "emulationMinor": KUBERNETES_VERSION.split(".")[1],
    "minCompatibilityMajor": KUBERNETES_VERSION[1:].split(".")[0],
    "minCompatibilityMinor": str(int(KUBERNETES_VERSION.split(".")[1]) - 1),
    "gitVersion": f"{KUBERNETES_VERSION}+foresail",
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
    "endpoints": ["ep"],
    "configmaps": ["cm"],
    "serviceaccounts": ["sa"],
    "resourcequotas": ["quota"],
    "limitranges": ["limits"],
    "persistentvolumeclaims": ["pvc"],
    "persistentvolumes": ["pv"],
    "deployments": ["deploy"],
    "replicasets": ["rs"],
    "replicationcontrollers": ["rc"],
    "statefulsets": ["sts"],
    "daemonsets": ["ds"],
    "cronjobs": ["cj"],
    "horizontalpodautoscalers": ["hpa"],
    "verticalpodautoscalers": ["vpa"],
    "poddisruptionbudgets": ["pdb"],
    "priorityclasses": ["pc"],
    "ingresses": ["ing"],
    "networkpolicies": ["netpol"],
    "storageclasses": ["sc"],
    "volumeattributesclasses": ["vac"],
    "ipaddresses": ["ip"],
    "customresourcedefinitions": ["crd", "crds"],
}
CATEGORIES = {
    resource: ["all"]
    for resource in (
        "pods", "services", "deployments", "replicasets", "statefulsets", "daemonsets", "jobs",
        "cronjobs", "horizontalpodautoscalers", "replicationcontrollers",
    )
}  # fmt: skip
CATEGORIES |= {
    resource: ["api-extensions"]
    for resource in (
        "apiservices",
        "customresourcedefinitions",
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
    )
}
_STATUS = ("nodes", "pods", "namespaces", "services", "resourcequotas", "deployments", "replicasets",
           "replicationcontrollers",
           "statefulsets", "daemonsets", "jobs", "cronjobs", "horizontalpodautoscalers",
           "poddisruptionbudgets", "persistentvolumeclaims", "persistentvolumes",
           "ingresses", "resourceclaims", "volumeattachments",
           "customresourcedefinitions", "validatingadmissionpolicies", "verticalpodautoscalers",
           "apiservices",
           "servicecidrs",
           "nodepools", "nodeclaims", "kwoknodeclasses")  # fmt: skip
_SCALED = ("deployments", "replicasets", "replicationcontrollers", "statefulsets")
_OF_PODS = {
    "attach": "PodAttachOptions",
    "binding": "Binding",
    "ephemeralcontainers": "Pod",
    "eviction": "Eviction",
    "exec": "PodExecOptions",
    "log": "Pod",
    "portforward": "PodPortForwardOptions",
    "proxy": "PodProxyOptions",
    "resize": "Pod",
}
_PART_VERBS = ["get", "patch", "update"]
_PROXY_VERBS = ["create", "delete", "get", "patch", "update"]
_POD_VERBS = {
    **{name: ["create", "get"] for name in ("attach", "exec", "portforward")},
    **{name: ["create"] for name in ("binding", "eviction")},
    **dict.fromkeys(("ephemeralcontainers", "resize"), _PART_VERBS),
    "log": ["get"],
    "proxy": _PROXY_VERBS,
}


def subresources_of(kind: Kind) -> dict[str, tuple[str, list[str]]]:
    """Return the subresources of a kind: name to the kind it speaks and its verbs."""
    subresources: dict[str, tuple[str, list[str]]] = {}
    if kind.custom is not None:
        if kind.custom.has_status:
            subresources["status"] = (kind.kind, _PART_VERBS)
        if kind.custom.scale is not None:
            subresources["scale"] = ("Scale", _PART_VERBS)
        return subresources
    if kind.resource in _STATUS:
        subresources["status"] = (kind.kind, _PART_VERBS)
    if kind.resource in _SCALED:
        subresources["scale"] = ("Scale", _PART_VERBS)
    if kind.resource == "pods":
        subresources |= {name: (of, _POD_VERBS[name]) for name, of in _OF_PODS.items()}
    if kind.resource in ("nodes", "services"):
        subresources["proxy"] = (f"{kind.kind}ProxyOptions", _PROXY_VERBS)
    if kind.resource == "namespaces":
        subresources["finalize"] = ("Namespace", ["update"])
    if kind.resource == "serviceaccounts":
        subresources["token"] = ("TokenRequest", ["create"])
    return subresources


def all_kinds(custom: Kinds = ()) -> list[Kind]:
    """Return the kinds that are kept, those that another group shows as well, and custom ones."""
    return [*KINDS.values(), *ELSEWHERE, *custom]


def group_versions(custom: Kinds = ()) -> list[tuple[str, str]]:
    """Return served (group, version) pairs without the core group, the preferred version first."""
    ranked = sorted({(kind.group, kind.version) for kind in custom}, key=_by_rank)
    pairs = {pair: -place for place, pair in enumerate(ranked)}
    pairs |= {
        (kind.group, version): len(ranked) - place
        for kind in all_kinds()
        if kind.group
        for place, version in enumerate((kind.version, *kind.other_versions))
    }
    pairs |= dict.fromkeys(((METRICS_GROUP, METRICS_VERSION), *REVIEWS), 0)
    pairs |= {
        (group, version): -place
        for group, versions in VERSIONS.items()
        for place, version in enumerate(versions)
    }
    return sorted(pairs, key=lambda pair: (*_group_rank(pair[0]), -pairs[pair], pair[1]))


_FIRST_GROUPS = (
    *("apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io"),
    *("authorization.k8s.io", "autoscaling", "batch", "networking.k8s.io"),
    *("policy", "rbac.authorization.k8s.io", "storage.k8s.io", "admissionregistration.k8s.io"),
    *("apiextensions.k8s.io", "scheduling.k8s.io", "coordination.k8s.io", "node.k8s.io"),
    *("discovery.k8s.io", "resource.k8s.io"),
)
"""Groups in a real server's order, by which clients choose where several have a resource of a name."""


def _group_rank(group: str) -> tuple[int, str]:
    place = _FIRST_GROUPS.index(group) if group in _FIRST_GROUPS else len(_FIRST_GROUPS)
    return (place, group)


def api_versions(address: str) -> dict[str, Any]:
    """Return GET /api of a server at `address`, a host and a port."""
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}] if address else []
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}


def _by_rank(pair: tuple[str, str]) -> tuple[Any, ...]:
    return (pair[0], *version_rank(pair[1]))


def api_groups(custom: Kinds = ()) -> dict[str, Any]:
    """Return GET /apis."""
    names = dict.fromkeys(group for group, _ in group_versions(custom))
    groups = [_api_group(name, custom) for name in names]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def api_group(group: str, custom: Kinds = ()) -> dict[str, Any] | None:
    """Return GET /apis/GROUP; None for one that is not served."""
    content = _api_group(group, custom)
    return content and {"kind": "APIGroup", "apiVersion": "v1", **content}


def _api_group(group: str, custom: Kinds) -> dict[str, Any] | None:
    versions = [
        {"groupVersion": f"{group}/{version}", "version": version}
        for name, version in group_versions(custom)
        if name == group
    ]
    if not versions:
        return None
    return {
        "name": group,
        "versions": versions,
        "preferredVersion": versions[0],
    }


def resource_list(group: str, version: str, custom: Kinds = ()) -> dict[str, Any]:
    """Return GET /api/v1 or /apis/GROUP/VERSION."""
    resources: list[dict[str, Any]] = []
    for kind in kinds_of(group, version, custom):
        resources.append(_resource(kind))
        resources += [
            {
                "name": f"{kind.plural}/{name}",
                "singularName": "",
                "namespaced": kind.namespaced,
                "kind": of,
                "verbs": verbs,
                **_ELSEWHERE.get(of, {}),
            }
            for name, (of, verbs) in subresources_of(kind).items()
        ]
    if (group, version) == (METRICS_GROUP, METRICS_VERSION):
        resources += [
            _plain("nodes", "NodeMetrics", False, ["get", "list"]),
            _plain("pods", "PodMetrics", True, ["get", "list"]),
        ]
    resources += [
        {**_plain(name, kind, True, ["get"]), "singularName": ""}
        for name, kind in served_resources(group, version)
    ]
    resources += [
        _plain(plural, kind, namespaced, ["create"])
        for plural, (kind, namespaced) in REVIEWS.get((group, version), {}).items()
    ]
    if not group:
        resources += UNKEPT
    resources.sort(key=lambda entry: str(entry["name"]).split("/"))
    name = f"{group}/{version}" if group else version
    return {
        "kind": "APIResourceList",
        **({"apiVersion": "v1"} if group else {}),  # the oldest list says no version of its own
        "groupVersion": name,
        "resources": resources,
    }


_ELSEWHERE = {
    "Scale": {"group": "autoscaling", "version": "v1"},
    "Eviction": {"group": "policy", "version": "v1"},
    "TokenRequest": {"group": "authentication.k8s.io", "version": "v1"},
}
"""Kinds of subresources that are of another group than their owner."""


def aggregated_document(
    groups: Iterable[tuple[str, str]], version: str, custom: Kinds = ()
) -> dict[str, Any]:
    """Return the aggregated discovery document (`v2` or `v2beta1`, as the client asked)."""
    by_group: dict[str, list[str]] = {}
    for group, of in groups:
        by_group.setdefault(group, []).append(of)
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": group} if group else {},
                "versions": [
                    {
                        "version": of,
                        "freshness": "Current",
                        "resources": aggregated_kinds(
                            resource_list(group, of, custom)["resources"]
                        ),
                    }
                    for of in versions
                ],
            }
            for group, versions in by_group.items()
        ],
    }


def kinds_of(group: str, version: str, custom: Kinds = ()) -> list[Kind]:
    """Return the kinds that are served in a group and version."""
    return [
        kind
        for kind in all_kinds(custom)
        if kind.group == group and version in (kind.version, *kind.other_versions)
    ]


def _plain(name: str, kind: str, namespaced: bool, verbs: list[str]) -> dict[str, Any]:
    return {
        "name": name,
        "singularName": kind.lower(),
        "namespaced": namespaced,
        "kind": kind,
        "verbs": verbs,
    }


def _resource(kind: Kind) -> dict[str, Any]:
    if kind.custom is not None:
        entry = _plain(kind.plural, kind.kind, kind.namespaced, VERBS)
        entry["singularName"] = kind.custom.singular
        if kind.custom.short_names:
            entry["shortNames"] = list(kind.custom.short_names)
        if kind.custom.categories:
            entry["categories"] = list(kind.custom.categories)
        return entry
    verbs = _NO_COLLECTION if kind.resource == "namespaces" else VERBS
    entry = _plain(kind.resource, kind.kind, kind.namespaced, verbs)
    entry["storageVersionHash"] = _storage_hash(kind)
    if kind.resource in SHORT_NAMES:
        entry["shortNames"] = SHORT_NAMES[kind.resource]
    if kind.resource in CATEGORIES:
        entry["categories"] = CATEGORIES[kind.resource]
    return entry


_NO_COLLECTION = [verb for verb in VERBS if verb != "deletecollection"]


def _storage_hash(kind: Kind) -> str:
    """Return by what clients tell in which version the objects of a kind are kept."""
    kept = KINDS[kind.resource]
    text = f"{kept.group}/{kept.version}/{kept.kind}"
    return b64encode(sha256(text.encode()).digest()[:8]).decode()


def aggregated_kinds(resources: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return entries of an APIResourceList as aggregated discovery has them."""
    entries: dict[str, dict[str, Any]] = {}
    for resource in resources:
        name, _, subresource = resource["name"].partition("/")
        of = {name: resource.get(name, "") for name in ("group", "version", "kind")}
        if subresource and name not in entries:
            continue  # a metric of objects that another group serves
        if subresource:
            entries[name].setdefault("subresources", []).append(
                {"subresource": subresource, "responseKind": of, "verbs": resource["verbs"]}
            )
            continue
        entry = {
            "resource": name,
            "responseKind": of,
            "scope": "Namespaced" if resource["namespaced"] else "Cluster",
            "verbs": resource["verbs"],
            "singularResource": resource["singularName"],
        }
        entry |= {key: resource[key] for key in ("shortNames", "categories") if key in resource}
        entries[name] = entry
    return list(entries.values())
