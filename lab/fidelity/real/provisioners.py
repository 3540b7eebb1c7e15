"""Cluster Autoscaler and Karpenter as programs, each with its own kwok provider."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

from lab.fidelity.cluster import Cluster, Object, ask, path_of
from lab.fidelity.real.processes import ControlPlane, free_port
from lab.fidelity.recording import TYPE
from lab.fidelity.scenario import ZONE, Scenario, rented_machines
from lab.fidelity.twin_side import pool_object
from twin.port.settings import MachineType

_AUTOSCALER, _KARPENTER = "cluster-autoscaler", "karpenter-kwok"
_FLAGS = {
    "scan_seconds": "scan-interval",
    "expander": "expander",
    "unneeded_seconds": "scale-down-unneeded-time",
    "delay_after_add_seconds": "scale-down-delay-after-add",
    "utilization_threshold": "scale-down-utilization-threshold",
    "delete_delay_seconds": "node-delete-delay-after-taint",
}
"""Flags of Cluster Autoscaler by the twin's names of the same settings."""
_SPACE = "kube-system"


def prepare(scenario: Scenario, plane: ControlPlane, cluster: Cluster) -> None:
    """Make what the scenario's provisioner reads, and start it."""
    if scenario.kind == "cluster-autoscaler":
        _prepare_autoscaler(scenario, plane, cluster)
    elif scenario.kind == "karpenter":
        _prepare_karpenter(scenario, plane, cluster)


def versions(scenario: Scenario, plane: ControlPlane) -> dict[str, str]:
    """Return the versions of the scenario's provisioner."""
    if scenario.kind == "control-plane":
        return {}
    name = _AUTOSCALER if scenario.kind == "cluster-autoscaler" else _KARPENTER
    return {name: plane.noted_version(name)}


def _environment(plane: ControlPlane) -> dict[str, str]:
    return {
        "KUBECONFIG": str(plane.kubeconfig),
        "HOME": str(plane.folder),
        "PATH": str(plane.binaries),
    }


# ---- Cluster Autoscaler


def _prepare_autoscaler(scenario: Scenario, plane: ControlPlane, cluster: Cluster) -> None:
    config = {
        "apiVersion": "v1alpha1",
        "readNodesFrom": "configmap",
        "nodegroups": {"fromNodeLabelKey": "foresail.dev/node-group"},
        "nodes": {"skipTaint": True},
        "configmap": {"name": "kwok-provider-templates"},
    }
    machines = {one.name: one for one in rented_machines(scenario)}
    templates = [_template(one, machines[one["machine"]]) for one in scenario.groups]
    listed = {"apiVersion": "v1", "kind": "List", "items": templates}
    for name, key, document in (
        ("kwok-provider-config", "config", config),
        ("kwok-provider-templates", "templates", listed),
    ):
        body: Object = {"metadata": {"name": name}, "data": {key: yaml.safe_dump(document)}}
        ask(cluster, "POST", path_of("configmaps", namespace=_SPACE), body)
    flags = [f"--{_FLAGS[key]}={_flag(key, value)}" for key, value in scenario.settings.items()]
    plane.run(
        _AUTOSCALER,
        [
            "--cloud-provider=kwok",
            f"--kubeconfig={plane.kubeconfig}",
            f"--namespace={_SPACE}",
            "--leader-elect=false",
            f"--address=127.0.0.1:{free_port()}",
            "--v=2",
            *flags,
        ],
        {**_environment(plane), "KWOK_PROVIDER_MODE": "local", "POD_NAMESPACE": _SPACE},
    )


def _flag(key: str, value: Any) -> str:
    return f"{value}s" if key.endswith("_seconds") else str(value)


def _template(group: Mapping[str, Any], machine: MachineType) -> Object:
    amounts = _amounts(machine)
    prefix = "cluster-autoscaler.kwok.nodegroup"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": f"template-{group['name']}",
            "labels": {"foresail.dev/node-group": group["name"], TYPE: machine.name},
            "annotations": {
                f"{prefix}/min-count": str(group.get("min", 0)),
                f"{prefix}/desired-count": str(group.get("min", 0)),
                f"{prefix}/max-count": str(group.get("max", 10)),
            },
        },
        "spec": {},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


# ---- Karpenter


def _prepare_karpenter(scenario: Scenario, plane: ControlPlane, cluster: Cluster) -> None:
    for file in sorted((plane.binaries / "karpenter-crds").glob("*.yaml")):
        definition = yaml.safe_load(file.read_text(encoding="utf-8"))
        ask(cluster, "POST", path_of("customresourcedefinitions"), definition)
    catalogue = plane.folder / "instance-types.json"
    catalogue.write_text(
        json.dumps([_instance_type(one) for one in rented_machines(scenario)]), encoding="utf-8"
    )
    plane.run(
        _KARPENTER,
        [],
        {
            **_environment(plane),
            "DISABLE_LEADER_ELECTION": "true",
            "METRICS_PORT": str(free_port()),
            "HEALTH_PROBE_PORT": str(free_port()),
            "SYSTEM_NAMESPACE": _SPACE,
            "INSTANCE_TYPES_FILE_PATH": str(catalogue),
        },
    )
    node_class: Object = {
        "apiVersion": "karpenter.kwok.sh/v1alpha1",
        "kind": "KWOKNodeClass",
        "metadata": {"name": "default"},
        "spec": {},
    }
    _ask_until_served(cluster, "kwoknodeclasses", node_class)
    for pool in scenario.pools:
        _ask_until_served(cluster, "nodepools", pool_object(pool))


def _ask_until_served(cluster: Cluster, resource: str, body: Object) -> None:
    """Create an object of a kind that was defined a moment ago; raises RuntimeError."""
    for _ in range(200):
        status, _answer = cluster.request("POST", path_of(resource), body)
        if status != 404:
            break
    ask(cluster, "GET", path_of(resource, body["metadata"]["name"]))


def _instance_type(machine: MachineType) -> Object:
    prices = {"on-demand": machine.price_per_hour, "spot": machine.spot_price_per_hour}
    return {
        "name": machine.name,
        "architecture": "amd64",
        "operatingSystems": ["linux"],
        "resources": _amounts(machine),
        "offerings": [_offering(capacity, price) for capacity, price in prices.items() if price],
    }


def _amounts(machine: MachineType) -> Object:
    cpu, memory = machine.cpu_millicores, machine.memory_bytes
    return {"cpu": f"{cpu}m", "memory": str(memory), "pods": str(machine.pods)}


def _offering(capacity: str, price: float) -> Object:
    labels = {"karpenter.sh/capacity-type": capacity, "topology.kubernetes.io/zone": ZONE}
    requirements = [
        {"key": key, "operator": "In", "values": [text]} for key, text in labels.items()
    ]
    return {"Price": price, "Available": True, "Requirements": requirements}
