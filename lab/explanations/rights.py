"""What answering questions of a live cluster may do at the API server: list, and nothing else."""

from __future__ import annotations

from services.rights import Right

_APPS, _AUTOSCALING, _BATCH = "apps", "autoscaling", "batch"
_STORAGE, _KARPENTER = "storage.k8s.io", "karpenter.sh"
_PLACES = "where a pod could run"
_WHY: tuple[tuple[str, str, str], ...] = (
    ("", "nodes", _PLACES),
    ("", "pods", "who is where, and who waits"),
    ("", "namespaces", "namespace selectors of affinities"),
    ("", "services", "default spread of a Service's pods"),
    ("", "persistentvolumes", "volumes of claims"),
    ("", "persistentvolumeclaims", "whether claims are there and bound"),
    ("", "resourcequotas", "what quotas leave now"),
    ("", "events", "what kubelets and controllers say"),
    (_STORAGE, "storageclasses", _PLACES),
    (_STORAGE, "csidrivers", _PLACES),
    (_STORAGE, "csinodes", _PLACES),
    (_STORAGE, "csistoragecapacities", _PLACES),
    (_STORAGE, "volumeattachments", _PLACES),
    ("policy", "poddisruptionbudgets", "whom evictions may not touch"),
    (_APPS, "deployments", "what a workload waits for"),
    (_APPS, "replicasets", "what a workload waits for"),
    (_APPS, "statefulsets", "what a workload waits for"),
    (_APPS, "daemonsets", "what a workload waits for"),
    (_BATCH, "jobs", "what a Job waits for"),
    (_AUTOSCALING, "horizontalpodautoscalers", "what an autoscaler wants"),
    ("metrics.k8s.io", "pods", "what its metrics read"),
    (_KARPENTER, "nodeclaims", "what keeps a node"),
    (_KARPENTER, "nodepools", "what keeps a node"),
)
RIGHTS: tuple[Right, ...] = (
    *(Right("list", resource, group, why=why) for group, resource, why in _WHY),
    *(
        Right("get", resource, _APPS, why="what an autoscaler scales")
        for resource in ("deployments", "replicasets", "statefulsets")
    ),
)
"""For `foresail explain NAME --why-not QUESTION`."""
