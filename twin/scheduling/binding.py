"""Giving a pod its node: by the simulated scheduler, or by another one through `pods/binding`.

The checks are the API server's (pkg/registry/core/pod/storage/storage.go assignPod and setPodNodeAndMetadata).
"""

from __future__ import annotations

from twin.errors import conflict
from twin.kinds import KINDS
from twin.preconditions import other_object
from twin.records import PodRecord
from twin.world import World


def bind_pod(world: World, pod: PodRecord, node: str, uid: str, *, dry_run: bool) -> None:
    """Bind a waiting pod to a node for a client, whether the node is there or not; raises ApiError 409."""
    if uid and uid != pod.uid:
        raise other_object(KINDS["pods"], pod, uid, dry_run=dry_run)
    if pod.deletion_at is not None:
        raise conflict(
            "pods/binding",
            pod.name,
            f"pod {pod.name} is being deleted, cannot be assigned to a host",
        )
    if pod.node_name:
        why = f'pod {pod.name} is already assigned to node "{pod.node_name}"'
        raise conflict("pods/binding", pod.name, why)
    if pod.shape.needs.gates:
        why = f"pod {pod.name} has non-empty .spec.schedulingGates"
        raise conflict("pods/binding", pod.name, why)
    if not dry_run:
        assign_node(world, pod, node)


def assign_node(world: World, pod: PodRecord, node: str) -> None:
    """Give a pod its node from now on."""
    before = pod.clone()
    pod.node_name, pod.scheduled_at = node, world.now
    pod.unschedulable = pod.nominated_node = ""
    world.store.touch("pods", pod, before)
