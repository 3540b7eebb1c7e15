"""Objects of any kind of which only the metadata is read."""

from __future__ import annotations

from services.kube_objects import KubeStruct, Meta


class NamedObject(KubeStruct, frozen=True, dict=True, gc=True):
    """A Namespace, a Deployment, a Job: whatever has a name."""

    metadata: Meta = Meta()
