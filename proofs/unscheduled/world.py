"""A drawn cluster that is nearly full, and pods that ask it for all kinds of things; the seed decides everything."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

Object = dict[str, Any]
NAMESPACE = "crowd"
ZONES = ("a", "b", "c")
APPS = tuple(f"app-{number}" for number in range(8))
HOST_PORTS = (8080, 9090, 9100)
DEVICE = "example.com/fpga"
PATIENT = "patient"
PRIORITIES = {"low": -10, PATIENT: 50, "usual": 0, "high": 100}
_ZONE, _HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def priority_classes() -> list[Object]:
    """Return the classes that pods name."""
    return [
        {
            "metadata": {"name": name},
            "value": value,
            "preemptionPolicy": "Never" if name == PATIENT else "PreemptLowerPriority",
        }
        for name, value in PRIORITIES.items()
    ]


def draw_nodes(random: Random, count: int) -> list[Object]:
    """Return nodes with their status: three zones, three sizes, some tainted, cordoned, or with devices."""
    return [_node(random, number) for number in range(count)]


def _node(random: Random, number: int) -> Object:
    name, size = f"node-{number:03d}", random.choice((4, 8, 16))
    labels = {
        _HOST: name,
        _ZONE: random.choice(ZONES),
        "disk": random.choice(("ssd", "hdd")),
        "generation": str(random.randrange(1, 6)),
        "kubernetes.io/os": "linux",
    }
    spec: Object = {}
    if random.random() < 0.25:
        key = random.choice(("dedicated", "maintenance"))
        value = random.choice(("batch", "gpu"))
        spec["taints"] = [{"key": key, "value": value, "effect": "NoSchedule"}]
    if random.random() < 0.12:
        spec["unschedulable"] = True
    amounts = {
        "cpu": str(size),
        "memory": f"{size * random.choice((2, 4))}Gi",
        "pods": str(random.choice((12, 110, 110))),
        "ephemeral-storage": f"{random.choice((20, 100))}Gi",
    }
    if random.random() < 0.2:
        amounts[DEVICE] = "2"
    conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": conditions},
    }


def draw_residents(random: Random, nodes: list[Object]) -> Iterator[Object]:
    """Yield pods that are on the nodes already, most of their room with them."""
    for node in nodes:
        cores = int(node["status"]["allocatable"]["cpu"]) * 1000
        used, most = 0, int(node["status"]["allocatable"]["pods"])
        number, ports = 0, list(HOST_PORTS)
        share = random.uniform(0.5, 0.98)
        while used < cores * share and number < most:
            request = random.choice((100, 250, 500, 1000))
            if used + request > cores:
                break
            used += request
            number += 1
            name = f"{node['metadata']['name']}-{number}"
            pod = _pod(random, name, request, random.choice((64, 256, 512)))
            pod["spec"]["nodeName"] = node["metadata"]["name"]
            if ports and random.random() < 0.1:
                port = {"containerPort": 80, "hostPort": ports.pop()}
                pod["spec"]["containers"][0]["ports"] = [port]
            if random.random() < 0.05:
                _keep_away(pod, random.choice(APPS), _HOST)
            yield pod


def _pod(random: Random, name: str, millicores: int, mebibytes: int) -> Object:
    requests = {"cpu": f"{millicores}m", "memory": f"{mebibytes}Mi"}
    container = {"name": "c", "image": "example/app:1", "resources": {"requests": requests}}
    return {
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {"app": random.choice(APPS), "tier": random.choice(("front", "back"))},
        },
        "spec": {
            "containers": [container],
            "priorityClassName": random.choice(("low", "usual", "usual", "high")),
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
        },
    }


def draw_comer(random: Random, number: int) -> Object:
    """Return a pod that asks for one to three things that may be hard to have."""
    pod = _pod(random, f"comer-{number:04d}", random.choice((100, 500, 1500)), 128)
    pod["spec"]["priorityClassName"] = random.choice(("low", "low", "usual", "usual", PATIENT))
    for wish in random.sample(WISHES, random.choice((1, 1, 1, 2, 2, 3))):
        wish(random, pod)
    return pod


def _much_cpu(random: Random, pod: Object) -> None:
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    requests["cpu"] = f"{random.choice((3000, 5000, 9000, 17000, 40000))}m"


def _much_memory(random: Random, pod: Object) -> None:
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    requests["memory"] = f"{random.choice((20, 40, 70, 200))}Gi"


def _storage(random: Random, pod: Object) -> None:
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    requests["ephemeral-storage"] = f"{random.choice((30, 120))}Gi"


def _device(random: Random, pod: Object) -> None:
    resources = pod["spec"]["containers"][0]["resources"]
    amount = str(random.choice((1, 2, 3)))
    resources["requests"][DEVICE] = amount
    resources["limits"] = {DEVICE: amount}


def _sidecar_and_init(random: Random, pod: Object) -> None:
    """A sidecar, and an init container that needs more than the rest together."""
    amounts = {"requests": {"cpu": "300m", "memory": "64Mi"}}
    large = {"requests": {"cpu": f"{random.choice((2000, 6000))}m", "memory": "64Mi"}}
    image = "example/init:1"
    pod["spec"]["initContainers"] = [
        {"name": "side", "image": image, "restartPolicy": "Always", "resources": amounts},
        {"name": "init", "image": image, "resources": large},
    ]


def _selector(random: Random, pod: Object) -> None:
    choices = ({"disk": "ssd"}, {"disk": "tape"}, {_ZONE: "a", "disk": "hdd"}, {_ZONE: "d"})
    pod["spec"].setdefault("nodeSelector", {}).update(random.choice(choices))


def _node_affinity(random: Random, pod: Object) -> None:
    rules = (
        {"key": "generation", "operator": "Gt", "values": [str(random.randrange(2, 6))]},
        {"key": _ZONE, "operator": "NotIn", "values": ["a", "b", "c"]},
        {"key": "disk", "operator": "In", "values": ["tape", "ssd"]},
        {"key": "quantum", "operator": "Exists"},
    )
    terms = [{"matchExpressions": random.sample(rules, random.choice((1, 2)))} for _ in range(2)]
    affinity = pod["spec"].setdefault("affinity", {})
    affinity["nodeAffinity"] = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
    }


def _toleration(random: Random, pod: Object) -> None:
    """Only tainted nodes by their zone would do, with or without a toleration that does not fit quite."""
    pod["spec"]["tolerations"] = [
        {"key": "dedicated", "operator": "Equal", "value": random.choice(("batch", "tape"))}
    ]
    _much_cpu(random, pod)


def _port(random: Random, pod: Object) -> None:
    ports = [
        {"containerPort": 80 + place, "hostPort": port} for place, port in enumerate(HOST_PORTS)
    ]
    pod["spec"]["containers"][0]["ports"] = ports[: random.randrange(1, 4)]


def _keep_away(pod: Object, app: str, key: str) -> None:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    affinity = pod["spec"].setdefault("affinity", {})
    affinity["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def _anti_affinity(random: Random, pod: Object) -> None:
    _keep_away(pod, random.choice(APPS), random.choice((_HOST, _ZONE, _ZONE)))


def _affinity(random: Random, pod: Object) -> None:
    labels = {"app": random.choice((*APPS, "nobody")), "tier": random.choice(("front", "back"))}
    key = random.choice((_HOST, _ZONE))
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": key}
    affinity = pod["spec"].setdefault("affinity", {})
    affinity["podAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def _spread(random: Random, pod: Object) -> None:
    app = pod["metadata"]["labels"]["app"]
    keys = random.sample((_HOST, _ZONE, "disk", "rack"), random.choice((1, 2)))
    pod["spec"]["topologySpreadConstraints"] = [
        {
            "maxSkew": random.choice((1, 2)),
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": app}},
            **({"nodeTaintsPolicy": "Honor"} if random.random() < 0.3 else {}),
        }
        for key in keys
    ]


def _claim(random: Random, pod: Object) -> None:
    claim = random.choice(("absent", "waits", "delayed"))
    pod["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]


def claims() -> list[tuple[str, Object]]:
    """Return (path, object) of a class that binds late, and of claims that cannot be bound."""
    storage = {
        "metadata": {"name": "late"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    found = [("/apis/storage.k8s.io/v1/storageclasses", storage)]
    for name, of_class in (("waits", ""), ("delayed", "late")):
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": of_class,
            "resources": {"requests": {"storage": "1Gi"}},
        }
        path = f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims"
        found.append((path, {"metadata": {"name": name}, "spec": spec}))
    return found


WISHES = (
    _much_cpu,
    _much_cpu,
    _much_memory,
    _storage,
    _device,
    _sidecar_and_init,
    _selector,
    _node_affinity,
    _toleration,
    _port,
    _anti_affinity,
    _affinity,
    _spread,
    _claim,
)
