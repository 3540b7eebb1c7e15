"""kube-scheduler and kube-controller-manager on the twin, or its own parts: both decide eleven scenarios alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from proofs.real_programs.cluster import DEPLOYMENTS, NODES, PODS, Cluster
from proofs.real_programs.grounds import Ground, twin_ground
from proofs.real_programs.log_lines import allowed_of
from proofs.real_programs.processes import (
    account_kubeconfig,
    lease_flags,
    program,
    running,
    running_twin,
)
from proofs.real_programs.requests import Api, Object, always, until

SCHEDULER, MANAGER = "kube-scheduler", "kube-controller-manager"
HOME = "kube-system"
CONTROLLERS = (
    "deployment-controller,replicaset-controller,job-controller,statefulset-controller,daemonset-controller,"
    "cronjob-controller,replicationcontroller-controller,ttl-after-finished-controller,disruption-controller,endpointslice-controller,horizontal-pod-autoscaler-controller,"
    "endpoints-controller,endpointslice-mirroring-controller,persistentvolume-binder-controller,persistentvolumeclaim-protection-controller"
)
APPS, BATCH = "/apis/apps/v1/namespaces/default", "/apis/batch/v1/namespaces/default"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
SERVICES = "/api/v1/namespaces/default/services"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
ALLOWED = allowed_of(SCHEDULER, MANAGER)


@contextmanager
def real(folder: Path, ground: Ground = twin_ground) -> Iterator[tuple[Cluster, list[Path]]]:
    """Run both programs on a cluster without others of their kind; yield the cluster and their logs."""
    program(SCHEDULER), program(MANAGER)
    with ground(folder, 3, CONTROLLERS.split(",")) as api, ExitStack() as stack:
        cluster = Cluster(api, "kubernetes.io/hostname")
        for name in (SCHEDULER, MANAGER):
            one = running(_command(api, folder, name), folder / f"{name}.log")
            cluster.programs.append(stack.enter_context(one))
        for name in (SCHEDULER, MANAGER):
            lease = f"/apis/coordination.k8s.io/v1/namespaces/{HOME}/leases/{name}"
            until(f"{name} to lead", lambda path=lease: api.find(path), 60)
        yield cluster, [folder / f"{name}.log" for name in (SCHEDULER, MANAGER)]


@contextmanager
def built_in(folder: Path) -> Iterator[tuple[Cluster, list[Path]]]:
    """Run a twin as it is."""
    with running_twin(folder, "--nodes", "3") as api:
        yield Cluster(api, "kubernetes.io/hostname"), [folder / "twin.log"]


def _command(api: Api, folder: Path, name: str) -> list[str]:
    """Return the command line with a kubeconfig of an account of its own.

    The scheduler's rights are those of its default role. Those of the manager's single controllers are not there, so it
    has an administrator's.
    """
    role = "system:kube-scheduler" if name == SCHEDULER else "cluster-admin"
    api.ask("POST", f"/api/v1/namespaces/{HOME}/serviceaccounts", {"metadata": {"name": name}})
    roles = (role, "system:volume-scheduler") if name == SCHEDULER else (role,)
    for one in (*roles, "system:auth-delegator"):
        _bind(api, name, one)
    reader = "extension-apiserver-authentication-reader"
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": reader}
    body = {**_binding(f"{name}-{reader}", name), "roleRef": reference}
    api.ask("POST", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{HOME}/rolebindings", body)
    path = account_kubeconfig(api, HOME, name, folder / f"{name}.kubeconfig")
    words = [str(program(name)), "--secure-port=0", "--leader-elect=true", *lease_flags()]
    flags = ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
    words += [f"--{flag}={path}" for flag in flags]
    return [*words, f"--controllers={CONTROLLERS}"] if name == MANAGER else words


def _bind(api: Api, account: str, role: str) -> None:
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    body = {**_binding(f"{account}-{role}", account), "roleRef": reference}
    api.ask("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", body)


def _binding(name: str, account: str) -> Object:
    subject = {"kind": "ServiceAccount", "namespace": HOME, "name": account}
    return {"metadata": {"name": name}, "subjects": [subject]}


def clear(cluster: Cluster) -> None:
    """Take everything away that a scenario made."""
    for kind in ("statefulsets", "daemonsets"):
        cluster.api.ask("DELETE", f"{APPS}/{kind}")
    for kind in ("cronjobs", "jobs"):
        cluster.api.ask("DELETE", f"{BATCH}/{kind}", propagationPolicy="Background")
    for service in cluster.api.items(SERVICES):
        if service["metadata"]["name"] != "kubernetes":
            cluster.api.remove(f"{SERVICES}/{service['metadata']['name']}")
    for node in cluster.nodes():
        where = f"{NODES}/{node['metadata']['name']}"
        cluster.api.ask("PATCH", where, {"spec": {"unschedulable": None}})
    cluster.clear()


# ---- scenarios


def rollout(cluster: Cluster) -> None:
    """A Deployment is rolled out, spread over the nodes, and rolled on to another image by a second ReplicaSet."""
    cluster.deploy("web", 3, "500m")
    until("running pods", cluster.running("web", 3))
    assert len({pod["spec"]["nodeName"] for pod in cluster.pods("web")}) == 3
    steps = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}}}
    cluster.api.ask("PATCH", f"{DEPLOYMENTS}/web", steps, "application/strategic-merge-patch+json")

    def rolled() -> bool:
        images = {pod["spec"]["containers"][0]["image"] for pod in cluster.pods("web")}
        return images == {"i:2"} and cluster.running("web", 3)()

    until("the new image everywhere", rolled, 90)
    assert len(cluster.api.items(f"{APPS}/replicasets")) == 2


def scaled(cluster: Cluster) -> None:
    """Replicas follow what is asked for, up and down."""
    cluster.deploy("web", 2, "100m")
    until("two pods", cluster.running("web", 2))
    cluster.scale("web", 5)
    until("five pods", cluster.running("web", 5))
    cluster.scale("web", 1)
    until("one pod", cluster.running("web", 1))


def replaced(cluster: Cluster) -> None:
    """A pod that is deleted is replaced."""
    cluster.deploy("web", 2, "100m")
    until("two pods", cluster.running("web", 2))
    gone = cluster.pods("web")[0]["metadata"]["name"]
    cluster.api.remove(f"{PODS}/{gone}")
    until("another one", cluster.running("web", 2))
    assert gone not in {pod["metadata"]["name"] for pod in cluster.pods("web")}


def job(cluster: Cluster) -> None:
    """A Job's completions are counted, two at a time."""
    body = _job("three", 3, parallelism=2)
    cluster.api.ask("POST", f"{BATCH}/jobs", body)

    def status() -> Any:
        found = cluster.api.ask("GET", f"{BATCH}/jobs/three")["status"]
        return found if found.get("completionTime") else None

    assert until("its end", status, 90)["succeeded"] == 3


def suspended(cluster: Cluster) -> None:
    """A suspended Job has no pods until it is resumed."""
    cluster.api.ask("POST", f"{BATCH}/jobs", _job("later", 1, suspend=True))
    always("no pods", lambda: not cluster.api.items(PODS), 3)
    cluster.api.ask("PATCH", f"{BATCH}/jobs/later", {"spec": {"suspend": False}})
    until("a pod", lambda: cluster.api.items(PODS))


def stateful(cluster: Cluster) -> None:
    """A StatefulSet's pods come one after the other, by number, and go from the last."""
    cluster.api.ask("POST", f"{APPS}/statefulsets", _set("db", replicas=3, serviceName="db"))
    until("three pods", cluster.running("db", 3), 90)
    names = [pod["metadata"]["name"] for pod in cluster.pods("db")]
    assert sorted(names) == ["db-0", "db-1", "db-2"], names
    cluster.api.ask("PATCH", f"{APPS}/statefulsets/db", {"spec": {"replicas": 1}})
    until(
        "the first alone", lambda: [p["metadata"]["name"] for p in cluster.pods("db")] == ["db-0"]
    )


def daemon(cluster: Cluster) -> None:
    """A DaemonSet has a pod on each node."""
    cluster.api.ask("POST", f"{APPS}/daemonsets", _set("agent"))
    until("three pods", cluster.running("agent", 3))
    assert len({pod["spec"]["nodeName"] for pod in cluster.pods("agent")}) == 3


def unschedulable(cluster: Cluster) -> None:
    """A pod that fits nowhere says why, and one for which nodes are cordoned waits until one is open."""
    cluster.deploy("huge", 1, "5000")
    wanted = "0/3 nodes are available: 3 Insufficient cpu."
    until(
        "why",
        lambda: any(said.startswith(wanted) for said in cluster.said("FailedScheduling", "huge")),
    )
    cluster.cordon()
    cluster.deploy("web", 1, "100m")
    always("no node", lambda: not any(p["spec"].get("nodeName") for p in cluster.pods("web")), 3)
    where = f"{NODES}/{cluster.nodes()[0]['metadata']['name']}"
    cluster.api.ask("PATCH", where, {"spec": {"unschedulable": None}})
    until("a running pod", cluster.running("web", 1))


def disruption(cluster: Cluster) -> None:
    """A budget says how many pods may go, and an eviction beyond it is refused."""
    cluster.deploy("web", 2, "100m")
    until("two pods", cluster.running("web", 2))
    cluster.budget("web", 1)

    def allowed(count: int) -> bool:
        return cluster.api.ask("GET", f"{BUDGETS}/web")["status"].get("disruptionsAllowed") == count

    until("one may go", lambda: allowed(1))
    cluster.scale("web", 1)
    until("none may go", lambda: allowed(0))


def endpoints(cluster: Cluster) -> None:
    """A Service's slices hold the addresses of its ready pods."""
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    cluster.api.ask("POST", SERVICES, {"metadata": {"name": "web"}, "spec": spec})
    cluster.deploy("web", 2, "100m")
    until("two pods", cluster.running("web", 2))

    def addresses() -> set[str]:
        return {
            address
            for one in cluster.api.items(SLICES)
            if one["metadata"]["name"].startswith("web-")
            for endpoint in one.get("endpoints") or ()
            for address in endpoint["addresses"]
        }

    wanted = {pod["status"]["podIP"] for pod in cluster.pods("web")}
    until("their addresses", lambda: addresses() == wanted)


def gone_at_once(cluster: Cluster) -> None:
    """What is deleted while everybody looks at it is forgotten, with all that was made of it, five times over."""
    for number in range(5):
        name = f"short-{number}"
        cluster.deploy(name, 12, "100m")
        cluster.budget(name, 1)
        stateful = _set(
            f"db-{number}", replicas=3, serviceName="db", podManagementPolicy="Parallel"
        )
        cluster.api.ask("POST", f"{APPS}/statefulsets", stateful)
        time.sleep(0.1 * number)  # from before the first pod until all are bound
        for path in (
            f"{DEPLOYMENTS}/{name}",
            f"{BUDGETS}/{name}",
            f"{APPS}/statefulsets/db-{number}",
        ):
            cluster.api.ask("DELETE", path, propagationPolicy="Background")
    until("nothing left", lambda: not cluster.api.items(PODS), 120)


def _template(app: str, **spec: Any) -> Object:
    container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "100m"}}}
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [container], **spec}}


def _job(name: str, completions: int, **spec: Any) -> Object:
    template = _template(name, restartPolicy="Never")
    template["metadata"]["annotations"] = {"foresail.dev/work-seconds": "2"}
    return {
        "metadata": {"name": name},
        "spec": {"completions": completions, "template": template, **spec},
    }


def _set(name: str, **spec: Any) -> Object:
    selector = {"matchLabels": {"app": name}}
    return {
        "metadata": {"name": name},
        "spec": {"selector": selector, "template": _template(name), **spec},
    }


SCENARIOS: tuple[Callable[[Cluster], None], ...] = (
    rollout, scaled, replaced, job, suspended, stateful, daemon, unschedulable, disruption, endpoints, gone_at_once,
)  # fmt: skip
