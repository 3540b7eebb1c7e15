"""resource_cap: a quota of our own where containers get their requests, with an end and a way back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schemas.actions import ActionKind
from schemas.control import Command
from schemas.outcome import Mode, Verb, VerificationStatus
from schemas.reasons import Reason
from services.cluster import ApiResponse, Transport
from services.executor.ledger.handler import evolve
from services.executor.reading.capabilities import read_missing_capabilities
from services.executor.settings import ExecutorSettings
from tests.builders import make_control, stamp_event
from tests.executor.ground import PODS, Ground
from tests.executor.test_means import Limited

CAP = ActionKind.RESOURCE_CAP
SPACE = "/api/v1/namespaces/shop"
QUOTAS = f"{SPACE}/resourcequotas"
SMALL = {"requests": {"cpu": "500m", "memory": "512Mi"}}
LARGE = {"requests": {"cpu": "2", "memory": "1Gi"}}


def capped(mode: Mode = Mode.ACTIVE, *, defaults: bool = True, **policy: Any) -> Ground:
    """Return a node with two pods of a namespace that has defaults."""
    ground = Ground(mode, **policy)
    if defaults:
        give_defaults(ground)
    ground.add_pod("small", SMALL)
    ground.add_pod("large", LARGE)
    return ground


def give_defaults(ground: Ground, space: str = SPACE) -> None:
    """Give containers without requests a tenth of a core and 64 MiB."""
    entry = {"type": "Container", "defaultRequest": {"cpu": "100m", "memory": "64Mi"}}
    body = {"metadata": {"name": "defaults"}, "spec": {"limits": [entry]}}
    ground.ask("POST", f"{space}/limitranges", body)


def quotas(ground: Ground) -> list[dict[str, Any]]:
    """Return the quotas of the namespace."""
    return list(ground.ask("GET", QUOTAS)["items"])


async def test_a_namespace_is_held_at_what_it_asks_for_and_one_pod_more() -> None:
    """2.5 cores and 1.5 GiB are in use, the largest pod has 2 and 1; it names its decision and its end."""
    ground = capped()
    done = await ground.decide(CAP)

    assert (done.succeeded, done.means) == (True, "quota"), done.text
    assert [one.verb for one in done.operations] == [Verb.CREATE]
    (quota,) = quotas(ground)
    assert quota["metadata"]["name"] == "foresail-cap"
    assert quota["spec"]["hard"] == {"requests.cpu": "4500m", "requests.memory": "2560Mi"}
    notes = quota["metadata"]["annotations"]
    assert notes["foresail.dev/decision"] == done.decision_id
    assert notes["foresail.dev/expires"].endswith("Z")
    assert "taints" not in ground.plant.shown()["spec"]

    await ground.pass_time(45.0)
    assert ground.plant.verifications()[-1].status is VerificationStatus.VERIFIED
    ground.add_pod("third", LARGE)
    body = {
        "metadata": {"name": "fourth"},
        "spec": {"containers": [{"name": "c", "image": "a", "resources": LARGE}]},
    }
    sent = json.dumps(body).encode()
    status, answer = ground.plant.twin.request("POST", PODS, {}, sent, "application/json")
    assert (status, b"exceeded quota: foresail-cap" in answer) == (403, True)


async def test_it_is_taken_back_when_its_time_is_over() -> None:
    """Half an hour by default; the quota goes, and nothing else."""
    ground = capped(limit_seconds=300.0)
    await ground.decide(CAP)
    await ground.pass_time(240.0)
    assert len(quotas(ground)) == 1
    await ground.pass_time(120.0)
    assert quotas(ground) == []
    assert ground.plant.executions()[-1].text == "take back resource_cap: its 300 s are over"


async def test_the_operator_takes_it_back_at_once() -> None:
    """`undo` deletes what we created, by its uid."""
    ground = capped()
    done = await ground.decide(CAP)
    control = make_control(Command.UNDO, value=str(done.cycle))
    ground.plant.state = evolve(ground.plant.state, stamp_event(control))
    await ground.plant.act()
    assert quotas(ground) == []


async def test_a_quota_that_somebody_changed_is_theirs() -> None:
    """Another amount was written into it: it is not deleted, and the log says so."""
    ground = capped()
    done = await ground.decide(CAP)
    changed = {"spec": {"hard": {"requests.cpu": "9", "requests.memory": "9Gi"}}}
    ground.ask("PATCH", f"{QUOTAS}/foresail-cap", changed, "application/merge-patch+json")
    control = make_control(Command.UNDO, value=str(done.cycle))
    ground.plant.state = evolve(ground.plant.state, stamp_event(control))
    await ground.plant.act()
    assert len(quotas(ground)) == 1
    assert ground.plant.executions()[-1].reason is Reason.TARGET_CHANGED


async def test_a_capped_namespace_is_not_capped_again() -> None:
    """One quota of ours is enough."""
    ground = capped(cool_down_seconds=0.0)
    await ground.decide(CAP)
    again = await ground.decide(CAP)
    assert again.reason is Reason.ALREADY_IN_STATE


async def test_a_dry_run_creates_nothing() -> None:
    """In shadow mode the server is asked and keeps nothing."""
    ground = capped(Mode.SHADOW)
    done = await ground.decide(CAP)
    assert (done.succeeded, quotas(ground)) == (True, [])


async def test_a_namespace_that_is_not_named_is_not_capped() -> None:
    """Guards are asked about the namespace as about every object in it."""
    ground = capped(namespaces=("other",))
    refused = await ground.decide(CAP)
    assert refused.reason in {Reason.PROTECTED, Reason.NAMESPACE_NOT_NAMED}
    assert quotas(ground) == []


async def test_a_marked_namespace_is_not_capped() -> None:
    """do-not-disrupt on the namespace holds for its quota, too."""
    ground = capped()
    mark = {"metadata": {"annotations": {"foresail.dev/do-not-disrupt": "true"}}}
    ground.ask("PATCH", SPACE, mark, "application/merge-patch+json")
    refused = await ground.decide(CAP)
    assert refused.reason is Reason.PROTECTED
    assert quotas(ground) == []


class Foreign(Limited):
    """A cluster that is not the embedded one."""

    async def request(self, method: Any, path: str, *rest: Any) -> ApiResponse:
        """Answer as the cluster does, but for its version."""
        answer = await super().request(method, path, *rest)
        if path != "/version":
            return answer
        return ApiResponse(200, b'{"gitVersion": "v1.36.0"}', answer.cluster_time_seconds)


def foreign(inner: Transport) -> Foreign:
    """Return a cluster of somebody's own that behaves like another."""
    return Foreign(inner)


async def test_without_defaults_nothing_is_capped_on_a_cluster_of_ones_own() -> None:
    """A quota there would refuse every pod that asks for nothing; agents know it beforehand."""
    ground = capped(defaults=False, namespaces=("shop",), writable_nodes="kubernetes.io/os=linux")
    ground.plant.transport = foreign(ground.plant.transport)
    ground.plant.restart()
    refused = await ground.decide(CAP)
    assert refused.reason is Reason.NO_DEFAULTS
    assert quotas(ground) == []

    settings = ExecutorSettings(namespaces=("shop",), writable_nodes="kubernetes.io/os=linux")
    (missing,) = await read_missing_capabilities(ground.plant.transport, settings, Mode.ACTIVE)
    assert (missing.kind, missing.why) == (CAP, "no_defaults")
    give_defaults(ground)
    assert await read_missing_capabilities(ground.plant.transport, settings, Mode.ACTIVE) == ()


async def test_without_defaults_the_embedded_cluster_honours_annotations() -> None:
    """Its nodes do what a node agent would, so that every kind can be tried."""
    ground = capped(defaults=False)
    done = await ground.decide(CAP)
    assert (done.succeeded, done.means) == (True, "")
    notes = ground.plant.shown()["metadata"]["annotations"]
    assert notes["foresail.dev/cpu-cap"] == "0.8"


@pytest.mark.parametrize("used", ["cpu", "memory"])
async def test_half_of_the_defaults_is_none(used: str) -> None:
    """A default for CPU alone leaves memory open, and the quota would refuse pods without it."""
    ground = capped(defaults=False)
    entry = {"type": "Container", "defaultRequest": {used: "1"}}
    body = {"metadata": {"name": "half"}, "spec": {"limits": [entry]}}
    ground.ask("POST", f"{SPACE}/limitranges", body)
    await ground.decide(CAP)
    assert quotas(ground) == []


async def test_replicas_that_it_keeps_away_are_harm() -> None:
    """A Deployment that lacks replicas since gets its quota back."""
    ground = capped()
    labels = {"app": "web"}
    container = {"name": "c", "image": "a:1", "resources": SMALL}
    template = {
        "metadata": {"labels": labels},
        "spec": {
            "containers": [container],
            "nodeSelector": {"kubernetes.io/hostname": ground.plant.node},
        },
    }
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    path = "/apis/apps/v1/namespaces/shop/deployments"
    ground.ask("POST", path, {"metadata": {"name": "web"}, "spec": spec})
    await ground.pass_time(60.0)
    done = await ground.decide(CAP)
    assert done.succeeded, done.text
    scaled = {"spec": {"replicas": 9}}
    ground.ask("PATCH", f"{path}/web", scaled, "application/merge-patch+json")
    await ground.pass_time(45.0)
    assert ground.plant.verifications()[-1].status is VerificationStatus.WORSE
    assert quotas(ground) == []
