"""Who protects an object: its owners up the chain, also those of kinds that nobody knows here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from services.cluster import ApiResponse, ClusterRefused, ClusterUnavailable
from services.executor.reading.marked_objects import MarkedMeta, OwnerRef
from services.executor.reading.objects import LONGEST_CHAIN, ObjectReader

MARK = {"karpenter.sh/do-not-disrupt": "true"}
SPACE = "/api/v1/namespaces/shop"
ROLLOUTS = {
    "resources": [
        {"name": "rollouts/status", "kind": "Rollout"},
        {"name": "rollouts", "kind": "Rollout"},
    ]
}


class Scripted:
    """An API that holds what it is given; a number is the status of a refusal."""

    def __init__(self, **objects: Any) -> None:
        """Answer by path."""
        self.objects: dict[str, Any] = {SPACE: meta(), **objects}
        self.asked: list[str] = []

    async def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "",
    ) -> ApiResponse:
        """Answer one request."""
        assert method == "GET"
        self.asked.append(path)
        found = self.objects.get(path, 404)
        if found == 0:
            raise ClusterUnavailable("no answer")
        if isinstance(found, int):
            raise ClusterRefused(found, "Refused", f"{path} refused")
        return ApiResponse(200, json.dumps(found).encode(), 0.0)

    async def close(self) -> None:
        """Nothing is held."""


def meta(*owners: tuple[str, str, str], **annotations: str) -> dict[str, Any]:
    """Return an object with owners (apiVersion, kind, name) and annotations."""
    references = [
        {"apiVersion": version, "kind": kind, "name": name, "controller": True}
        for version, kind, name in owners
    ]
    return {
        "metadata": {"ownerReferences": references, "annotations": annotations, "namespace": "shop"}
    }


def pod(*owners: tuple[str, str, str]) -> MarkedMeta:
    """Return the metadata of a pod in the shop."""
    references = tuple(
        OwnerRef(api_version=v, kind=k, name=n, controller=True) for v, k, n in owners
    )
    return MarkedMeta(name="p", namespace="shop", owner_references=references)


async def marks(api: Scripted, metadata: MarkedMeta) -> list[tuple[str, str]]:
    """Return what protects a pod."""
    return [
        (one.what, one.mark) for one in await ObjectReader(api).protecting_mark("pod p", metadata)
    ]


async def test_nothing_marked_is_nothing_protected() -> None:
    """A plain chain of a ReplicaSet and its Deployment protects nothing."""
    chain = {
        "/apis/apps/v1/namespaces/shop/replicasets/r": meta(("apps/v1", "Deployment", "d")),
        "/apis/apps/v1/namespaces/shop/deployments/d": meta(),
    }
    api = Scripted(**chain)
    assert await marks(api, pod(("apps/v1", "ReplicaSet", "r"))) == []
    assert set(api.asked) == {SPACE, *chain}


@pytest.mark.parametrize(
    ("kind", "resource", "version"),
    [
        ("ReplicaSet", "replicasets", "apps/v1"),
        ("Deployment", "deployments", "apps/v1"),
        ("StatefulSet", "statefulsets", "apps/v1"),
        ("DaemonSet", "daemonsets", "apps/v1"),
        ("Job", "jobs", "batch/v1"),
        ("CronJob", "cronjobs", "batch/v1"),
    ],
)
async def test_each_kind_of_owner_protects(kind: str, resource: str, version: str) -> None:
    """Whatever kind the marked owner is of, it is read where the API keeps it."""
    api = Scripted(**{f"/apis/{version}/namespaces/shop/{resource}/o": meta(**MARK)})
    actual = await marks(api, pod((version, kind, "o")))
    assert actual == [(f"{kind.lower()} o", "karpenter.sh/do-not-disrupt=true")]


async def test_an_owner_of_another_kind_is_found_by_what_the_api_serves() -> None:
    """An Argo Rollout over the ReplicaSet protects its pods as a Deployment would."""
    group = "/apis/argoproj.io/v1alpha1"
    owner = ("argoproj.io/v1alpha1", "Rollout", "web")
    api = Scripted(
        **{
            "/apis/apps/v1/namespaces/shop/replicasets/r": meta(owner),
            group: ROLLOUTS,
            f"{group}/namespaces/shop/rollouts/web": meta(**MARK),
        }
    )
    actual = await marks(api, pod(("apps/v1", "ReplicaSet", "r")))
    assert actual == [("rollout web", "karpenter.sh/do-not-disrupt=true")]


@pytest.mark.parametrize(
    "objects",
    [
        {},
        {"/apis/argoproj.io/v1alpha1": {"resources": []}},
        {"/apis/argoproj.io/v1alpha1": 403},
        {
            "/apis/argoproj.io/v1alpha1": ROLLOUTS,
            "/apis/argoproj.io/v1alpha1/namespaces/shop/rollouts/web": 403,
        },
    ],
    ids=["no group", "no kind", "no discovery", "no right"],
)
async def test_an_owner_that_cannot_be_read_protects(objects: dict[str, Any]) -> None:
    """Nobody can know what it asks for, so its pods stay."""
    owner = ("argoproj.io/v1alpha1", "Rollout", "web")
    ((what, mark),) = await marks(Scripted(**objects), pod(owner))
    assert what == "rollout web"
    assert mark.startswith("not readable")


async def test_an_owner_that_is_gone_protects_nothing() -> None:
    """Garbage collection is at work there."""
    assert await marks(Scripted(), pod(("apps/v1", "ReplicaSet", "gone"))) == []


async def test_a_chain_without_an_end_protects() -> None:
    """Owners that own one another are followed so far and no farther."""
    path = "/apis/apps/v1/namespaces/shop/replicasets/r"
    api = Scripted(**{path: meta(("apps/v1", "ReplicaSet", "r"))})
    ((_, mark),) = await marks(api, pod(("apps/v1", "ReplicaSet", "r")))
    assert mark == f"more than {LONGEST_CHAIN} owners"
    assert api.asked.count(path) == 1


async def test_an_api_that_does_not_answer_is_no_permission() -> None:
    """Silence is told to whoever asks, not taken for an unmarked owner."""
    api = Scripted(**{"/apis/apps/v1/namespaces/shop/replicasets/r": 0})
    with pytest.raises(ClusterUnavailable):
        await marks(api, pod(("apps/v1", "ReplicaSet", "r")))


async def test_a_namespace_that_may_not_be_read_is_no_permission() -> None:
    """Without its annotations nothing in it can be judged."""
    with pytest.raises(ClusterRefused):
        await marks(Scripted(**{SPACE: 403}), pod())
