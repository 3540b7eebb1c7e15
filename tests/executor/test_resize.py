"""throttle and memory_balloon in the embedded cluster: pods are given less in place, and get it back."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.actions import ActionKind
from schemas.control import Command
from schemas.outcome import ExecutionPhase, Mode, Verb, VerificationStatus
from schemas.reasons import Reason
from services.cluster import MERGE_PATCH
from services.executor.ledger.handler import evolve
from services.executor.plans.resizing import resize_trouble
from services.executor.reading.pod_usage import MOST_PODS, PodUsageSample, UsagePeaks
from services.executor.verification.harm import AffectedPods, harm_checks
from services.official_client import OfficialClientTransport
from tests.builders import cycle_time, make_action, make_control, stamp_event
from tests.executor.api_server import ApiServer
from tests.executor.ground import PODS, Ground
from tests.executor.plant import on

BURSTABLE = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "4", "memory": "2Gi"}}
GUARANTEED = {"requests": {"cpu": "4", "memory": "2Gi"}, "limits": {"cpu": "4", "memory": "2Gi"}}
UNLIMITED = {"requests": {"cpu": "1", "memory": "1Gi"}}


@pytest.fixture
def ground() -> Ground:
    """Return an executor without pods so far."""
    return Ground()


async def test_usage_is_known_before_anything_is_given_less(ground: Ground) -> None:
    """A first wish is refused with the seconds that are asked for, and nothing is written."""
    ground.add_pod("web", BURSTABLE)
    await ground.pass_time(60.0)
    refused = await ground.decide(ActionKind.THROTTLE)

    assert (refused.phase, refused.reason) == (ExecutionPhase.REFUSED, Reason.USAGE_UNKNOWN)
    assert "is known for 0 s; 300 s are asked for" in refused.text
    assert ground.amounts("web") == BURSTABLE


async def test_a_throttle_lowers_limits_and_its_undo_gives_them_back(ground: Ground) -> None:
    """Half the limit, requests untouched; the kubelet carries it out, without a restart."""
    ground.add_pod("web", BURSTABLE)
    await ground.pass_time(60.0)
    done = await ground.decide_knowing(ActionKind.THROTTLE)

    assert (done.succeeded, done.means, done.direction) == (True, "resize", "limit")
    assert [one.verb for one in done.operations] == [Verb.RESIZE]
    assert "resize shop/web: c cpu limit 4 to 2" in done.operations[0].text
    assert re.search(
        r"lower CPU limits, by peaks of 3\d\d s \(metrics_server, over \d+ s each, \d+ s old\)",
        done.text,
    )
    await ground.pass_time(60.0)
    status = ground.pod("web")["status"]["containerStatuses"][0]
    lowered = {"requests": BURSTABLE["requests"], "limits": {"cpu": "2", "memory": "2Gi"}}
    assert (ground.amounts("web"), status["resources"], status["restartCount"]) == (
        lowered,
        lowered,
        0,
    )
    assert ground.plant.verifications()[-1].status is VerificationStatus.VERIFIED

    control = make_control(Command.UNDO, value=str(done.cycle))
    ground.plant.state = evolve(ground.plant.state, stamp_event(control))
    await ground.plant.act()
    assert ground.amounts("web") == BURSTABLE


async def test_nothing_falls_below_the_peak_and_a_margin(ground: Ground) -> None:
    """A pod that uses about half of its eight cores keeps a quarter more than its peak."""
    ground.add_pod("busy", {**BURSTABLE, "limits": {"cpu": "8", "memory": "8Gi"}}, use=3.8)
    await ground.pass_time(60.0)
    done = await ground.decide_knowing(ActionKind.THROTTLE)

    limit = float(ground.amounts("busy")["limits"]["cpu"].removesuffix("m")) / 1000
    used = ground.ask("GET", "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods/busy")
    cores = float(used["containers"][0]["usage"]["cpu"].removesuffix("n")) / 1e9
    assert done.succeeded
    assert 1.25 * cores <= limit < 8.0
    assert limit > 4.0


async def test_a_guaranteed_pod_stays_guaranteed(ground: Ground) -> None:
    """Request and limit fall together, of memory as of CPU."""
    ground.add_pod("db", GUARANTEED, use=0.1)
    await ground.pass_time(60.0)
    await ground.decide_knowing(ActionKind.THROTTLE)
    await ground.pass_time(30.0)
    assert ground.amounts("db") == {
        field: {"cpu": "2", "memory": "2Gi"} for field in ("requests", "limits")
    }
    done = await ground.decide(ActionKind.MEMORY_BALLOON)
    assert done.succeeded, done.text
    assert ground.amounts("db") == {
        field: {"cpu": "2", "memory": "1Gi"} for field in ("requests", "limits")
    }
    assert ground.pod("db")["status"]["qosClass"] == "Guaranteed"


async def test_a_balloon_lowers_the_request_alone_of_a_burstable_pod(ground: Ground) -> None:
    """Its limit stays, so that it runs out of memory no sooner than before."""
    ground.add_pod("web", BURSTABLE)
    await ground.pass_time(60.0)
    done = await ground.decide_knowing(ActionKind.MEMORY_BALLOON)

    assert done.succeeded, done.text
    assert ground.amounts("web") == {
        "requests": {"cpu": "1", "memory": "512Mi"},
        "limits": BURSTABLE["limits"],
    }


async def test_without_a_limit_to_lower_the_node_is_tainted(ground: Ground) -> None:
    """A limit that is added could not be taken away again; the taint can, and the event says which."""
    ground.add_pod("web", UNLIMITED)
    await ground.pass_time(60.0)
    done = await ground.decide(ActionKind.THROTTLE)

    assert (done.succeeded, done.means) == (True, "taint")
    assert "no pod of" in done.text
    (taint,) = ground.plant.shown()["spec"]["taints"]
    assert (taint["key"], taint["effect"]) == ("foresail.dev/limited", "PreferNoSchedule")
    assert ground.amounts("web") == UNLIMITED

    control = make_control(Command.UNDO, value=str(done.cycle))
    ground.plant.state = evolve(ground.plant.state, stamp_event(control))
    await ground.plant.act()
    assert "taints" not in ground.plant.shown()["spec"]


async def test_our_taint_is_taken_back_from_among_others(ground: Ground) -> None:
    """Others add theirs meanwhile, before it and after it; ours is known among them, and it alone goes."""
    ground.add_pod("web", UNLIMITED)
    await ground.pass_time(60.0)
    done = await ground.decide(ActionKind.THROTTLE)
    others = [
        {"key": "team", "value": "a", "effect": "NoSchedule"},
        {"key": "maintenance", "value": "b", "effect": "NoSchedule"},
    ]
    (own,) = ground.plant.shown()["spec"]["taints"]
    path = f"/api/v1/nodes/{ground.plant.node}"
    ground.ask("PATCH", path, {"spec": {"taints": [others[0], own, others[1]]}}, MERGE_PATCH)
    await ground.pass_time(60.0)
    assert ground.plant.state.executions[-1].verified

    control = make_control(Command.UNDO, value=str(done.cycle))
    ground.plant.state = evolve(ground.plant.state, stamp_event(control))
    await ground.plant.act()
    assert ground.plant.shown()["spec"]["taints"] == others


async def test_a_server_without_resize_gets_the_taint() -> None:
    """Before Kubernetes 1.33 the subresource is not listed."""
    server = ApiServer()
    server.add("/api/v1/nodes/n1", spec={}, status={})
    server.add("/api/v1", resources=[{"name": "pods"}])
    server.now = cycle_time(1)
    plant = on(server)
    plant.see(1)
    plant.decide(make_action(kind=ActionKind.THROTTLE, target="n1", cpu_cap_ratio=0.5), 1)
    await plant.act()

    done = plant.executions()[-1]
    assert (done.succeeded, done.means) == (True, "taint")
    assert "does not serve pods/resize" in done.text


@pytest.mark.parametrize(
    "fields",
    [
        {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]},
        {"annotations": {"vpaUpdates": "by the autoscaler"}},
        {"annotations": {"foresail.dev/do-not-disrupt": "true"}},
    ],
    ids=["restarts", "autoscaled", "protected"],
)
async def test_a_pod_that_somebody_else_sees_to_is_left_alone(
    ground: Ground, fields: dict[str, Any]
) -> None:
    """One that would restart, one of a vertical autoscaler, one that asks for it; its neighbour is resized."""
    ground.add_pod("apart", GUARANTEED, **fields)
    ground.add_pod("web", BURSTABLE)
    await ground.pass_time(60.0)
    done = await ground.decide_knowing(ActionKind.THROTTLE)

    assert [one.name for one in done.operations] == ["web"]
    assert ground.amounts("apart") == GUARANTEED


async def test_a_dry_run_resizes_nothing() -> None:
    """In shadow mode the write carries dryRun, and the pod keeps what it has."""
    ground = Ground(Mode.SHADOW)
    ground.add_pod("web", BURSTABLE)
    await ground.pass_time(60.0)
    done = await ground.decide_knowing(ActionKind.THROTTLE)

    assert (done.succeeded, done.mode) == (True, Mode.SHADOW)
    assert ground.amounts("web") == BURSTABLE


async def test_a_resize_that_ended_with_its_pod_is_not_taken_back(ground: Ground) -> None:
    """A pod made anew has its owner's amounts; there is nothing to give back."""
    ground.add_pod("web", BURSTABLE)
    await ground.pass_time(60.0)
    done = await ground.decide_knowing(ActionKind.THROTTLE)
    ground.ask("DELETE", f"{PODS}/web", {"gracePeriodSeconds": 0})
    await ground.pass_time(45.0)

    assert ground.plant.verifications()[-1].status is VerificationStatus.GONE
    control = make_control(Command.UNDO, value=str(done.cycle))
    ground.plant.state = evolve(ground.plant.state, stamp_event(control))
    await ground.plant.act()
    assert ground.plant.executions()[-1].reason is Reason.TARGET_CHANGED


async def test_an_out_of_memory_end_after_a_resize_is_harm(ground: Ground) -> None:
    """It counts from the resize on; before it, it is the owner's business."""
    ground.add_pod("web", BURSTABLE)
    await ground.pass_time(60.0)
    await ground.decide_knowing(ActionKind.MEMORY_BALLOON)
    execution = ground.plant.state.executions[-1]
    pod = ground.pod("web")
    before = resize_trouble(pod, execution.time_seconds, {"c": execution.time_seconds - 1})
    after = resize_trouble(pod, execution.time_seconds, {"c": execution.time_seconds + 1})
    assert (before, after) == ("", "shop/web: c ran out of memory")
    checks = harm_checks(execution, ground.plant.state, AffectedPods(troubles=(after,)))
    assert [check.passed for check in checks if check.guard == "resized_pods"] == [False]


def test_a_kubelet_that_refuses_is_harm() -> None:
    """What can never fit stays in the spec until somebody takes it back; what waits is none."""
    for reason, text in (("Infeasible", "shop/web: Infeasible: no"), ("Deferred", "")):
        condition = {
            "type": "PodResizePending",
            "status": "True",
            "reason": reason,
            "message": "no",
        }
        pod = {
            "metadata": {"namespace": "shop", "name": "web"},
            "status": {"conditions": [condition]},
        }
        assert resize_trouble(pod, 0.0, {}) == text


def test_a_gap_leaves_usage_unknown() -> None:
    """What a pod used while nobody looked may have been more than anything that is known."""
    peaks = UsagePeaks(300.0)
    assert peaks.watch("shop", "web", "u", 0.0)
    for seconds in (0.0, 60.0, 180.0):
        peaks.add("u", PodUsageSample(seconds, {"c": (seconds, int(seconds))}))
    assert (peaks.known_seconds("u"), peaks.of("u")) == (180.0, {"c": (180.0, 180)})
    peaks.add("u", PodUsageSample(301.0, {"c": (1.0, 1)}))
    assert (peaks.known_seconds("u"), peaks.of("u")) == (0.0, {"c": (1.0, 1)})
    assert peaks.watched(600.0)
    assert not peaks.watched(601.0)


def test_only_so_many_pods_are_watched() -> None:
    """The one that was wished for longest ago goes first."""
    peaks = UsagePeaks(300.0)
    for number in range(MOST_PODS + 1):
        peaks.watch("shop", str(number), str(number), 0.0)
    assert peaks.watched(0.0)[0][1] == "1"


@pytest.fixture
def quick_twin(tmp_path: Path) -> Iterator[Path]:
    """Start the embedded cluster as a process, a minute of it in a second; return the folder of its kubeconfigs."""
    options = ("--nodes", "1", "--workload", "idle", "--speed", "60")
    command = [sys.executable, "-m", "twin", *options, "--kubeconfig-dir", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            json.loads(process.stdout.readline())
            yield tmp_path
        finally:
            process.terminate()


@pytest.mark.twin
async def test_over_http_a_pod_is_resized_and_given_back(quick_twin: Path) -> None:
    """By the official client and with the executor's own rights, which RBAC asks of the subresource alone."""
    transport = OfficialClientTransport(quick_twin / "admin.kubeconfig")
    executor = OfficialClientTransport(quick_twin / "executor.kubeconfig")
    plant = on(executor, usage_seconds=30.0)
    nodes = json.loads((await transport.request("GET", "/api/v1/nodes")).body)
    plant.node = nodes["items"][0]["metadata"]["name"]
    await transport.request("POST", "/api/v1/namespaces", {}, {"metadata": {"name": "shop"}})
    container = {"name": "c", "image": "a:1", "resources": BURSTABLE}
    spec = {"nodeName": plant.node, "containers": [container]}
    await transport.request("POST", PODS, {}, {"metadata": {"name": "web"}, "spec": spec})
    for _ in range(
        600
    ):  # a pod that does not run yet cannot be resized, so the node would get a taint
        pod = json.loads((await transport.request("GET", f"{PODS}/web")).body)
        if pod["status"]["phase"] == "Running":
            break
        await asyncio.sleep(0.05)
    for cycle in range(1, 400):
        plant.see(cycle)
        plant.decide(
            make_action(kind=ActionKind.THROTTLE, target=plant.node, cpu_cap_ratio=0.5), cycle
        )
        await plant.act()
        if plant.executions()[-1].phase is ExecutionPhase.FINISHED:
            break
    done = plant.executions()[-1]
    assert (done.succeeded, done.means) == (True, "resize"), done.text
    pod = json.loads((await transport.request("GET", f"{PODS}/web")).body)
    assert pod["spec"]["containers"][0]["resources"]["limits"]["cpu"] == "2"
    plant.state = evolve(
        plant.state, stamp_event(make_control(Command.UNDO, value=str(done.cycle)))
    )
    await plant.act()
    pod = json.loads((await transport.request("GET", f"{PODS}/web")).body)
    assert pod["spec"]["containers"][0]["resources"] == BURSTABLE
    await transport.close()
    await executor.close()
