"""The transport refuses by itself what may not be written, whatever asks for it."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import ActionKind
from schemas.outcome import ExecutionPhase, Mode
from schemas.reasons import Reason
from services.cluster import MERGE_PATCH, ClusterRefused, TwinTransport
from services.executor import guard_discovery
from services.executor.fence import FencedTransport
from services.executor.scope import OUT_OF_SCOPE
from services.executor.settings import ExecutorSettings
from tests.builders import make_action
from tests.executor.shop import DEPLOYMENTS, NAMESPACES, Shop

NAMED = {"namespaces": ("shop",), "settle_seconds": 0.0, "unready_ratio": 0.0}
DEPLOYMENT = f"{DEPLOYMENTS}/web"
MORE = {"spec": {"replicas": 4}}


class Counting(TwinTransport):
    """Notes what reaches the server besides reads."""

    def __init__(self, shop: Shop) -> None:
        """Reach the shop's cluster."""
        super().__init__(shop.plant.twin)
        self.written: list[str] = []

    async def request(self, method: Any, path: str, *rest: Any, **named: Any) -> Any:
        """Send one request."""
        if method != "GET":
            self.written.append(f"{method} {path}")
        return await super().request(method, path, *rest, **named)


def _fence(
    shop: Shop, mode: Mode = Mode.ACTIVE, **settings: Any
) -> tuple[FencedTransport, Counting]:
    server = Counting(shop)
    fence = FencedTransport(server, ExecutorSettings(**{**NAMED, **settings}))
    fence.mode = mode
    return fence, server


def _node(shop: Shop, **metadata: Any) -> str:
    path = f"/api/v1/nodes/{shop.plant.node}"
    shop.patch(path, {"metadata": metadata})
    return path


async def _refused(fence: FencedTransport, method: Any, path: str, body: Any = None) -> str:
    with pytest.raises(ClusterRefused) as caught:
        await fence.request(method, path, {}, body, MERGE_PATCH)
    assert (caught.value.status, caught.value.reason) == (403, OUT_OF_SCOPE)
    return caught.value.message


@pytest.mark.parametrize(
    ("method", "path", "why"),
    [
        ("PATCH", "/apis/apps/v1/namespaces/pay/deployments/web", "may not be written"),
        ("PATCH", "/apis/apps/v1/namespaces/kube-system/deployments/dns", "is protected"),
        ("DELETE", "/api/v1/namespaces/shop/pods/web-1", "no action does this"),
        ("DELETE", "/api/v1/namespaces/shop", "no action does this"),
        ("PATCH", "/api/v1/namespaces/shop/secrets/s", "no action does this"),
        ("POST", "/api/v1/namespaces/pay/pods/web-1/eviction", "may not be written"),
        ("PUT", "/api/v1/namespaces/shop/pods/web-1", "no action does this"),
        ("DELETE", "/apis/karpenter.sh/v1/nodeclaims/one", "no node may be written"),
        ("DELETE", "/api/v1/namespaces/shop/pods", "no action does this"),
        ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", "no action does this"),
        ("PATCH", "/apis/apps/v1/namespaces/shop/../pay/deployments/web", "no object is written"),
    ],
)
async def test_what_lies_outside_reaches_nobody(method: str, path: str, why: str) -> None:
    """Other namespaces, protected ones even if named, other kinds and other verbs."""
    fence, server = _fence(Shop(), namespaces=("shop", "kube-system"))
    assert why in await _refused(fence, method, path, MORE)
    assert server.written == []


async def test_a_named_namespace_and_questions_pass() -> None:
    """What an action does in a named namespace, and a review of our own rights."""
    shop = Shop()
    fence, server = _fence(shop)
    await fence.request("PATCH", DEPLOYMENT, {}, MORE, MERGE_PATCH)
    review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    await fence.request(
        "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {}, review
    )
    assert shop.ask("GET", DEPLOYMENT)["spec"]["replicas"] == 4
    assert len(server.written) == 2


async def test_in_shadow_mode_only_dry_runs_pass() -> None:
    """A write that forgets its dry run does not reach the server."""
    shop = Shop()
    fence, server = _fence(shop, Mode.SHADOW)
    assert "shadow" in await _refused(fence, "PATCH", DEPLOYMENT, MORE)
    await fence.request("PATCH", DEPLOYMENT, {"dryRun": "All"}, MORE, MERGE_PATCH)
    assert shop.ask("GET", DEPLOYMENT)["spec"]["replicas"] == 3
    assert len(server.written) == 1


async def test_nodes_need_the_label_and_no_control_plane() -> None:
    """The label is read from the node as it is now."""
    shop = Shop()
    path, patch = _node(shop), {"spec": {"unschedulable": True}}
    fence, server = _fence(shop, writable_nodes="pool=shop")
    assert "may not be written" in await _refused(fence, "PATCH", path, patch)
    _node(shop, labels={"pool": "shop", "node-role.kubernetes.io/control-plane": ""})
    assert "control plane" in await _refused(fence, "PATCH", path, patch)
    assert server.written == []
    _node(shop, labels={"node-role.kubernetes.io/control-plane": None})
    await fence.request("PATCH", path, {}, patch, MERGE_PATCH)
    assert shop.ask("GET", path)["spec"]["unschedulable"] is True


async def test_the_owners_of_a_namespace_let_it_be_written_by_a_label() -> None:
    """And take that back by removing the label; no restart is needed."""
    shop = Shop()
    fence, _ = _fence(shop, namespaces=(), namespace_label="foresail.dev/act=yes")
    await _refused(fence, "PATCH", DEPLOYMENT, MORE)
    shop.patch(f"{NAMESPACES}/shop", {"metadata": {"labels": {"foresail.dev/act": "yes"}}})
    await fence.request("PATCH", DEPLOYMENT, {}, MORE, MERGE_PATCH)
    shop.patch(f"{NAMESPACES}/shop", {"metadata": {"labels": {"foresail.dev/act": "no"}}})
    await _refused(fence, "PATCH", DEPLOYMENT, {"spec": {"replicas": 5}})
    assert shop.ask("GET", DEPLOYMENT)["spec"]["replicas"] == 4


async def test_a_labelled_namespace_is_planned_for() -> None:
    """Guards and fence read the same label; without it the plan is refused."""
    shop = Shop(**{**NAMED, "namespaces": (), "namespace_label": "foresail.dev/act=yes"})
    refused = await shop.replicate(4)
    assert (refused.phase, refused.reason) == (ExecutionPhase.REFUSED, Reason.NAMESPACE_NOT_NAMED)
    shop.patch(f"{NAMESPACES}/shop", {"metadata": {"labels": {"foresail.dev/act": "yes"}}})
    assert (await shop.replicate(4)).succeeded
    assert shop.ask("GET", DEPLOYMENT)["spec"]["replicas"] == 4


async def test_a_plan_that_no_guard_refused_stops_at_the_fence(monkeypatch: Any) -> None:
    """With every guard asleep, a write to another namespace is refused in so many words."""
    shop = Shop(**{**NAMED, "namespaces": ("pay",)})
    monkeypatch.setattr(guard_discovery, "registered_guards", tuple)
    ended = await shop.replicate(4)
    assert (ended.phase, ended.succeeded, ended.reason) == (
        ExecutionPhase.FINISHED, False, Reason.OUT_OF_SCOPE,
    )  # fmt: skip
    assert shop.ask("GET", DEPLOYMENT)["spec"]["replicas"] == 3


@pytest.mark.parametrize("kind", [kind for kind in ActionKind if kind is not ActionKind.NOOP])
async def test_no_kind_of_action_writes_in_shadow_mode_without_a_dry_run(
    kind: ActionKind, monkeypatch: Any
) -> None:
    """Each kind is planned with every guard asleep; whatever reaches the server is a dry run."""
    shop = Shop()
    shop.plant.mode = Mode.SHADOW
    server = Counting(shop)
    dry: list[bool] = []
    plain = server.request

    async def note(method: Any, path: str, query: Any = None, body: Any = None, *rest: Any) -> Any:
        if method != "GET" and "reviews" not in path:
            options = body.get("dryRun") if isinstance(body, dict) else None
            dry.append((query or {}).get("dryRun") == "All" or options == ["All"])
        return await plain(method, path, query, body, *rest)

    monkeypatch.setattr(server, "request", note)
    shop.plant.transport = server
    shop.plant.restart()
    monkeypatch.setattr(guard_discovery, "registered_guards", tuple)
    shop.plant.see(1)
    target = "" if kind is ActionKind.ADMISSION else shop.plant.node
    shop.plant.decide(make_action(kind=kind, target=target), 1)
    await shop.plant.act()
    assert all(dry)
