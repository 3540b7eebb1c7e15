"""What of an object is written through a part of it: `status` takes the metadata along, for most kinds.

Upstream: PrepareForUpdate of the status strategies in pkg/registry of kubernetes/kubernetes.
"""

from __future__ import annotations

STATUS_ALONE = frozenset(
    {
        *("servicecidrs", "validatingadmissionpolicies"),
        *("volumeattachments", "resourceclaims", "verticalpodautoscalers", "apiservices"),
        *("nodepools", "nodeclaims", "kwoknodeclasses"),
    }
)
"""Built-in resources whose `status` subresource leaves labels, annotations, owners and finalizers alone."""
STATUS_LABELS_STAY = frozenset({"deployments"})
"""Resources whose labels alone stay."""


def writes_metadata(resource: str, subresource: str | None) -> bool:
    """Say whether a write through a subresource changes labels, annotations, owners and finalizers."""
    of_status = resource not in STATUS_ALONE and "." not in resource  # custom ones have a dot
    return subresource is None or (subresource == "status" and of_status)
