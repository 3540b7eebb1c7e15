"""Random clusters with every constraint that the scheduler knows."""

from __future__ import annotations

from random import Random
from typing import Any

from twin.tests.scheduler.cluster import Cluster

Object = dict[str, Any]
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
APPS = ("web", "db", "cache")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def build(rng: Random, cluster: Cluster, *, nodes: int, pods: int) -> None:
    """Fill a cluster with nodes and bound pods, some of which are leaving."""
    cluster.namespace("team", tier="gold")
    for index in range(nodes):
        labels = {ZONE: f"z{rng.randrange(3)}"} if rng.random() < 0.85 else {}
        if rng.random() < 0.5:
            labels["disk"] = rng.choice(["ssd", "hdd"])
        drawn = [
            {"key": rng.choice("xy"), "value": "1", "effect": rng.choice(EFFECTS)}
            for _ in range(rng.choice([0, 0, 0, 1, 2]))
        ]
        taints = list({(taint["key"], taint["effect"]): taint for taint in drawn}.values())
        images = tuple(
            (f"{app}:1", rng.randrange(30, 900) * 2**20) for app in APPS if rng.random() < 0.5
        )
        cluster.node(
            f"n{index}",
            cpu=str(rng.choice([2, 4, 8])),
            memory=f"{rng.choice([4, 8, 16])}Gi",
            pods=str(rng.choice([3, 20, 110])),
            labels=labels,
            taints=taints,
            images=images,
            unschedulable=rng.random() < 0.05,
            others={"example.com/nic": "2"} if rng.random() < 0.5 else {},
        )
    for index in range(pods):
        pod = add_pod(rng, cluster, f"p{index}", on=f"n{rng.randrange(nodes)}")
        if rng.random() < 0.1:
            cluster.store.delete("pods", pod["metadata"]["namespace"], pod["metadata"]["name"])


def add_pod(rng: Random, cluster: Cluster, name: str, on: str = "", **fields: Any) -> Object:
    """Create a random pod, with these spec fields besides, and return it as the API serves it."""
    namespace = rng.choice(["default", "default", "team"])
    labels = {"app": rng.choice(APPS)}
    spec: Object = {"tolerations": tolerations(rng), **fields}
    if rng.random() < 0.2:
        spec["nodeSelector"] = {"disk": "ssd"}
    affinity = affinities(rng)
    if affinity:
        spec["affinity"] = affinity
    if rng.random() < 0.4:
        drawn = [spreading(rng) for _ in range(rng.choice([1, 2]))]
        pairs = {(entry["topologyKey"], entry["whenUnsatisfiable"]): entry for entry in drawn}
        spec["topologySpreadConstraints"] = list(pairs.values())
    ports = [{"containerPort": 80, "hostPort": rng.choice([80, 81])}] if rng.random() < 0.15 else []
    requests = {"example.com/nic": "1"} if rng.random() < 0.1 else {}
    cluster.pod(
        name,
        rng.choice(["", "100m", "1", "1500m"]),
        rng.choice(["", "256Mi", "2Gi"]),
        namespace=namespace,
        labels=labels,
        image=f"{rng.choice(APPS)}:1",
        ports=ports,
        requests=requests,
        on=on,
        **spec,
    )
    return cluster.store.get("pods", namespace, name)


def tolerations(rng: Random) -> list[Object]:
    """No, one or all tolerations."""
    if rng.random() < 0.1:
        return [{"operator": "Exists"}]
    if rng.random() < 0.4:
        return [{"key": rng.choice("xy"), "value": "1", "effect": rng.choice(EFFECTS)}]
    return []


def spreading(rng: Random) -> Object:
    """A spreading constraint, hard or soft."""
    found: Object = {
        "topologyKey": rng.choice([ZONE, ZONE, HOST]),
        "maxSkew": rng.choice([1, 2, 4]),
        "whenUnsatisfiable": rng.choice(["DoNotSchedule", "ScheduleAnyway"]),
        "labelSelector": {"matchLabels": {"app": rng.choice(APPS)}},
    }
    if rng.random() < 0.2 and found["whenUnsatisfiable"] == "DoNotSchedule":
        found["minDomains"] = 3
    if rng.random() < 0.3:
        found["nodeTaintsPolicy"] = "Honor"
    if rng.random() < 0.3:
        found["nodeAffinityPolicy"] = "Ignore"
    return found


def term(rng: Random) -> Object:
    """A pod affinity term."""
    app = rng.choice(APPS)
    rule = {"key": "app", "operator": rng.choice(["In", "NotIn"]), "values": [app]}
    selector = {"matchLabels": {"app": app}} if rng.random() < 0.5 else {"matchExpressions": [rule]}
    found: Object = {"topologyKey": rng.choice([ZONE, HOST]), "labelSelector": selector}
    if rng.random() < 0.2:
        found["namespaces"] = ["team"]
    elif rng.random() < 0.2:
        found["namespaceSelector"] = {"matchLabels": {"tier": "gold"}}
    return found


def affinities(rng: Random) -> Object:
    """Node affinity, pod affinity and anti-affinity, each now and then."""
    found: Object = {}
    for kind, share in (("podAffinity", 0.15), ("podAntiAffinity", 0.15)):
        entry: Object = {}
        if rng.random() < share:
            entry["requiredDuringSchedulingIgnoredDuringExecution"] = [term(rng)]
        if rng.random() < share:
            entry["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {"weight": rng.randrange(1, 100), "podAffinityTerm": term(rng)}
            ]
        if entry:
            found[kind] = entry
    if rng.random() < 0.2:
        rule = {"key": "disk", "operator": rng.choice(["Exists", "DoesNotExist"])}
        found["nodeAffinity"] = {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": rng.randrange(1, 100), "preference": {"matchExpressions": [rule]}}
            ]
        }
    return found
