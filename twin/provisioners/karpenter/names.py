"""Labels, taints, annotations and condition types of Karpenter (pkg/apis/v1)."""

from __future__ import annotations

from twin.records import Object

POOL = "karpenter.sh/nodepool"
REGISTERED = "karpenter.sh/registered"
INITIALIZED = "karpenter.sh/initialized"
CAPACITY_TYPE = "karpenter.sh/capacity-type"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
ARCH = "kubernetes.io/arch"
OS = "kubernetes.io/os"
FINALIZER = "karpenter.sh/termination"
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
HASH = "karpenter.sh/nodepool-hash"
HASH_VERSION = "karpenter.sh/nodepool-hash-version"
EXCLUDE_BALANCERS = "node.kubernetes.io/exclude-from-external-load-balancers"
DISRUPTED: Object = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
UNREGISTERED: Object = {"key": "karpenter.sh/unregistered", "effect": "NoExecute"}
WELL_KNOWN = frozenset(
    {POOL, ZONE, "topology.kubernetes.io/region", INSTANCE_TYPE, ARCH, OS, CAPACITY_TYPE}
)
"""Labels whose values Karpenter itself narrows down."""
EPHEMERAL = frozenset(
    {
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "karpenter.sh/unregistered",
    }
)
"""Taints that go by themselves while a node starts (scheduling/taints.go KnownEphemeralTaints)."""
COMPONENT = "karpenter"
