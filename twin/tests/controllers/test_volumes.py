"""Pods and their claims: who waits for whom, in the scheduler's words, and what a StatefulSet makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from twin.admission.findings import Findings
from twin.admission.workloads import statefulset
from twin.config import TwinConfig
from twin.config.controllers import ControllerConfig
from twin.engine import Engine
from twin.tests.controllers.conftest import Cluster

Object = dict[str, Any]
SIMULATED = "foresail.dev/simulated"


def add_class(cluster: Cluster, name: str, provisioner: str, *, late: bool = True) -> None:
    """Create a StorageClass."""
    mode = "WaitForFirstConsumer" if late else "Immediate"
    obj = {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode}
    cluster.engine.store.create("storageclasses", "", obj)


def add_volume(cluster: Cluster, name: str, node: str = "", **spec: Any) -> None:
    """Create a volume of 1 GiB, on one node if that is said."""
    whole = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/d"},
        **spec,
    }
    if node:
        rule = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
        whole["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}}
    cluster.engine.store.create(
        "persistentvolumes", "", {"metadata": {"name": name}, "spec": whole}
    )


def claim_spec(storage_class: str) -> Object:
    """Return the spec of a claim of 1 GiB."""
    amounts = {"requests": {"storage": "1Gi"}}
    return {
        "accessModes": ["ReadWriteOnce"],
        "resources": amounts,
        "storageClassName": storage_class,
    }


def add_pod(cluster: Cluster, name: str, claim: str) -> None:
    """Create a pod that uses a claim."""
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": claim}}
    cluster.create("pods", name, {"containers": [{"name": "c", "image": "i"}], "volumes": [volume]})


def waits(cluster: Cluster, name: str) -> str:
    """Return what a waiting pod's condition says."""
    (condition,) = cluster.status("pods", name)["conditions"]
    assert (condition["type"], condition["reason"]) == ("PodScheduled", "Unschedulable")
    return str(condition["message"])


def test_a_pod_waits_for_its_claim_and_then_for_its_volume(cluster: Cluster) -> None:
    """In the words of kube-scheduler 1.36; it runs once the claim is bound."""
    add_pod(cluster, "p", "a")
    cluster.run(5.0)
    words = "0/3 nodes are available: "
    assert waits(cluster, "p") == f'{words}persistentvolumeclaim "a" not found. not found'
    cluster.create("persistentvolumeclaims", "a", claim_spec(""))
    cluster.run(15.0)
    assert (
        waits(cluster, "p") == f"{words}pod has unbound immediate PersistentVolumeClaims. not found"
    )
    add_volume(cluster, "v")
    cluster.run(30.0)
    assert cluster.status("pods", "p")["phase"] == "Running"


def test_a_claim_that_waits_for_its_pod_gets_a_volume_where_the_pod_can_go(
    cluster: Cluster,
) -> None:
    """No volume before there is a pod; none on other nodes; and the pod follows its volume."""
    add_class(cluster, "late", "kubernetes.io/no-provisioner")
    cluster.create("persistentvolumeclaims", "a", claim_spec("late"))
    add_pod(cluster, "p", "a")
    cluster.run(5.0)
    text = "3 node(s) didn't find available persistent volumes to bind"
    assert text in waits(cluster, "p")
    add_volume(cluster, "v", "n2", storageClassName="late")
    cluster.run(30.0)
    assert cluster.get("pods", "p")["spec"]["nodeName"] == "n2"
    assert cluster.get("persistentvolumeclaims", "a")["spec"]["volumeName"] == "v"
    cluster.delete("pods", "p", grace_period_seconds=0)
    cluster.engine.store.delete("nodes", "", "n2")
    add_pod(cluster, "q", "a")
    cluster.run(30.0)
    assert "2 node(s) didn't match PersistentVolume's node affinity" in waits(cluster, "q")


def test_a_claim_before_its_pod_is_left_alone(cluster: Cluster) -> None:
    """With WaitForFirstConsumer a volume that fits stays free."""
    add_class(cluster, "late", "kubernetes.io/no-provisioner")
    add_volume(cluster, "v", storageClassName="late")
    cluster.create("persistentvolumeclaims", "a", claim_spec("late"))
    cluster.run(60.0)
    assert cluster.status("persistentvolumeclaims", "a") == {"phase": "Pending"}
    assert cluster.reasons("a") == ["WaitForFirstConsumer"]


def test_an_external_provisioner_is_told_the_node_and_waited_for(cluster: Cluster) -> None:
    """The pod has no node until the volume is there; then it gets the one that was chosen."""
    add_class(cluster, "far", "example.com/far")
    cluster.create("persistentvolumeclaims", "a", claim_spec("far"))
    add_pod(cluster, "p", "a")
    cluster.run(30.0)
    claim = cluster.get("persistentvolumeclaims", "a")
    node = claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"]
    assert "nodeName" not in cluster.get("pods", "p")["spec"]
    reference = {"namespace": "default", "name": "a", "uid": claim["metadata"]["uid"]}
    add_volume(cluster, "made", storageClassName="far", claimRef=reference)
    cluster.run(60.0)
    assert cluster.get("pods", "p")["spec"]["nodeName"] == node
    assert cluster.status("pods", "p")["phase"] == "Running"


@pytest.mark.parametrize("late", [True, False])
def test_the_simulated_provisioner_makes_volumes_and_deletes_them(
    cluster: Cluster, late: bool
) -> None:
    """For classes that name it; the volume goes with its claim, as its policy says."""
    add_class(cluster, "made", SIMULATED, late=late)
    cluster.create("persistentvolumeclaims", "a", claim_spec("made"))
    cluster.run(5.0)
    assert (cluster.status("persistentvolumeclaims", "a")["phase"] == "Bound") is not late
    add_pod(cluster, "p", "a")
    cluster.run(30.0)
    assert cluster.status("pods", "p")["phase"] == "Running"
    (volume,) = cluster.engine.store.list("persistentvolumes")
    assert (volume["spec"]["capacity"], volume["status"]["phase"]) == ({"storage": "1Gi"}, "Bound")
    cluster.delete("pods", "p", grace_period_seconds=0)
    cluster.delete("persistentvolumeclaims", "a")
    cluster.run(5.0)
    assert not list(cluster.engine.store.list("persistentvolumes"))


def test_an_ephemeral_volume_has_a_claim_that_goes_with_its_pod(cluster: Cluster) -> None:
    """Made by the control plane in the pod's name."""
    add_class(cluster, "made", SIMULATED)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": claim_spec("made")}
    volume = {"name": "tmp", "ephemeral": {"volumeClaimTemplate": template}}
    cluster.create("pods", "p", {"containers": [{"name": "c", "image": "i"}], "volumes": [volume]})
    cluster.run(30.0)
    claim = cluster.get("persistentvolumeclaims", "p-tmp")
    assert claim["metadata"]["labels"] == {"a": "b"}
    assert [owner["name"] for owner in claim["metadata"]["ownerReferences"]] == ["p"]
    assert cluster.status("pods", "p")["phase"] == "Running"
    cluster.delete("pods", "p", grace_period_seconds=0)
    cluster.run(30.0)
    assert not list(cluster.engine.store.list("persistentvolumeclaims"))


@pytest.mark.parametrize("policy", ["Retain", "Delete"])
def test_claims_of_a_stateful_set(
    cluster: Cluster, workload: Callable[..., Object], policy: str
) -> None:
    """One per pod and template; a pod that is scaled away leaves its claim, unless the set says otherwise."""
    add_class(cluster, "made", SIMULATED)
    templates = [{"metadata": {"name": "data"}, "spec": claim_spec("made")}]
    kept = {"persistentVolumeClaimRetentionPolicy": {"whenScaled": policy, "whenDeleted": "Retain"}}
    spec = {**workload("db", 2), "volumeClaimTemplates": templates, "serviceName": "db", **kept}
    cluster.create("statefulsets", "db", spec)
    cluster.run(60.0)

    def claims() -> list[str]:
        found = cluster.engine.store.list("persistentvolumeclaims")
        return [claim["metadata"]["name"] for claim in found]

    assert claims() == ["data-db-0", "data-db-1"]
    assert cluster.get("persistentvolumeclaims", "data-db-1")["metadata"]["labels"] == {"app": "db"}
    (volume,) = cluster.get("pods", "db-1")["spec"]["volumes"]
    assert volume == {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-1"}}
    assert cluster.status("statefulsets", "db")["readyReplicas"] == 2
    cluster.write("statefulsets", "db", replicas=1)
    cluster.run(60.0)
    assert claims() == ["data-db-0", "data-db-1"][: 1 + (policy == "Retain")]


def test_without_the_binder_claims_are_left_to_another_one() -> None:
    """`--without persistentvolume-binder`: no phase, no finalizer is touched."""
    off = ControllerConfig(switched_off=("persistentvolumeclaims",))
    engine = Engine(TwinConfig(controllers=off), seed=1)
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/d"},
    }
    engine.store.create("persistentvolumes", "", {"metadata": {"name": "v"}, "spec": spec})
    engine.advance(engine.now + 60.0)
    assert engine.store.get("persistentvolumes", "", "v")["status"]["phase"] == "Pending"


@pytest.mark.parametrize(("name", "found"), [("data", []), ("other", ['Not found: "other"'])])
def test_containers_mount_the_claims_of_their_set(
    workload: Callable[..., Object], name: str, found: list[str]
) -> None:
    """A claim template is a volume of each pod, so a container may name it; another name is not found."""
    spec = {**workload("db", 1), "serviceName": "db"}
    spec["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim_spec("made")}]
    (container,) = spec["template"]["spec"]["containers"]
    container["volumeMounts"] = [{"name": name, "mountPath": "/data"}]
    findings = Findings()
    statefulset({"metadata": {"name": "db"}, "spec": spec}, findings)
    assert [sentence for _, sentence in findings.causes] == found
