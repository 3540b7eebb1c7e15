"""Karpenter with its kwok provider on the twin, or the twin's own: both have to decide ten scenarios alike."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from proofs.real_programs.cluster import Cluster
from proofs.real_programs.grounds import Ground, twin_ground
from proofs.real_programs.log_lines import allowed_of
from proofs.real_programs.processes import (
    Command,
    account_kubeconfig,
    beside,
    free_port,
    program,
    running_twin,
    supervised,
)
from proofs.real_programs.requests import Api, Object, always, make_account, patience, until

NAME, DEFINITIONS = "karpenter-kwok", "karpenter-crds.yaml"
HOME, ACCOUNT = "kube-system", "karpenter"
TYPE = "node.kubernetes.io/instance-type"
CAPACITY = "karpenter.sh/capacity-type"
POOLS, CLAIMS = "/apis/karpenter.sh/v1/nodepools", "/apis/karpenter.sh/v1/nodeclaims"
NODE_CLASSES = "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses"
KEEP = "karpenter.sh/do-not-disrupt"
ALLOWED = allowed_of("karpenter")
BUILT_IN_SPEED = "5"
"""Cluster seconds per second of the twin's own Karpenter."""
_MACHINES = (("k2", 2, 0.10), ("k4", 4, 0.20), ("k8", 8, 0.40))
_READ = ["get", "list", "watch"]
_RULES = (
    (_READ, "karpenter.sh", ["nodepools", "nodepools/status", "nodeclaims", "nodeclaims/status",
                             "nodeoverlays", "nodeoverlays/status"]),
    (_READ, "", ["pods", "nodes", "persistentvolumes", "persistentvolumeclaims",
                 "replicationcontrollers", "namespaces"]),
    (_READ, "storage.k8s.io", ["storageclasses", "csinodes", "volumeattachments"]),
    (["list", "watch"], "apps", ["daemonsets", "deployments", "replicasets", "statefulsets"]),
    (["list", "watch"], "apiextensions.k8s.io", ["customresourcedefinitions"]),
    (_READ, "policy", ["poddisruptionbudgets"]),
    (["create", "delete", "update", "patch"], "karpenter.sh",
     ["nodeclaims", "nodeclaims/status", "nodeclaims/finalizers"]),
    (["update", "patch"], "karpenter.sh",
     ["nodepools", "nodepools/status", "nodepools/finalizers", "nodeoverlays/status"]),
    (["create", "patch"], "", ["events"]),
    (["create", "patch", "delete", "update"], "", ["nodes"]),
    (["create"], "", ["pods/eviction"]),
    (["delete"], "", ["pods"]),
    ([*_READ, "patch", "update"], "karpenter.kwok.sh", ["kwoknodeclasses", "kwoknodeclasses/status"]),
    ([*_READ, "create", "patch", "update", "delete"], "coordination.k8s.io", ["leases"]),
)  # fmt: skip
"""Verbs, group and resources: the rights that Karpenter's chart gives it."""


@contextmanager
def real(folder: Path, ground: Ground = twin_ground) -> Iterator[tuple[Cluster, list[Path]]]:
    """Run the real program on a cluster; yield the cluster and the program's log."""
    program(NAME), beside(NAME, DEFINITIONS)
    with ground(folder) as api:
        _install(api)
        types = folder / "instance_types.json"
        types.write_text(json.dumps([_type(*row) for row in _MACHINES]), encoding="utf-8")
        environment = {
            "KUBECONFIG": str(account_kubeconfig(api, HOME, ACCOUNT, folder / "kubeconfig")),
            "INSTANCE_TYPES_FILE_PATH": str(types),
            "LEADER_ELECTION_NAMESPACE": HOME,
            # one batch is what comes with less than this between: a busy machine's pods come late
            "BATCH_IDLE_DURATION": f"{patience():g}s",
            "BATCH_MAX_DURATION": f"{10 * patience():g}s",
        }

        def make() -> Command:
            ports = (("METRICS_PORT", free_port()), ("HEALTH_PROBE_PORT", free_port()))
            return [str(program(NAME))], environment | {name: str(port) for name, port in ports}

        log = folder / "karpenter.log"
        with supervised(make, log) as one:
            cluster = Cluster(api, TYPE)
            cluster.programs.append(one)
            cluster.cordon()
            yield cluster, [log]


@contextmanager
def built_in(folder: Path) -> Iterator[tuple[Cluster, list[Path]]]:
    """Run a twin with its own Karpenter, some cluster seconds each second."""
    rows = [
        {"name": name, "cpu_cores": cores, "memory_gib": 4 * cores, "price_per_hour": price,
         "spot_price_per_hour": price * 0.3, "zones": ["a", "b"], "boot_seconds": 1}
        for name, cores, price in _MACHINES
    ]  # fmt: skip
    file = folder / "machines.yaml"
    file.write_text(yaml.safe_dump({"machines": rows}), encoding="utf-8")
    flags = ("--nodes", "1", "--provisioner", "karpenter", "--machines", str(file))
    with running_twin(folder, *flags, "--speed", BUILT_IN_SPEED) as api:
        api.remove(f"{POOLS}/default")
        cluster = Cluster(api, TYPE)
        cluster.cordon()
        yield cluster, [folder / "twin.log"]


def _install(api: Api) -> None:
    for obj in yaml.safe_load_all(beside(NAME, DEFINITIONS).read_text(encoding="utf-8")):
        api.apply("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", obj)
    make_account(api, HOME, ACCOUNT, _RULES)
    until("its kinds", lambda: all(map(api.serves, (NODE_CLASSES, POOLS, CLAIMS))))
    head = {"apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass"}
    api.ask("POST", NODE_CLASSES, {**head, "metadata": {"name": "default"}, "spec": {}})


def _type(name: str, cores: int, price: float) -> Object:
    offerings = [
        {
            "Price": price * (0.3 if capacity == "spot" else 1.0),
            "Available": True,
            "Requirements": [
                {"key": CAPACITY, "operator": "In", "values": [capacity]},
                {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]},
            ],
        }
        for capacity in ("spot", "on-demand")
        for zone in ("a", "b")
    ]
    amounts = {"cpu": str(cores), "memory": f"{4 * cores}Gi", "pods": "110"}
    return {"name": name, "offerings": offerings, "architecture": "amd64",
            "operatingSystems": ["linux"], "resources": amounts}  # fmt: skip


def add_pool(cluster: Cluster, name: str = "default", **spec: Any) -> None:
    """Create a NodePool of on-demand machines; `disruption`, `inner` and other members of the spec may be given."""
    reference = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
    inner = {
        "nodeClassRef": reference,
        "requirements": [
            {"key": CAPACITY, "operator": "In", "values": spec.pop("capacity", ["on-demand"])}
        ],
        "expireAfter": "Never",
        **spec.pop("inner", {}),
    }
    budgets = [{"nodes": spec.pop("budget", "100%")}]
    policy = {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "0s"}
    disruption = {**policy, "budgets": budgets, **spec.pop("disruption", {})}
    body = {"template": {"spec": inner}, "disruption": disruption, **spec}
    head = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool"}
    cluster.api.ask("POST", POOLS, {**head, "metadata": {"name": name}, "spec": body})


def clear(cluster: Cluster) -> None:
    """Take everything away that a scenario made."""
    cluster.clear()
    cluster.api.ask("DELETE", CLAIMS)
    until("no machine left", lambda: not cluster.nodes() and not cluster.api.items(CLAIMS), 120)
    cluster.api.ask("DELETE", POOLS)


# ---- scenarios


def cheapest(cluster: Cluster) -> None:
    """A pod that fits nowhere gets the cheapest machine that holds it, and its NodeClaim says how far it is."""
    add_pool(cluster)
    cluster.deploy("web", 1, "1")
    until("a running pod", cluster.running("web", 1), 90)
    assert cluster.kinds() == ["k2"]

    def ready() -> bool:
        (claim,) = cluster.api.items(CLAIMS)
        rows = {row["type"]: row["status"] for row in claim["status"].get("conditions", ())}
        return all(
            rows.get(kind) == "True" for kind in ("Launched", "Registered", "Initialized", "Ready")
        )

    until("a NodeClaim that is ready", ready, 30)
    (node,) = cluster.nodes()
    assert node["metadata"]["labels"]["karpenter.sh/nodepool"] == "default"
    assert not [one for one in node["spec"].get("taints", ()) if "unregistered" in one["key"]]


def one_batch(cluster: Cluster) -> None:
    """Pods of one moment go onto one large machine rather than many small ones."""
    add_pool(cluster)
    cluster.deploy("web", 7, "900m")
    until("running pods", cluster.running("web", 7), 90)
    assert cluster.kinds() == ["k8"], cluster.kinds()


def capacity(cluster: Cluster) -> None:
    """Spot is taken where it may be, on-demand where a pod asks for it."""
    add_pool(cluster, capacity=["spot", "on-demand"], disruption={"consolidateAfter": "Never"})
    for app, chosen in (("any", {}), ("sure", {CAPACITY: "on-demand"})):
        cluster.deploy(app, 1, "1500m", nodeSelector=chosen)
        until(f"the pod {app}", cluster.running(app, 1), 90)
    labels = {one["metadata"]["name"]: one["metadata"]["labels"] for one in cluster.nodes()}
    seen = {
        app: labels[cluster.pods(app)[0]["spec"]["nodeName"]][CAPACITY] for app in ("any", "sure")
    }
    assert seen == {"any": "spot", "sure": "on-demand"}, seen


def empty(cluster: Cluster) -> None:
    """A machine whose pods are gone goes as well, with its NodeClaim."""
    add_pool(cluster)
    cluster.deploy("web", 1, "1")
    until("a running pod", cluster.running("web", 1), 90)
    cluster.scale("web", 0)
    until("no node", lambda: not cluster.nodes(), 120)
    until("no NodeClaim", lambda: not cluster.api.items(CLAIMS), 60)


def underused(cluster: Cluster) -> None:
    """What is left of a large machine's pods moves to a small one."""
    add_pool(cluster)
    cluster.deploy("web", 7, "900m")
    until("running pods", cluster.running("web", 7), 90)
    cluster.scale("web", 1)
    until("one small machine", lambda: cluster.kinds() == ["k2"], 150)
    until("the pod on it", cluster.running("web", 1), 60)


def drift(cluster: Cluster) -> None:
    """A machine that is no longer as its pool says is replaced."""
    add_pool(cluster)
    cluster.deploy("web", 1, "1")
    until("a running pod", cluster.running("web", 1), 90)
    before = cluster.names()
    labels = {"template": {"metadata": {"labels": {"tier": "new"}}}}
    cluster.api.ask("PATCH", f"{POOLS}/default", {"spec": labels})

    def replaced() -> bool:
        nodes = cluster.nodes()
        return len(nodes) == 1 and nodes[0]["metadata"]["labels"].get("tier") == "new"

    until("a machine as the pool says", replaced, 150)
    assert cluster.names().isdisjoint(before)
    until("the pod on it", cluster.running("web", 1), 60)


def budget(cluster: Cluster) -> None:
    """A pool's budget of no nodes keeps an empty machine, until it is raised."""
    add_pool(cluster, budget="0")
    cluster.deploy("web", 1, "1")
    until("a running pod", cluster.running("web", 1), 90)
    before = cluster.names()
    cluster.scale("web", 0)
    always("the machine stays", lambda: cluster.names() == before, 35)
    raised = {"disruption": {"budgets": [{"nodes": "100%"}]}}
    cluster.api.ask("PATCH", f"{POOLS}/default", {"spec": raised})
    until("no node", lambda: not cluster.nodes(), 120)


def do_not_disrupt(cluster: Cluster) -> None:
    """A pod that may not be disrupted keeps its machine from being consolidated, until it may."""
    add_pool(cluster)
    cluster.deploy("web", 3, "900m", annotations={KEEP: "true"})
    until("running pods", cluster.running("web", 3), 90)
    before = cluster.names()
    assert cluster.kinds() == ["k4"]
    cluster.scale("web", 1)
    always("the machine stays", lambda: cluster.names() == before, 40)
    cluster.annotate_pods("web", KEEP, None)
    until("a small machine", lambda: cluster.kinds() == ["k2"], 150)


def expiry(cluster: Cluster) -> None:
    """A machine that is too old is replaced, whatever the budget says."""
    add_pool(cluster, budget="0", inner={"expireAfter": "40s"})
    cluster.deploy("web", 1, "1")
    until("a running pod", cluster.running("web", 1), 90)
    before = cluster.names()
    until("another machine", lambda: cluster.names() and cluster.names().isdisjoint(before), 150)
    until("the pod on it", cluster.running("web", 1), 60)
    cluster.scale("web", 0)


def limits(cluster: Cluster) -> None:
    """A pool brings no more cores than its limit, and a pod that fits no machine says so."""
    add_pool(cluster, limits={"cpu": "2"}, disruption={"consolidateAfter": "Never"})
    cluster.deploy("web", 1, "1500m")
    until("a running pod", cluster.running("web", 1), 90)
    cluster.scale("web", 2)
    cluster.deploy("huge", 1, "100")
    until("a word about it", lambda: cluster.said("FailedScheduling", "huge"), 60)
    always("one machine", lambda: cluster.kinds() == ["k2"], 20)
    phases = sorted(pod["status"]["phase"] for pod in cluster.pods("web"))
    assert phases == ["Pending", "Running"]


SCENARIOS: tuple[Callable[[Cluster], None], ...] = (
    cheapest, one_batch, capacity, empty, underused, drift, budget, do_not_disrupt, expiry, limits,
)  # fmt: skip
