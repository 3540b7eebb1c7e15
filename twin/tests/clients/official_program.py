"""A program of somebody who has only the official client; run with the version under test on its path.

Prints one JSON object: what it saw at each step. It knows nothing of the embedded cluster.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import kubernetes
from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient

LISTS = {
    "EventsV1Api": "list_event_for_all_namespaces",
    "CoreV1Api": (
        "list_node list_namespace list_persistent_volume list_pod_for_all_namespaces "
        "list_service_for_all_namespaces list_config_map_for_all_namespaces "
        "list_secret_for_all_namespaces list_service_account_for_all_namespaces "
        "list_endpoints_for_all_namespaces list_event_for_all_namespaces "
        "list_resource_quota_for_all_namespaces list_limit_range_for_all_namespaces "
        "list_persistent_volume_claim_for_all_namespaces"
    ),
    "AppsV1Api": (
        "list_deployment_for_all_namespaces list_replica_set_for_all_namespaces "
        "list_stateful_set_for_all_namespaces list_daemon_set_for_all_namespaces "
        "list_controller_revision_for_all_namespaces"
    ),
    "BatchV1Api": "list_job_for_all_namespaces list_cron_job_for_all_namespaces",
    "AutoscalingV2Api": "list_horizontal_pod_autoscaler_for_all_namespaces",
    "PolicyV1Api": "list_pod_disruption_budget_for_all_namespaces",
    "SchedulingV1Api": "list_priority_class",
    "CoordinationV1Api": "list_lease_for_all_namespaces",
    "DiscoveryV1Api": "list_endpoint_slice_for_all_namespaces",
    "NetworkingV1Api": (
        "list_ingress_for_all_namespaces list_ingress_class list_network_policy_for_all_namespaces"
    ),
    "StorageV1Api": "list_storage_class",
    "RbacAuthorizationV1Api": (
        "list_role_for_all_namespaces list_role_binding_for_all_namespaces list_cluster_role "
        "list_cluster_role_binding"
    ),
}
NAMESPACE = "client"
SECONDS = 900.0


def main(kubeconfig: str) -> dict[str, Any]:
    """Do everything in turn."""
    config.load_kube_config(kubeconfig)
    core, apps = client.CoreV1Api(), client.AppsV1Api()
    seen: dict[str, Any] = {"version": kubernetes.__version__}
    seen["server"] = client.VersionApi().get_code().git_version
    core.create_namespace({"metadata": {"name": NAMESPACE}})
    dynamic = DynamicClient(client.ApiClient())
    seen["kinds"] = one_of_each(dynamic)
    seen["rollout"] = rollout(core, apps)
    seen["decoded"] = {
        name: len(getattr(getattr(client, api)(), name)().items)
        for api, names in LISTS.items()
        for name in names.split()
    }
    seen["conflict"] = conflict(core)
    seen["evicted"] = evict_pods(core)
    seen["paged"] = list_in_pages(core)
    seen["dynamic"] = by_dynamic_client(dynamic)
    seen["metrics"] = len(
        client.CustomObjectsApi().list_cluster_custom_object("metrics.k8s.io", "v1beta1", "nodes")[
            "items"
        ]
    )
    node = core.list_node(limit=1).items[0].metadata.name
    core.patch_node(node, {"spec": {"unschedulable": True}})
    seen["cordoned"] = core.read_node(node).spec.unschedulable
    core.delete_namespace(NAMESPACE)
    return seen


def one_of_each(dynamic: Any) -> int:
    """Create the least of each kind that is only kept; return how many kinds there were."""
    least: dict[tuple[str, str], dict[str, Any]] = {
        ("v1", "ConfigMap"): {"data": {"a": "b"}},
        ("v1", "Secret"): {"stringData": {"a": "b"}},
        ("v1", "ServiceAccount"): {},
        ("v1", "Service"): {"spec": {"ports": [{"port": 80}], "selector": {"app": "web"}}},
        ("v1", "ResourceQuota"): {"spec": {"hard": {"pods": "100"}}},
        ("v1", "PersistentVolumeClaim"): {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            }
        },
        ("coordination.k8s.io/v1", "Lease"): {"spec": {"holderIdentity": "me"}},
        ("networking.k8s.io/v1", "NetworkPolicy"): {"spec": {"podSelector": {}}},
        ("rbac.authorization.k8s.io/v1", "Role"): {"rules": []},
        ("policy/v1", "PodDisruptionBudget"): {
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
        },
    }
    for (version, kind), body in least.items():
        resource = dynamic.resources.get(api_version=version, kind=kind)
        whole = {"apiVersion": version, "kind": kind, "metadata": {"name": "least"}, **body}
        made = resource.create(body=whole, namespace=NAMESPACE)
        assert resource.get(name="least", namespace=NAMESPACE).metadata.uid == made.metadata.uid
    return len(least)


def rollout(core: Any, apps: Any) -> dict[str, Any]:
    """Create a Deployment from typed models, follow its pods, scale it."""
    labels = {"app": "web"}
    container = client.V1Container(name="c", image="rancher/mirrored-pause:3.10")
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels=labels), spec=client.V1PodSpec(containers=[container])
    )
    spec = client.V1DeploymentSpec(
        replicas=2, selector=client.V1LabelSelector(match_labels=labels), template=template
    )
    body = client.V1Deployment(metadata=client.V1ObjectMeta(name="web"), spec=spec)
    apps.create_namespaced_deployment(NAMESPACE, body)
    events, running = set(), set()
    watcher = watch.Watch()
    for event in watcher.stream(
        core.list_namespaced_pod, NAMESPACE, label_selector="app=web", timeout_seconds=int(SECONDS)
    ):
        events.add(event["type"])
        if event["object"].status.phase == "Running":
            running.add(event["object"].metadata.name)
        if len(running) == 2:
            watcher.stop()
    apps.patch_namespaced_deployment_scale("web", NAMESPACE, {"spec": {"replicas": 3}})
    ready = _until(
        lambda: apps.read_namespaced_deployment("web", NAMESPACE).status.ready_replicas, 3
    )
    scale = apps.read_namespaced_deployment_scale("web", NAMESPACE)
    return {"events": sorted(events), "ready": ready, "scale": scale.spec.replicas}


def conflict(core: Any) -> int:
    """Write from an old version; return the status of the refusal."""
    first = core.read_namespaced_config_map("least", NAMESPACE)
    core.patch_namespaced_config_map("least", NAMESPACE, {"data": {"a": "c"}})
    first.data = {"a": "d"}
    return _refusal_status(lambda: core.replace_namespaced_config_map("least", NAMESPACE, first))


def evict_pods(core: Any) -> list[int]:
    """Evict pod after pod without waiting; return what each answer was."""
    names = [
        pod.metadata.name
        for pod in core.list_namespaced_pod(NAMESPACE, label_selector="app=web").items
    ]
    answers = []
    for name in names:
        body = client.V1Eviction(metadata=client.V1ObjectMeta(name=name, namespace=NAMESPACE))
        answers.append(
            _refusal_status(
                lambda n=name, b=body: core.create_namespaced_pod_eviction(n, NAMESPACE, b)
            )
        )
    return answers


def list_in_pages(core: Any) -> bool:
    """List all pods in pages of three; say whether they add up."""
    names, token = [], None
    while True:
        page = core.list_node(limit=3, _continue=token)
        names += [item.metadata.name for item in page.items]
        token = page.metadata._continue
        if not token:
            return names == [item.metadata.name for item in core.list_node().items]


def by_dynamic_client(dynamic: Any) -> dict[str, Any]:
    """Apply, patch, watch and delete without models."""
    maps = dynamic.resources.get(api_version="v1", kind="ConfigMap")
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "applied", "namespace": NAMESPACE},
        "data": {"a": "1"},
    }
    applied = maps.server_side_apply(
        body=body, name="applied", namespace=NAMESPACE, field_manager="tester"
    )
    patched = maps.patch(
        body={"data": {"b": "2"}},
        name="applied",
        namespace=NAMESPACE,
        content_type="application/merge-patch+json",
    )
    events = [
        event["type"]
        for event in maps.watch(
            namespace=NAMESPACE, field_selector="metadata.name=applied", timeout=1
        )
    ]
    maps.delete(name="applied", namespace=NAMESPACE)
    status = _refusal_status(lambda: maps.get(name="applied", namespace=NAMESPACE))
    data = patched.to_dict()["data"]
    return {"applied": applied.data.a, "patched": data, "events": events, "gone": status}


def _refusal_status(ask: Any) -> int:
    try:
        ask()
    except ApiException as error:
        return int(error.status)
    return 0


def _until(read: Any, expected: Any) -> Any:
    deadline = time.monotonic() + SECONDS
    while (found := read()) != expected and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1])) + "\n")
