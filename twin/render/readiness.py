"""Readiness gates: conditions of others that have to be true before a pod is ready.

Source: kubernetes/kubernetes pkg/kubelet/status/generate.go.
"""

from __future__ import annotations

from twin.records import PodRecord


def closed_gates(pod: PodRecord) -> list[str]:
    """Return what stands against a pod in its gates, in the kubelet's words."""
    status = {entry.get("type"): entry.get("status") for entry in pod.conditions}
    said = []
    for gate in pod.shape.spec.get("readinessGates") or ():
        name = gate["conditionType"]
        if name not in status:
            said.append(f'corresponding condition of pod readiness gate "{name}" does not exist.')
        elif status[name] != "True":
            said.append(
                f'the status of pod readiness gate "{name}" is not "True", but {status[name]}'
            )
    return said
