"""Which DaemonSet pods a node that does not exist yet would get."""

from __future__ import annotations

from twin.controllers.daemon_set import daemon_spec
from twin.intake import new_record
from twin.provisioners.client import Client
from twin.records import NodeRecord, Object, PodRecord
from twin.scheduling.placement_rules import is_tolerated, refusal

_HARD = ("NoSchedule", "NoExecute")


def daemon_templates(client: Client) -> list[PodRecord]:
    """Return one pod of each DaemonSet, bound to no node."""
    found = []
    for record in client.objects("daemonsets"):
        owner: Object = {"kind": "DaemonSet", "name": record.name, "uid": record.uid}
        head = record.body["spec"]["template"].get("metadata") or {}
        metadata = {
            "name": record.name,
            "namespace": record.namespace,
            "labels": head.get("labels") or {},
            "ownerReferences": [{**owner, "apiVersion": "apps/v1", "controller": True}],
        }
        pod = new_record("pods", {"metadata": metadata, "spec": daemon_spec(record)})
        assert isinstance(pod, PodRecord)
        pod.uid = f"daemon/{record.uid}"
        found.append(pod)
    return found


def runs_on(pod: PodRecord, node: NodeRecord) -> bool:
    """True when a DaemonSet would put that pod on a node."""
    if refusal(node, pod.shape, ("NodeAffinity",)):
        return False
    return all(
        is_tolerated(taint, pod.shape.tolerations)
        for taint in node.taints
        if taint["effect"] in _HARD
    )
