"""By what a real server orders its own groups and versions in discovery.

Source: kubernetes/kubernetes pkg/controlplane/apiserver/aggregator.go at 1.36.
"""

from __future__ import annotations

GROUP_PRIORITIES = {
    "": 18_000,
    "apps": 17_800,
    "events.k8s.io": 17_750,
    "authentication.k8s.io": 17_700,
    "authorization.k8s.io": 17_600,
    "autoscaling": 17_500,
    "batch": 17_400,
    "networking.k8s.io": 17_200,
    "policy": 17_100,
    "rbac.authorization.k8s.io": 17_000,
    "storage.k8s.io": 16_800,
    "admissionregistration.k8s.io": 16_700,
    "apiextensions.k8s.io": 16_700,
    "scheduling.k8s.io": 16_600,
    "coordination.k8s.io": 16_500,
    "node.k8s.io": 16_300,
    "discovery.k8s.io": 16_200,
    "resource.k8s.io": 16_200,
}
"""groupPriorityMinimum by group."""
_USUAL = 15
_OTHERS = {"": 1, "resource.k8s.io": 21}
VERSION_PRIORITIES = {
    **{(group, "v1"): _OTHERS.get(group, _USUAL) for group in GROUP_PRIORITIES},
    ("autoscaling", "v2"): 30,
}
"""versionPriority by group and version."""
