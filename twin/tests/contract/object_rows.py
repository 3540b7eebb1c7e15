"""Objects as clients write them, and what kube-apiserver 1.36 made of each.

`python -m twin.tests.contract.object_rows` asks a real server again and writes `defaults.json` and `columns.json`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from twin.tests.contract.faces import Face, OverHttp

Object = dict[str, Any]
DEFAULTS = Path(__file__).with_name("defaults.json")
COLUMNS = Path(__file__).with_name("columns.json")
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
_UID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_OWN = frozenset({"uid", "resourceVersion", "creationTimestamp", "managedFields"})
_DRAWN = frozenset({"clusterIP", "clusterIPs", "nodePort", "lastPhaseTransitionTime"})
_CORE, _APPS, _BATCH = (
    "/api/v1/namespaces/{}",
    "/apis/apps/v1/namespaces/{}",
    "/apis/batch/v1/namespaces/{}",
)
_CONTAINER: Object = {"name": "c", "image": "i:1"}
_FULL: Object = {
    "name": "c", "image": "i", "livenessProbe": {"httpGet": {"port": 80}},
    "readinessProbe": {"tcpSocket": {"port": 81}}, "startupProbe": {"exec": {"command": ["a"]}},
    "lifecycle": {"preStop": {"httpGet": {"port": 1}}}, "ports": [{"containerPort": 1}],
    "env": [{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "b", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}],
    "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}, "requests": {"cpu": "0.5"}},
    "volumeMounts": [{"name": "cm", "mountPath": "/a"}, {"name": "e", "mountPath": "/b"}],
}  # fmt: skip
_CLAIM: Object = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1024Mi"}},
}
_VOLUMES: list[Object] = [
    {"name": "cm", "configMap": {"name": "x"}}, {"name": "e"}, {"name": "s", "secret": {"secretName": "y"}},
    {"name": "d", "downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
    {"name": "h", "hostPath": {"path": "/x"}}, {"name": "pv", "persistentVolumeClaim": {"claimName": "q"}},
    {"name": "em", "emptyDir": {"sizeLimit": "1024Mi"}}, {"name": "n", "nfs": {"server": "a", "path": "/"}},
    {"name": "csi", "csi": {"driver": "d.e.f"}},
    {"name": "ep", "ephemeral": {"volumeClaimTemplate": {"spec": _CLAIM}}},
]  # fmt: skip
_SELECTOR = {"matchLabels": {"a": "b"}}
_TEMPLATE: Object = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [_CONTAINER]}}
_TASK = {"template": {"spec": {"restartPolicy": "Never", "containers": [_CONTAINER]}}}
_SCALED = {
    "maxReplicas": 3,
    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
}
_PORTS: Object = {"selector": {"a": "b"}, "ports": [{"port": 80}]}
_BACKEND = {"service": {"name": "s", "port": {"number": 80}}}
_RULES = [
    {"host": "a.b", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": _BACKEND}]}}
]
_SETS: Object = {"selector": _SELECTOR, "template": _TEMPLATE}
_AMOUNTS = {"cpu": "1000m", "memory": "1536Mi", "pods": "1000", "requests.storage": "0.5Gi",
            "limits.cpu": "2.50", "count/jobs.batch": "1e3"}  # fmt: skip
ROWS: tuple[tuple[str, str, Object], ...] = (
    (f"{_CORE}/pods", "full", {"spec": {
        "containers": [_FULL], "initContainers": [{"name": "i", "image": "x", "restartPolicy": "Always"}],
        "volumes": _VOLUMES, "hostNetwork": True}}),
    (f"{_CORE}/pods", "plain", {"spec": {"containers": [_CONTAINER], "nodeSelector": {}, "affinity": {}}}),
    (f"{_APPS}/deployments", "d", {"spec": _SETS}),
    (f"{_APPS}/replicasets", "r", {"spec": _SETS}),
    (f"{_CORE}/replicationcontrollers", "rc", {"spec": {"template": _TEMPLATE}}),
    (f"{_APPS}/statefulsets", "s", {"spec": {
        **_SETS, "serviceName": "x", "volumeClaimTemplates": [{"metadata": {"name": "v"}, "spec": _CLAIM}]}}),
    (f"{_APPS}/daemonsets", "ds", {"spec": _SETS}),
    (f"{_BATCH}/jobs", "j", {"spec": _TASK}),
    (f"{_BATCH}/cronjobs", "cj", {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": _TASK}}}),
    (f"{_CORE}/services", "plain", {"spec": _PORTS}),
    (f"{_CORE}/services", "on-nodes", {"spec": {**_PORTS, "type": "NodePort"}}),
    (f"{_CORE}/services", "balanced", {"spec": {**_PORTS, "type": "LoadBalancer"}}),
    (f"{_CORE}/services", "headless", {"spec": {**_PORTS, "clusterIP": "None"}}),
    (f"{_CORE}/services", "elsewhere", {"spec": {"type": "ExternalName", "externalName": "a.b"}}),
    (f"{_CORE}/endpoints", "ep", {"subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 1}]}]}),
    ("/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices", "es", {
        "addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}], "ports": [{"port": 1}]}),
    (f"{_CORE}/configmaps", "cm", {"data": {"a": "b"}, "binaryData": {}}),
    (f"{_CORE}/secrets", "sec", {"stringData": {"a": "b"}}),
    (f"{_CORE}/serviceaccounts", "sa", {}),
    ("/apis/storage.k8s.io/v1/storageclasses", "sc-{}", {"provisioner": "x"}),
    (f"{_CORE}/resourcequotas", "q", {"spec": {"hard": _AMOUNTS}}),
    (f"{_CORE}/limitranges", "lr", {"spec": {"limits": [{"type": "Container", "max": {"cpu": "2000m"}}]}}),
    ("/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers", "h", {"spec": {
        **_SCALED, "behavior": {"scaleUp": {"stabilizationWindowSeconds": 5}}}}),
    ("/apis/policy/v1/namespaces/{}/poddisruptionbudgets", "pdb", {
        "spec": {"minAvailable": 1, "selector": _SELECTOR}}),
    ("/apis/networking.k8s.io/v1/namespaces/{}/ingresses", "ing", {"spec": {"rules": _RULES}}),
    ("/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies", "np", {
        "spec": {"podSelector": {}, "ingress": [{"ports": [{"port": 80}]}]}}),
    ("/apis/networking.k8s.io/v1/ingressclasses", "ic-{}", {"spec": {"controller": "a.b/c"}}),
    ("/apis/coordination.k8s.io/v1/namespaces/{}/leases", "l", {"spec": {
        "holderIdentity": "x", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}}),
    ("/apis/scheduling.k8s.io/v1/priorityclasses", "pc-{}", {"value": 5}),
    ("/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles", "ro", {
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
    ("/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings", "rb", {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "ro"},
        "subjects": [{"kind": "ServiceAccount", "name": "x"}]}),
    (f"{_CORE}/events", "ev", {
        "involvedObject": {"kind": "Pod", "namespace": "{}", "name": "a"}, "reason": "R", "message": "m"}),
    ("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "vw-{}", {"webhooks": []}),
    ("/apis/apiregistration.k8s.io/v1/apiservices", "v1.{}.example.com", {"spec": {
        "group": "{}.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10,
        "insecureSkipTLSVerify": True, "service": {"namespace": "nowhere", "name": "none"}}}),
    ("/apis/node.k8s.io/v1/runtimeclasses", "rc-{}", {
        "handler": "simulated", "overhead": {"podFixed": {"cpu": "0.250"}}}),
    (f"{_CORE}/podtemplates", "pt", {"template": _TEMPLATE}),
    ("/apis/networking.k8s.io/v1/servicecidrs", "sc-{}", {"spec": {"cidrs": ["10.99.0.0/24"]}}),
    ("/apis/networking.k8s.io/v1/ipaddresses", "10.99.0.7", {
        "spec": {"parentRef": {"resource": "services", "name": "s"}}}),
)  # fmt: skip
"""Path, name and content; `{}` stands for a namespace of its own."""
LISTED = (
    *dict.fromkeys(path for path, _, _ in ROWS),
    "/api/v1/namespaces",
    "/api/v1/nodes",
    "/api/v1/persistentvolumes",
    "/apis/storage.k8s.io/v1/volumeattributesclasses",
    f"{_CORE}/persistentvolumeclaims",
    f"{_APPS}/controllerrevisions",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/autoscaling/v1/namespaces/{}/horizontalpodautoscalers",
    "/apis/events.k8s.io/v1/namespaces/{}/events",
)


def made_of(face: Face, namespace: str, row: tuple[str, str, Object]) -> Any:
    """Create the object of a row and return it without what is its own."""
    path, name, content = row
    body = {"metadata": {"name": name.replace("{}", namespace)}, **_inside(content, namespace)}
    answer = face.ask("POST", path.replace("{}", namespace), body=body)
    assert answer.status == 201, answer.text
    text = _UID.sub("UID", json.dumps(_plain(answer.body))).replace(namespace, "NAMESPACE")
    return json.loads(text)


def columns_of(face: Face, namespace: str, path: str) -> list[list[Any]]:
    """Return the columns of the table of a resource: name, type, format, priority."""
    answer = face.ask("GET", path.replace("{}", namespace), accept=TABLE)
    return [
        [one["name"], one["type"], one.get("format", ""), one.get("priority", 0)]
        for one in answer.body["columnDefinitions"]
    ]


def _inside(content: Object, namespace: str) -> Object:
    text = json.dumps(content).replace('"{}"', json.dumps(namespace))
    made: Object = json.loads(text.replace('"{}.', f'"{namespace}.'))
    return made


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: "DRAWN" if key in _DRAWN and each != "None" and each != ["None"] else _plain(each)
            for key, each in value.items()
            if key not in _OWN
        }
    return [_plain(each) for each in value] if isinstance(value, list) else value


def main() -> int:
    """Ask a real API server and write both files."""
    from tests.real_api_server import real_server_in

    namespace = "recorded"
    with TemporaryDirectory() as folder, real_server_in(Path(folder)) as server:
        face = OverHttp(server.kubeconfig, "real", simulated=False)
        made = face.ask("POST", "/api/v1/namespaces", body={"metadata": {"name": namespace}})
        assert made.status == 201, made.text
        defaults = {f"{path} {name}": made_of(face, namespace, (path, name, content))
                    for path, name, content in ROWS}  # fmt: skip
        columns = {path: columns_of(face, namespace, path) for path in LISTED}
        face.close()
    for file, content in ((DEFAULTS, defaults), (COLUMNS, columns)):
        text = json.dumps(content, indent=1, sort_keys=True)
        file.write_text(f"{text}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
