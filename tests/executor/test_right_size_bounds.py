"""resize in the embedded cluster: what owners are offered, and bounds of a namespace, of which one line tells."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from foresail.report_tables import template_patches
from projections.activity import Activity
from schemas.actions import ActionKind, ResizeAction
from schemas.outcome import OutcomeExecution
from schemas.reasons import Reason
from services.cluster import STRATEGIC_PATCH
from tests.action_builder import make_action
from tests.builders import stamp_event
from tests.executor.ground import PODS, Ground

MIB = 1 << 20
WEB = "shop/Deployment/web"
DEPLOYMENTS = "/apis/apps/v1/namespaces/shop/deployments"
RANGES = "/api/v1/namespaces/shop/limitranges"
QUOTAS = "/api/v1/namespaces/shop/resourcequotas"


@pytest.fixture
def ground() -> Ground:
    """Return an executor beside a Deployment of one pod of a core and a GiB, which uses a tenth of it."""
    ground = Ground()
    notes = {"foresail.dev/cpu-usage-ratio": "0.1", "foresail.dev/memory-usage-ratio": "0.1"}
    container = {"name": "c", "image": "a:1", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}  # fmt: skip
    labels = {"app": "web"}
    template = {
        "metadata": {"labels": labels, "annotations": notes},
        "spec": {"containers": [container]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    ground.ask("POST", DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": spec})
    return ground


async def resize(ground: Ground, cores: float, memory: int) -> OutcomeExecution:
    """Wish for other requests once pods run and are measured; return how that ended."""
    await ground.pass_time(180.0)
    action = make_action(
        kind=ActionKind.RESIZE,
        target=WEB,
        cpu_request_cores=cores,
        memory_request_bytes=memory,
    )
    assert isinstance(action, ResizeAction)
    ground.cycle += 1
    ground.plant.see(ground.cycle)
    ground.plant.decide(action, ground.cycle)
    await ground.plant.act()
    return ground.plant.executions()[-1]


def requests(ground: Ground) -> dict[str, Any]:
    """Return what the only pod requests."""
    (pod,) = ground.ask("GET", PODS)["items"]
    found: dict[str, Any] = pod["spec"]["containers"][0]["resources"]["requests"]
    return found


async def test_the_owner_is_offered_what_pods_were_given(ground: Ground) -> None:
    """A quarter of a core and of a GiB, in place; the report's command gives the template the same and no more."""
    done = await resize(ground, 0.25, 256 * MIB)
    assert done.succeeded, done.text
    assert requests(ground) == {"cpu": "250m", "memory": "256Mi"}
    template = ground.ask("GET", f"{DEPLOYMENTS}/web")["spec"]["template"]
    activity = Activity()
    activity.add(stamp_event(done))
    *command, patch = shlex.split(template_patches(activity)[WEB])
    assert command == ["kubectl", "-n", "shop", "patch", "deployment", "web", "-p"]
    changed = ground.ask("PATCH", f"{DEPLOYMENTS}/web", json.loads(patch), STRATEGIC_PATCH)
    (container,) = template["spec"]["containers"]
    container["resources"]["requests"] = {"cpu": "250m", "memory": "256Mi"}
    assert changed["spec"]["template"] == template


async def test_a_limit_range_keeps_its_least(ground: Ground) -> None:
    """The namespace asks for half a GiB at least: nothing is written, and the line names bound and amount."""
    limits = [{"type": "Container", "min": {"memory": "512Mi"}}]
    ground.ask("POST", RANGES, {"metadata": {"name": "least"}, "spec": {"limits": limits}})
    refused = await resize(ground, 0.25, 256 * MIB)
    assert not refused.succeeded
    assert "minimum memory usage per Container is 512Mi" in refused.text
    assert requests(ground) == {"cpu": "1", "memory": "1Gi"}


async def test_a_quota_that_is_used_up_keeps_what_would_rise(ground: Ground) -> None:
    """Less is always let in; more than the quota has left is not, and the line names the quota."""
    ground.ask("POST", QUOTAS, {"metadata": {"name": "team"}, "spec": {"hard": {"requests.cpu": "1500m"}}})  # fmt: skip
    assert (await resize(ground, 0.5, 512 * MIB)).succeeded
    refused = await resize(ground, 2.0, 512 * MIB)
    assert not refused.succeeded
    assert "exceeded quota: team" in refused.text
    assert requests(ground) == {"cpu": "500m", "memory": "512Mi"}
    assert refused.reason is Reason.FORBIDDEN
