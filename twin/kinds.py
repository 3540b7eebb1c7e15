"""The kinds that the embedded cluster keeps: plural, kind, group, version, scope."""

from __future__ import annotations

from dataclasses import dataclass

from twin.custom.version import ServedVersion
from twin.errors import unknown_resource

KUBERNETES_VERSION = "v1.36.0"
"""What API server and kubelets say they are."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of object. `group` is empty for the core group."""

    resource: str
    """Its plural; of a custom resource with its group, such as `widgets.example.com`."""
    kind: str
    group: str
    version: str
    namespaced: bool
    other_versions: tuple[str, ...] = ()
    """Versions of the group that the kind is served in as well, converted (`twin.conversion`)."""
    custom: ServedVersion | None = None
    """What a CustomResourceDefinition says about this version; None for a built-in kind."""

    @property
    def plural(self) -> str:
        """Return the plural without the group."""
        return self.resource.partition(".")[0]

    @property
    def list_kind(self) -> str:
        """Return the kind of a list of these."""
        return f"{self.kind}List" if self.custom is None else self.custom.list_kind

    @property
    def api_version(self) -> str:
        """Return `v1` or `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version


KINDS: dict[str, Kind] = {
    entry.resource: entry
    for entry in (
        Kind("namespaces", "Namespace", "", "v1", False),
        Kind("nodes", "Node", "", "v1", False),
        Kind("pods", "Pod", "", "v1", True),
        Kind("events", "Event", "", "v1", True),
        Kind("services", "Service", "", "v1", True),
        Kind("configmaps", "ConfigMap", "", "v1", True),
        Kind("resourcequotas", "ResourceQuota", "", "v1", True),
        Kind("limitranges", "LimitRange", "", "v1", True),
        Kind("replicationcontrollers", "ReplicationController", "", "v1", True),
        Kind("deployments", "Deployment", "apps", "v1", True),
        Kind("replicasets", "ReplicaSet", "apps", "v1", True),
        Kind("statefulsets", "StatefulSet", "apps", "v1", True),
        Kind("daemonsets", "DaemonSet", "apps", "v1", True),
        Kind("controllerrevisions", "ControllerRevision", "apps", "v1", True),
        Kind("jobs", "Job", "batch", "v1", True),
        Kind("cronjobs", "CronJob", "batch", "v1", True),
        Kind(
            "horizontalpodautoscalers",
            "HorizontalPodAutoscaler",
            "autoscaling",
            "v2",
            True,
            other_versions=("v1",),
        ),
        Kind("verticalpodautoscalers", "VerticalPodAutoscaler", "autoscaling.k8s.io", "v1", True),
        Kind("poddisruptionbudgets", "PodDisruptionBudget", "policy", "v1", True),
        Kind("priorityclasses", "PriorityClass", "scheduling.k8s.io", "v1", False),
        Kind(
            "customresourcedefinitions",
            "CustomResourceDefinition",
            "apiextensions.k8s.io",
            "v1",
            False,
        ),
        Kind(
            "mutatingwebhookconfigurations",
            "MutatingWebhookConfiguration",
            "admissionregistration.k8s.io",
            "v1",
            False,
        ),
        Kind(
            "validatingwebhookconfigurations",
            "ValidatingWebhookConfiguration",
            "admissionregistration.k8s.io",
            "v1",
            False,
        ),
        Kind(
            "validatingadmissionpolicies",
            "ValidatingAdmissionPolicy",
            "admissionregistration.k8s.io",
            "v1",
            False,
        ),
        Kind(
            "validatingadmissionpolicybindings",
            "ValidatingAdmissionPolicyBinding",
            "admissionregistration.k8s.io",
            "v1",
            False,
        ),
        Kind("apiservices", "APIService", "apiregistration.k8s.io", "v1", False),
        Kind("leases", "Lease", "coordination.k8s.io", "v1", True),
        Kind("endpoints", "Endpoints", "", "v1", True),
        Kind("endpointslices", "EndpointSlice", "discovery.k8s.io", "v1", True),
        Kind("nodepools", "NodePool", "karpenter.sh", "v1", False),
        Kind("nodeclaims", "NodeClaim", "karpenter.sh", "v1", False),
        Kind("kwoknodeclasses", "KWOKNodeClass", "karpenter.kwok.sh", "v1alpha1", False),
        # Kinds that are only kept: clients write and read them, nothing simulated acts on them.
        Kind("secrets", "Secret", "", "v1", True),
        Kind("serviceaccounts", "ServiceAccount", "", "v1", True),
        Kind("podtemplates", "PodTemplate", "", "v1", True),
        Kind("persistentvolumeclaims", "PersistentVolumeClaim", "", "v1", True),
        Kind("persistentvolumes", "PersistentVolume", "", "v1", False),
        Kind("storageclasses", "StorageClass", "storage.k8s.io", "v1", False),
        Kind("csidrivers", "CSIDriver", "storage.k8s.io", "v1", False),
        Kind("csinodes", "CSINode", "storage.k8s.io", "v1", False),
        Kind("csistoragecapacities", "CSIStorageCapacity", "storage.k8s.io", "v1", True),
        Kind("volumeattachments", "VolumeAttachment", "storage.k8s.io", "v1", False),
        Kind("volumeattributesclasses", "VolumeAttributesClass", "storage.k8s.io", "v1", False),
        Kind("runtimeclasses", "RuntimeClass", "node.k8s.io", "v1", False),
        Kind("deviceclasses", "DeviceClass", "resource.k8s.io", "v1", False),
        Kind("resourceclaims", "ResourceClaim", "resource.k8s.io", "v1", True),
        Kind("resourceclaimtemplates", "ResourceClaimTemplate", "resource.k8s.io", "v1", True),
        Kind("resourceslices", "ResourceSlice", "resource.k8s.io", "v1", False),
        Kind("ingresses", "Ingress", "networking.k8s.io", "v1", True),
        Kind("ingressclasses", "IngressClass", "networking.k8s.io", "v1", False),
        Kind("networkpolicies", "NetworkPolicy", "networking.k8s.io", "v1", True),
        Kind("ipaddresses", "IPAddress", "networking.k8s.io", "v1", False),
        Kind("servicecidrs", "ServiceCIDR", "networking.k8s.io", "v1", False),
        Kind("roles", "Role", "rbac.authorization.k8s.io", "v1", True),
        Kind("rolebindings", "RoleBinding", "rbac.authorization.k8s.io", "v1", True),
        Kind("clusterroles", "ClusterRole", "rbac.authorization.k8s.io", "v1", False),
        Kind("clusterrolebindings", "ClusterRoleBinding", "rbac.authorization.k8s.io", "v1", False),
    )
}

RESOURCES = {(entry.group, entry.kind): resource for resource, entry in KINDS.items()}
"""Plurals by (group, kind)."""


ELSEWHERE = (Kind("events", "Event", "events.k8s.io", "v1", True),)
"""Kinds that are kept as one of those above and that another group shows as well."""


def kind_of(resource: str) -> Kind:
    """Return the kind of a plural; raises ApiError 404 when it is not served."""
    try:
        return KINDS[resource]
    except KeyError:
        raise unknown_resource(resource) from None
