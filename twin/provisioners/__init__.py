"""Who adds and removes machines: Cluster Autoscaler, Karpenter, or the earlier system's warm pool.

Each sees the API alone (`client.py`) and asks the cloud for machines. `build_provisioner` makes the one
that the settings name.
"""

from __future__ import annotations

from typing import Protocol

from twin.changes import Change
from twin.machines.catalogue import groups_of
from twin.machines.cloud import Cloud
from twin.provisioners.client import Client, Evict
from twin.provisioners.cluster_autoscaler.autoscaler import COMPONENT as AUTOSCALER
from twin.provisioners.cluster_autoscaler.autoscaler import ClusterAutoscaler
from twin.provisioners.karpenter.controller import Karpenter
from twin.provisioners.karpenter.names import COMPONENT as KARPENTER
from twin.provisioners.warm_pool import COMPONENT as WARM_POOL
from twin.provisioners.warm_pool import WarmPool
from twin.world import World


class Provisioner(Protocol):
    """What adds and removes machines."""

    def begin(self) -> None:
        """Make what is there from the start, and plan the first look."""

    def follow(self, change: Change) -> None:
        """Take in one change; nothing is written from here."""


def build_provisioner(world: World, cloud: Cloud, evict: Evict) -> Provisioner | None:
    """Return the provisioner that the settings name, None for `none`."""
    config = world.config.provisioning
    match config.provisioner:
        case "cluster-autoscaler":
            groups = groups_of(config, cloud.catalogue)
            return ClusterAutoscaler(world, cloud, Client(world, evict, AUTOSCALER), groups)
        case "karpenter":
            return Karpenter(world, cloud, Client(world, evict, KARPENTER))
        case "warm-pool":
            return WarmPool(world, cloud, Client(world, evict, WARM_POOL))
        case _:
            return None
