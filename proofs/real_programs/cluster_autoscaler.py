"""Cluster Autoscaler with its kwok provider on the twin, or the twin's own: both have to decide ten scenarios alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from proofs.real_programs.cluster import Cluster
from proofs.real_programs.grounds import Ground, twin_ground
from proofs.real_programs.log_lines import allowed_of
from proofs.real_programs.processes import (
    Command,
    account_kubeconfig,
    free_port,
    lease_flags,
    program,
    running_twin,
    supervised,
)
from proofs.real_programs.requests import Api, Object, always, make_account, until

NAME = "cluster-autoscaler"
HOME, ACCOUNT = "kube-system", "cluster-autoscaler"
GROUP = "foresail.dev/node-group"
SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
STATUS = f"/api/v1/namespaces/{HOME}/configmaps/cluster-autoscaler-status"
PRIORITIES = "cluster-autoscaler-priority-expander"
ALLOWED = allowed_of("cluster-autoscaler")
BUILT_IN_SPEED = "30"
"""Cluster seconds per second of the twin's own Cluster Autoscaler, whose times are the documented ones."""
UNNEEDED_SECONDS, BUILT_IN_SECONDS = 15, 20
"""How long a node is unneeded before it goes: by a flag of the real one, and of the twin's own at its speed."""
_GROUPS = {"small": (2, 3), "large": (8, 2), "choice": (4, 2)}
"""Cores of a machine and the most machines of each group; `choice` is for pods that tolerate its taint."""
_FLAGS = (
    "--cloud-provider=kwok", "--scan-interval=2s", f"--scale-down-unneeded-time={UNNEEDED_SECONDS}s",
    "--scale-down-delay-after-add=5s", "--unremovable-node-recheck-timeout=5s",
    "--expander=priority,least-waste", "--leader-elect=true", "--v=1",
    # Its kwok provider counts the nodes that its cache has: looking again at once it would order them twice.
    "--frequent-loops-enabled=false",
)  # fmt: skip
_READ = ["get", "list", "watch"]
_RULES = (
    (["create", "patch"], "", ["events", "endpoints"]),
    (["create"], "", ["pods/eviction"]),
    (["update"], "", ["pods/status"]),
    ([*_READ, "update", "create", "delete"], "", ["nodes"]),
    (_READ, "", ["namespaces", "pods", "services", "replicationcontrollers", "configmaps",
                 "persistentvolumeclaims", "persistentvolumes", "podtemplates"]),
    (["create", "update", "delete"], "", ["configmaps"]),
    (_READ, "resource.k8s.io", ["resourceslices", "deviceclasses", "resourceclaims"]),
    (_READ, "batch", ["jobs", "cronjobs"]),
    (_READ, "policy", ["poddisruptionbudgets"]),
    (_READ, "apps", ["daemonsets", "replicasets", "statefulsets"]),
    (_READ, "storage.k8s.io", ["storageclasses", "csinodes", "csidrivers", "csistoragecapacities",
                               "volumeattachments"]),
    (["create", "get", "update"], "coordination.k8s.io", ["leases"]),
)  # fmt: skip
"""Verbs, group and resources: the rights that its chart gives it."""


@contextmanager
def real(folder: Path, ground: Ground = twin_ground) -> Iterator[tuple[Cluster, list[Path]]]:
    """Run the real program on a cluster; yield the cluster and the program's log."""
    program(NAME)
    with ground(folder) as api:
        _install(api)
        kubeconfig = account_kubeconfig(api, HOME, ACCOUNT, folder / "kubeconfig")
        environment = {"KUBECONFIG": str(kubeconfig), "KWOK_PROVIDER_MODE": "local",
                       "POD_NAMESPACE": HOME}  # fmt: skip
        command = [str(program(NAME)), *_FLAGS, *lease_flags()]
        command.append(f"--kubeconfig={kubeconfig}")

        def make() -> Command:
            return [*command, f"--address=127.0.0.1:{free_port()}"], environment

        log = folder / "cluster-autoscaler.log"
        cluster = Cluster(api, GROUP)
        cluster.cordon()
        with supervised(make, log) as one:
            cluster.programs.append(one)
            until("its first look", lambda: api.find(STATUS), 60)
            yield cluster, [log]


@contextmanager
def built_in(folder: Path) -> Iterator[tuple[Cluster, list[Path]]]:
    """Run a twin with its own Cluster Autoscaler, faster than the wall clock."""
    machines = [
        {"name": f"c{cores}", "cpu_cores": cores, "memory_gib": 4 * cores, "price_per_hour": 0.05 * cores,
         "boot_seconds": 1}
        for cores, _ in _GROUPS.values()
    ]  # fmt: skip
    groups = [
        {"name": name, "machine": f"c{cores}", "max": most,
         "taints": ["dedicated=choice:NoSchedule"] if name == "choice" else []}
        for name, (cores, most) in _GROUPS.items()
    ]  # fmt: skip
    file = folder / "machines.yaml"
    file.write_text(yaml.safe_dump({"machines": machines, "groups": groups}), encoding="utf-8")
    flags = ("--nodes", "1", "--provisioner", "cluster-autoscaler", "--machines", str(file))
    with running_twin(folder, *flags, "--speed", BUILT_IN_SPEED) as api:
        cluster = Cluster(api, GROUP)
        cluster.cordon()
        yield cluster, [folder / "twin.log"]


def _install(api: Api) -> None:
    make_account(api, HOME, ACCOUNT, _RULES)
    config = {
        "apiVersion": "v1alpha1",
        "readNodesFrom": "configmap",
        "nodegroups": {"fromNodeLabelKey": GROUP},
        "nodes": {"skipTaint": True},
        "configmap": {"name": "kwok-provider-templates"},
    }
    templates = {"apiVersion": "v1", "kind": "List", "items": [_template(one) for one in _GROUPS]}
    for name, data in (
        ("kwok-provider-config", {"config": yaml.safe_dump(config)}),
        ("kwok-provider-templates", {"templates": yaml.safe_dump(templates)}),
        (PRIORITIES, {"priorities": yaml.safe_dump({10: [".*"]})}),
    ):
        body = {"metadata": {"name": name}, "data": data}
        api.ask("POST", f"/api/v1/namespaces/{HOME}/configmaps", body)


def _template(group: str) -> Object:
    cores, most = _GROUPS[group]
    amounts = {"cpu": str(cores), "memory": f"{4 * cores}Gi", "pods": "110"}
    taints = [{"key": "dedicated", "value": "choice", "effect": "NoSchedule"}]
    notes = {"cluster-autoscaler.kwok.nodegroup/max-count": str(most)}
    labels = {GROUP: group, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": group, "labels": labels, "annotations": notes},
        "spec": {"taints": taints if group == "choice" else []},
        "status": {"allocatable": amounts, "capacity": amounts,
                   "conditions": [{"type": "Ready", "status": "True"}]},
    }  # fmt: skip


def clear(cluster: Cluster) -> None:
    """Take everything away that a scenario made, and wait until every machine is given back."""
    cluster.clear()
    until("no machine left", lambda: not cluster.nodes(), 180)


# ---- scenarios


def scale_up(cluster: Cluster) -> None:
    """A pod that fits nowhere gets a machine of the group that it wastes least of, and is told so."""
    cluster.deploy("web", 1, "1500m")
    until("a running pod", cluster.running("web", 1), 60)
    assert cluster.kinds() == ["small"], cluster.kinds()
    assert cluster.said("TriggeredScaleUp", "web")


def several(cluster: Cluster) -> None:
    """A pod that only a large machine holds gets one, and small pods go beside it."""
    cluster.deploy("big", 1, "6")
    until("a running pod", cluster.running("big", 1), 60)
    assert cluster.kinds() == ["large"], cluster.kinds()
    cluster.deploy("web", 1, "1500m")
    until("a running pod", cluster.running("web", 1), 60)
    assert cluster.kinds() == ["large"], cluster.kinds()


def too_big(cluster: Cluster) -> None:
    """A pod that no group's machine holds brings none, and is told so."""
    cluster.deploy("huge", 1, "100")
    until("a word about it", lambda: cluster.said("NotTriggerScaleUp", "huge"), 60)
    always("no machine", lambda: not cluster.nodes(), 8)


def wrong_kind(cluster: Cluster) -> None:
    """Nor does one whose node selector no group meets; one that tolerates a taint gets the tainted group."""
    cluster.deploy("odd", 1, "1", nodeSelector={"disk": "none-such"})
    until("a word about it", lambda: cluster.said("NotTriggerScaleUp", "odd"), 60)
    assert not cluster.nodes()
    toleration = {"key": "dedicated", "operator": "Exists"}
    cluster.deploy("fine", 1, "1", nodeSelector={GROUP: "choice"}, tolerations=[toleration])
    until("a running pod", cluster.running("fine", 1), 60)
    assert cluster.kinds() == ["choice"], cluster.kinds()


def most_nodes(cluster: Cluster) -> None:
    """A group grows up to its maximum, and what is left waits."""
    cluster.deploy("web", 5, "1500m", nodeSelector={GROUP: "small"})
    until("three pods", lambda: _phases(cluster, "web").count("Running") == 3, 60)
    always("no fourth machine", lambda: cluster.kinds() == ["small"] * 3, 10)
    assert _phases(cluster, "web").count("Pending") == 2


def scale_down(cluster: Cluster) -> None:
    """A machine that nobody needs goes after its time."""
    cluster.deploy("web", 1, "1500m")
    until("a running pod", cluster.running("web", 1), 60)
    cluster.scale("web", 0)
    always("the machine for a while", lambda: len(cluster.nodes()) == 1, UNNEEDED_SECONDS / 2)
    until("no machine", lambda: not cluster.nodes(), 90)


def drained(cluster: Cluster) -> None:
    """The pod of a machine in little use moves to another one, and the machine goes."""
    cluster.deploy("fill", 1, "1500m", nodeSelector={GROUP: "small"})
    until("a running pod", cluster.running("fill", 1), 60)
    cluster.deploy("web", 1, "600m", nodeSelector={GROUP: "small"})
    until("a running pod", cluster.running("web", 1), 60)
    assert cluster.kinds() == ["small"] * 2, cluster.kinds()
    cluster.api.ask("DELETE", "/apis/apps/v1/namespaces/default/deployments/fill")
    until("one machine", lambda: len(cluster.nodes()) == 1, 90)
    until("the pod", cluster.running("web", 1), 60)


def kept_by_budget(cluster: Cluster) -> None:
    """A budget that allows nothing keeps a machine in little use; without it the machine goes."""
    cluster.budget("web", 1)
    _in_little_use(cluster)
    always("both machines", lambda: len(cluster.nodes()) == 2, 2 * BUILT_IN_SECONDS)
    cluster.api.remove("/apis/policy/v1/namespaces/default/poddisruptionbudgets/web")
    until("one machine", lambda: len(cluster.nodes()) == 1, 120)


def not_safe(cluster: Cluster) -> None:
    """A pod that is not safe to evict keeps its machine, until it is."""
    _in_little_use(cluster, annotations={SAFE: "false"})
    always("both machines", lambda: len(cluster.nodes()) == 2, 2 * BUILT_IN_SECONDS)
    cluster.annotate_pods("web", SAFE, "true")
    until("one machine", lambda: len(cluster.nodes()) == 1, 120)


def expendable(cluster: Cluster) -> None:
    """A pod of a priority below the cut-off brings no machine; a lone pod does, and keeps it."""
    cluster.priority("spare", -20)
    cluster.deploy("spare", 1, "1", priorityClassName="spare")
    always("no machine", lambda: not cluster.nodes(), 8)
    cluster.lone_pod("alone", "600m", nodeSelector={GROUP: "small"})
    until("a running pod", cluster.running("alone", 1), 60)
    before = cluster.names()
    always("the machine", lambda: cluster.names() == before, 2 * BUILT_IN_SECONDS)


def priorities(cluster: Cluster) -> None:
    """The priority expander takes the group that its ConfigMap prefers, though it wastes more."""
    _prefer(cluster, {10: [".*"], 50: ["large"]})
    try:
        cluster.deploy("web", 1, "1500m")
        until("a running pod", cluster.running("web", 1), 60)
        assert cluster.kinds() == ["large"], cluster.kinds()
    finally:
        _prefer(cluster, {10: [".*"]})


def _prefer(cluster: Cluster, priorities: dict[int, list[str]]) -> None:
    data = {"priorities": yaml.safe_dump(priorities)}
    path = f"/api/v1/namespaces/{HOME}/configmaps/{PRIORITIES}"
    cluster.api.ask("PATCH", path, {"data": data})


def _in_little_use(cluster: Cluster, annotations: Object | None = None) -> None:
    """Have two small machines: one full, one with a pod that would fit elsewhere."""
    cluster.deploy("fill", 1, "1200m", nodeSelector={GROUP: "small"}, annotations={SAFE: "false"})
    until("a running pod", cluster.running("fill", 1), 60)
    cluster.deploy("push", 1, "500m", nodeSelector={GROUP: "small"})
    until("a running pod", cluster.running("push", 1), 60)
    cluster.deploy("web", 1, "400m", nodeSelector={GROUP: "small"}, annotations=annotations)
    until("a running pod", cluster.running("web", 1), 60)
    assert cluster.kinds() == ["small"] * 2, cluster.kinds()
    cluster.api.ask("DELETE", "/apis/apps/v1/namespaces/default/deployments/push")


def _phases(cluster: Cluster, app: str) -> list[str]:
    return [str(pod["status"]["phase"]) for pod in cluster.pods(app)]


SCENARIOS: tuple[Callable[[Cluster], None], ...] = (
    scale_up, several, too_big, wrong_kind, most_nodes, scale_down, drained, kept_by_budget, not_safe,
    expendable,
)  # fmt: skip
OWN: tuple[Callable[[Cluster], None], ...] = (priorities,)
"""What the program alone can do."""
