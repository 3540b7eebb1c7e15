"""Marks by which a cluster's owners keep automation away: do-not-disrupt annotations and the signs of
a control-plane node.

A mark that is present counts unless it says the opposite in so many words: a typing error must
never turn protection off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

DO_NOT_DISRUPT = "foresail.dev/do-not-disrupt"
"""Our own; as an annotation or as a label, on any object."""
KARPENTER_DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
"""Cluster Autoscaler's; `false` protects."""
MIRROR = "kubernetes.io/config.mirror"
"""On the API's copy of a static pod, which only its kubelet can stop."""
CONTROL_PLANE_ROLES = tuple(
    f"node-role.kubernetes.io/{role}"
    for role in ("control-plane", "controlplane", "master", "etcd")
)
"""Label keys, and keys of taints, of nodes that run the control plane (the newest first; others are
of older or other distributions).
"""
OWN_NAMESPACES = frozenset({"kube-system", "kube-public", "kube-node-lease"})
"""Kubernetes' own namespaces; their pods count only where settings name them."""
_OFF = "false"


def do_not_disrupt_mark(annotations: Mapping[str, str], labels: Mapping[str, str]) -> str:
    """Return the mark that protects an object, as `key=value`; empty when none does."""
    marks = [
        (key, present[key])
        for present, keys in (
            (annotations, (DO_NOT_DISRUPT, KARPENTER_DO_NOT_DISRUPT)),
            (labels, (DO_NOT_DISRUPT,)),
        )
        for key in keys
        if key in present
    ]
    for key, value in marks:
        if value.strip().lower() != _OFF:
            return f"{key}={value}"
    if annotations.get(SAFE_TO_EVICT, "").strip().lower() == "false":
        return f"{SAFE_TO_EVICT}=false"
    return ""


def control_plane_mark(labels: Iterable[str], taints: Iterable[str]) -> str:
    """Return the label or taint key that shows a control-plane node; empty when none does."""
    keys = {*labels, *taints}
    return next((role for role in CONTROL_PLANE_ROLES if role in keys), "")
