"""Every process works with the least rights that are printed, and says in one line which one it lacks."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from bus.clock import SystemClock
from bus.errors import ConfigError
from schemas.actions import Action, ActionKind
from schemas.control import Command
from schemas.outcome import Mode, OutcomeExecution
from schemas.reasons import Reason
from services.collector.cluster import NODE_METRICS, WATCHED, read_one_list
from services.collector.settings import CollectorSettings
from services.collector.usage_reading import POD_METRICS
from services.executor.ledger.handler import evolve
from services.executor.reading.followed_lists import FollowedLists
from services.executor.settings import ExecutorSettings, HandBack
from services.official_client import OfficialClientTransport
from services.rights import Right, RightScope, places_to_ask
from services.rights.collector import required_rights as collector_rights
from services.rights.executor import required_rights as executor_rights
from services.rights.executor import write_rights
from services.rights.installation import ACCOUNTS, granted_rights
from services.rights.reviews import missing_rights, require_rights
from tests.builders import make_action, make_control, stamp_event
from tests.executor.plant import Plant, on
from tests.install.conftest import GRANTS, POOL, Installed, without
from tests.patience import HANGS_SECONDS

pytestmark = [pytest.mark.twin, pytest.mark.slow]
SHOP = "/api/v1/namespaces/shop"
REVIEW = "selfsubjectaccessreviews"
"""Every account may create them (`system:basic-user`)."""
FORBIDDEN = 403
MOST_LOOKS = 40
ROOT = Path(__file__).parents[2]
EVERY = [(process, right) for process, rights in granted_rights(GRANTS).items() for right in rights]


def keys(process: str) -> set[tuple[str, str, str]]:
    """Return verb, group and resource of each right of a process."""
    return {(one.verb, one.group, one.resource) for one in granted_rights(GRANTS)[process]}


def _amounts(cpu: str, memory: str) -> dict[str, Any]:
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": "2", "memory": "2Gi"}}


def _template(name: str, cpu: str = "500m", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "a:1", "resources": _amounts(cpu, "256Mi")}
    return {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0, **spec},
    }


def _workload(kind: str, version: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def furnish(installed: Installed) -> list[str]:
    """Put one of everything into the shop, on nodes of its pool; return the nodes."""
    nodes = [
        item["metadata"]["name"]
        for item in installed.face.ask("GET", "/api/v1/nodes").body["items"]
    ]
    key, _, value = POOL.partition("=")
    for node in nodes:
        installed.change(f"/api/v1/nodes/{node}", {"metadata": {"labels": {key: value}}})
    apps, batch = "/apis/apps/v1/namespaces/shop", "/apis/batch/v1/namespaces/shop"
    here = {"nodeName": nodes[0]}
    for name in ("web", "scaled"):
        spec = {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": _template(name, **(here if name == "web" else {"nodeName": nodes[1]})),
        }
        installed.make(f"{apps}/deployments", _workload("Deployment", "apps/v1", name, spec))
    spec = {"selector": {"matchLabels": {"app": "db"}}, "serviceName": "db", "replicas": 1}
    spec["template"] = _template("db", **here)
    installed.make(f"{apps}/statefulsets", _workload("StatefulSet", "apps/v1", "db", spec))
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "scaled"}
    spec = {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 9}
    body = _workload("HorizontalPodAutoscaler", "autoscaling/v2", "scaled", spec)
    installed.make("/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers", body)
    job = {"template": _template("nightly", "100m", restartPolicy="Never", nodeName=nodes[2])}
    cron = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": job}}
    made = installed.make(f"{batch}/cronjobs", _workload("CronJob", "batch/v1", "nightly", cron))
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "controller": True}
    body = _workload("Job", "batch/v1", "nightly-1", job)
    body["metadata"]["ownerReferences"] = [{**owner, "uid": made["metadata"]["uid"]}]
    installed.make(f"{batch}/jobs", body)
    waiting = {"template": _template("big", "500", restartPolicy="Never")}
    waiting["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "500"}}
    installed.make(f"{batch}/jobs", _workload("Job", "batch/v1", "big", waiting))
    default = {"type": "Container", "defaultRequest": {"cpu": "100m", "memory": "64Mi"}}
    installed.make(
        f"{SHOP}/limitranges", _workload("LimitRange", "v1", "usual", {"limits": [default]})
    )
    return nodes


class Scene:
    """The executor as its account, on the furnished cluster."""

    def __init__(self, installed: Installed) -> None:
        """Furnish the cluster and connect."""
        self.nodes = furnish(installed)
        self.transport = OfficialClientTransport(installed.kubeconfig("executor"))
        self.plant: Plant = on(
            self.transport,
            Mode.ACTIVE,
            namespaces=("shop",),
            writable_nodes=POOL,
            cool_down_seconds=0,
            usage_seconds=60,
            budgets=(),
            move_job_pods=True,
            settle_seconds=0,
            caps={"per_node": 99, "per_namespace": 99, "per_workload": 99},
            verify_cycles=1,
        )
        self.cycle = 0

    def see(self) -> None:
        """Let the executor see one more observation."""
        self.cycle += 1
        self.plant.see(self.cycle)

    async def do(self, action: Action) -> OutcomeExecution:
        """Let it act on a decision."""
        self.see()
        self.plant.decide(action, self.cycle)
        await self.plant.act()
        return self.plant.executions()[-1]

    async def undo(self, cycle: int) -> None:
        """Let the operator take a decision back."""
        control = make_control(Command.UNDO, value=str(cycle))
        self.plant.state = evolve(self.plant.state, stamp_event(control))
        await self.plant.act()


async def act_in_every_way(scene: Scene) -> list[OutcomeExecution]:
    """Do an action of each kind, in the ways that write differently, and take a quota back."""
    node, other, nightly, empty = scene.nodes
    throttle = make_action(kind=ActionKind.THROTTLE, target=node, cpu_cap_ratio=0.85)
    await scene.do(throttle)  # its first wish begins to look at what the pods use
    both = {"cpu_cap_ratio": 0.8, "memory_cap_ratio": 0.8}
    done = [
        await scene.do(action)
        for action in (
            make_action(kind=ActionKind.MIGRATE, target=nightly),  # a CronJob's
            make_action(kind=ActionKind.REPLICATE, target="shop/Deployment/scaled", replicas=3),
            make_action(kind=ActionKind.REPLICATE, target=other),
            make_action(kind=ActionKind.DVFS, target=other, clock_scale_ratio=0.65),
            make_action(kind=ActionKind.ADMISSION, admission="queue"),
            make_action(kind=ActionKind.POWER_STATE, target=empty, power_state="sleep"),
            make_action(kind=ActionKind.RESOURCE_CAP, target=node, **both),
        )
    ]
    await scene.undo(done[-1].cycle)
    web = make_action(kind=ActionKind.REPLICATE, target="shop/Deployment/web", replicas=3)
    done.append(await scene.do(web))
    for _ in range(MOST_LOOKS):  # until what the pods use is known for long enough
        await asyncio.sleep(0.5)
        given_less = await scene.do(throttle)
        if given_less.reason is not Reason.USAGE_UNKNOWN:
            break
    done.append(given_less)
    done.append(await scene.do(make_action(kind=ActionKind.MIGRATE, target=node)))
    return done


async def test_the_executor_needs_every_right_and_no_more(installed: Installed) -> None:
    """It does an action of each kind as its account; the audit log has each right at work and no refusal."""
    scene = Scene(installed)
    done = await act_in_every_way(scene)
    async with FollowedLists(scene.transport, SystemClock(), Random(1)).running():
        await asyncio.sleep(1.0)
    await scene.transport.close()

    assert [one.text for one in done if not one.succeeded] == []
    assert {str(one.action.kind) for one in done} >= set(GRANTS.actions) - {"memory_balloon"}
    used = installed.asked_by("executor")
    assert [one for one in used if one[3] == FORBIDDEN] == []
    assert {one[:3] for one in used if one[2] != REVIEW} == keys("executor")


async def test_the_collector_needs_every_right_and_no_more(installed: Installed) -> None:
    """Every list is read and watched, and what nodes and pods use is read; nothing is refused."""
    transport = OfficialClientTransport(installed.kubeconfig("collector"))
    reads = [
        await read_one_list(transport, each, 0.0) for each in (*WATCHED, NODE_METRICS, POD_METRICS)
    ]
    followed = {source.path: source.kind for source in WATCHED}
    async with (
        FollowedLists(transport, SystemClock(), Random(1), followed).running(),
        asyncio.timeout(HANGS_SECONDS),
    ):
        while keys("collector") - {one[:3] for one in installed.asked_by("collector")}:
            await asyncio.sleep(0.1)
    await transport.close()

    assert all(read.source.ok for read in reads)
    assert {one[:3] for one in installed.asked_by("collector")} == keys("collector")


@pytest.mark.parametrize(
    ("process", "right"), EVERY, ids=[f"{who}: {one.text}" for who, one in EVERY]
)
async def test_a_right_that_is_taken_away_is_named(
    installed: Installed, process: str, right: Right
) -> None:
    """The process does not start; its one line names that right, where it is missing, and what to do."""
    roles = [
        one for one in installed.roles() if one["metadata"]["name"].startswith(ACCOUNTS[process])
    ]
    for role in roles:
        installed.set_rules(role, without(role["rules"], right))
    transport = OfficialClientTransport(installed.kubeconfig(process))
    try:
        with pytest.raises(ConfigError) as refused:
            await require_rights(
                process, transport, granted_rights(GRANTS)[process], GRANTS.namespaces, GRANTS.home
            )
    finally:
        for role in roles:
            installed.set_rules(role, role["rules"])
        await transport.close()
    where = {RightScope.NAMED: " in shop", RightScope.OWN: " in foresail"}.get(right.place, "")
    assert str(refused.value) == (
        f"rights of {process} = lacks {right.text}{where}: grant what is missing; "
        "`foresail rbac` prints the least rights of each process"
    )


async def test_with_the_least_rights_nothing_is_missing(installed: Installed) -> None:
    """Every account starts; one that may only read lacks exactly what is written."""
    for process, rights in granted_rights(GRANTS).items():
        transport = OfficialClientTransport(installed.kubeconfig(process))
        await require_rights(process, transport, rights, GRANTS.namespaces, GRANTS.home)
        await transport.close()
    reader = OfficialClientTransport(installed.kubeconfig("collector"))
    lacking = await missing_rights(
        reader, write_rights([ActionKind.MIGRATE], ExecutorSettings()), ("shop",)
    )
    await reader.close()
    assert lacking == ["create pods/eviction in shop"]


def test_rights_follow_the_kinds_of_action() -> None:
    """Nothing is written without kinds, nodes only where some are named, and metrics read only to give less."""
    settings = ExecutorSettings()
    assert write_rights([], settings) == ()
    texts = {right.text for right in write_rights([ActionKind.THROTTLE], settings)}
    assert texts == {"patch pods/resize"}
    nodes = ExecutorSettings(writable_nodes=POOL)
    assert write_rights([ActionKind.DVFS], settings) == ()
    assert [one.text for one in write_rights([ActionKind.DVFS], nodes)] == ["patch nodes"]
    only = {right.text for right in executor_rights("read,admission", settings)}
    assert "get pods.metrics.k8s.io" not in only
    assert {"patch jobs.batch", "patch deployments.apps"} <= only
    assert "get pods.metrics.k8s.io" in {one.text for one in executor_rights("read", settings)}
    claims = {one.text for one in write_rights([ActionKind.POWER_STATE], karpenter())}
    assert claims == {"patch nodes", "delete nodeclaims.karpenter.sh"}


def test_a_right_is_asked_for_in_each_namespace() -> None:
    """What is written in all named ones, what is Foresail's own in its home, the rest everywhere."""
    rights = [Right("patch", "jobs", "batch", RightScope.NAMED), Right("list", "pods")]
    rights.append(Right("create", "secrets", place=RightScope.OWN))
    asked = [
        (right.verb, where) for right, where in places_to_ask(rights, ("shop", "batch"), "home")
    ]
    assert asked == [("patch", "shop"), ("patch", "batch"), ("list", ""), ("create", "home")]


def karpenter() -> ExecutorSettings:
    """Return settings that hand machines back to Karpenter."""
    return ExecutorSettings(writable_nodes=POOL, hand_back=HandBack.KARPENTER)


def test_words_that_ask_for_no_right_are_refused() -> None:
    """One line with the variable, its value and what would do."""
    with pytest.raises(
        ConfigError, match="FORESAIL_REQUIRE_RIGHTS = read,dance: give read, or read and"
    ):
        executor_rights("read,dance", ExecutorSettings())


def test_a_prometheus_spares_the_right_to_read_metrics() -> None:
    """What nodes use is then not asked of the API server."""
    settings = CollectorSettings()
    with_url = settings.prometheus.model_copy(update={"url": "http://prometheus:9090"})
    given = settings.model_copy(update={"prometheus": with_url})
    all_rights, fewer = collector_rights("read", settings), collector_rights("read", given)
    assert {one.text for one in set(all_rights) - set(fewer)} == {
        "list nodes.metrics.k8s.io",
        "list pods.metrics.k8s.io",
    }


def test_the_one_account_of_a_stack_outside_has_all_of_them() -> None:
    """deploy/rbac.yaml, for `foresail up --kubeconfig`, covers what the processes need one by one."""
    grants = replace(GRANTS, hand_back=HandBack.KARPENTER)
    wanted = [one for name in ("collector", "executor") for one in granted_rights(grants)[name]]
    text = (ROOT / "deploy" / "rbac.yaml").read_text(encoding="utf-8")
    allowed = {
        (verb, group, resource)
        for role in yaml.safe_load_all(text)
        for rule in role.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert {
        one.text for one in wanted if (one.verb, one.group, one.resource) not in allowed
    } == set()
