"""What deleting promises: finalizers, grace, dependents, collections and budgets."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.patience import HANGS_SECONDS
from twin.tests.contract.faces import MERGE, Place, config_map, deployment, pod


def _until(place: Place, condition: Callable[[], bool]) -> None:
    """Ask until something holds; the embedded cluster's time passes meanwhile."""
    deadline = time.monotonic() + HANGS_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def _is_gone(place: Place, resource: str, name: str) -> bool:
    return place.ask("GET", resource, name).status == 404


def _owned_object(name: str, owner: dict[str, Any]) -> dict[str, Any]:
    body = config_map(name)
    metadata = owner["metadata"]
    body["metadata"]["ownerReferences"] = [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": metadata["name"],
            "uid": metadata["uid"],
            "blockOwnerDeletion": True,
        }
    ]
    return body


def test_a_deletion_says_what_it_did(place: Place) -> None:
    """The answer is a Success with the object's name, kind and uid; afterwards there is none."""
    made = place.make("configmaps", config_map("a"))
    response = place.ask("DELETE", "configmaps", "a")
    assert (response.status, response.body["kind"], response.body["status"]) == (
        200,
        "Status",
        "Success",
    )
    details = {"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]}
    assert response.body["details"] == details
    again = place.ask("DELETE", "configmaps", "a")
    assert (again.status, again.reason) == (404, "NotFound")


def test_finalizers_hold_an_object(place: Place) -> None:
    """With a finalizer a deletion marks; the object goes when the last one is taken away."""
    body = config_map("a")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    place.make("configmaps", body)
    marked = place.ask("DELETE", "configmaps", "a")
    assert marked.status == 200
    assert marked.body["metadata"]["deletionTimestamp"]
    assert place.ask("GET", "configmaps", "a").body["metadata"]["finalizers"]
    added = {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}
    refused = place.ask("PATCH", "configmaps", "a", body=added, content_type=MERGE)
    assert refused.status == 422
    again = place.ask("DELETE", "configmaps", "a")
    assert (
        again.body["metadata"]["deletionTimestamp"]
        == (marked.body["metadata"]["deletionTimestamp"])
    )
    released = {"metadata": {"finalizers": None}}
    since = place.version()
    assert place.ask("PATCH", "configmaps", "a", body=released, content_type=MERGE).status == 200
    assert _is_gone(place, "configmaps", "a")
    assert place.watch_changes("configmaps", since)[-1] == ("DELETED", "a")


def test_a_collection_is_deleted_by_selection(place: Place) -> None:
    """deletecollection removes what is selected and leaves the rest."""
    for name, mine in (("a", "yes"), ("b", "no"), ("c", "yes")):
        place.make("configmaps", config_map(name, {"mine": mine}))
    response = place.ask("DELETE", "configmaps", query={"labelSelector": "mine=yes"})
    assert response.status == 200
    left = [name for name in place.names("configmaps") if name != "kube-root-ca.crt"]
    assert left == ["b"]


def test_a_pod_has_grace(place: Place) -> None:
    """A pod on a node is marked with its grace first; grace 0 takes it away at once."""
    place.make("pods", pod("p", nodeName="nowhere"))
    marked = place.ask("DELETE", "pods", "p", body={"gracePeriodSeconds": 17})
    assert marked.status == 200
    assert marked.body["metadata"]["deletionGracePeriodSeconds"] == 17
    assert marked.body["metadata"]["deletionTimestamp"]
    shorter = place.ask("DELETE", "pods", "p", body={"gracePeriodSeconds": 5})
    assert shorter.body["metadata"]["deletionGracePeriodSeconds"] == 5
    longer = place.ask("DELETE", "pods", "p", body={"gracePeriodSeconds": 50})
    assert longer.body["metadata"]["deletionGracePeriodSeconds"] == 5
    assert place.ask("DELETE", "pods", "p", query={"gracePeriodSeconds": "0"}).status == 200
    assert _is_gone(place, "pods", "p")


def test_a_pod_without_a_node_goes_at_once(place: Place) -> None:
    """There is nobody to wait for when a pod never had a node."""
    place.make("pods", pod("p", nodeSelector={"no": "such-node"}))
    assert place.ask("DELETE", "pods", "p").body["kind"] == "Pod"
    assert _is_gone(place, "pods", "p")


@pytest.mark.parametrize(
    ("policy", "body"),
    [
        ("nonsense", {"propagationPolicy": "nonsense"}),
        ("both", {"propagationPolicy": "Background", "orphanDependents": True}),
        ("grace", {"gracePeriodSeconds": -1}),
    ],
)
def test_options_that_do_not_fit(place: Place, policy: str, body: dict[str, Any]) -> None:
    """Delete options outside the API's words are 422 and nothing is deleted."""
    place.make("configmaps", config_map("a"))
    response = place.ask("DELETE", "configmaps", "a", body=body)
    expected = {200} if policy == "grace" else {422}
    assert response.status in expected | {422}, response.text
    if response.status == 422:
        assert place.ask("GET", "configmaps", "a").status == 200


def test_background_deletion_collects_dependents(collected_place: Place) -> None:
    """By default the owner goes first and its dependents follow."""
    owner = collected_place.make("configmaps", config_map("owner"))
    collected_place.make("configmaps", _owned_object("child", owner))
    assert collected_place.ask("DELETE", "configmaps", "owner").status == 200
    assert _is_gone(collected_place, "configmaps", "owner")
    _until(collected_place, lambda: _is_gone(collected_place, "configmaps", "child"))


def test_foreground_deletion_waits_for_dependents(collected_place: Place) -> None:
    """In the foreground the owner stays, marked, until its dependents are gone."""
    owner = collected_place.make("configmaps", config_map("owner"))
    child = _owned_object("child", owner)
    child["metadata"]["finalizers"] = ["example.com/hold"]
    collected_place.make("configmaps", child)
    query = {"propagationPolicy": "Foreground"}
    marked = collected_place.ask("DELETE", "configmaps", "owner", query=query)
    assert marked.body["metadata"]["finalizers"] == ["foregroundDeletion"]
    _until(
        collected_place,
        lambda: (
            "deletionTimestamp"
            in collected_place.ask("GET", "configmaps", "child").body["metadata"]
        ),
    )
    assert not _is_gone(collected_place, "configmaps", "owner")
    released = {"metadata": {"finalizers": None}}
    collected_place.ask("PATCH", "configmaps", "child", body=released, content_type=MERGE)
    _until(collected_place, lambda: _is_gone(collected_place, "configmaps", "owner"))


def test_orphans_stay(collected_place: Place) -> None:
    """With Orphan the dependents stay and forget their owner."""
    owner = collected_place.make("configmaps", config_map("owner"))
    collected_place.make("configmaps", _owned_object("child", owner))
    query = {"propagationPolicy": "Orphan"}
    assert collected_place.ask("DELETE", "configmaps", "owner", query=query).status == 200
    _until(collected_place, lambda: _is_gone(collected_place, "configmaps", "owner"))
    child = collected_place.ask("GET", "configmaps", "child").body
    assert not child["metadata"].get("ownerReferences")


def test_a_deleted_namespace_takes_its_content_along(collected_place: Place) -> None:
    """A namespace is Terminating, takes nothing new, and goes when it is empty."""
    body = config_map("a")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    collected_place.make("configmaps", body)
    path = f"/api/v1/namespaces/{collected_place.namespace}"
    marked = collected_place.face.ask("DELETE", path)
    assert marked.status == 200
    assert marked.body["status"]["phase"] == "Terminating"
    refused = collected_place.ask("POST", "configmaps", body=config_map("b"))
    assert (refused.status, refused.reason) == (403, "Forbidden")
    _until(
        collected_place,
        lambda: (
            "deletionTimestamp" in collected_place.ask("GET", "configmaps", "a").body["metadata"]
        ),
    )
    released = {"metadata": {"finalizers": None}}
    collected_place.ask("PATCH", "configmaps", "a", body=released, content_type=MERGE)
    _until(collected_place, lambda: collected_place.face.ask("GET", path).status == 404)


def _budget(name: str, labels: dict[str, str], **spec: Any) -> dict[str, Any]:
    whole = {"selector": {"matchLabels": labels}, **spec}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": whole,
    }


def _evict(place: Place, name: str, **more: Any) -> Any:
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": place.namespace},
        **more,
    }
    return place.ask("POST", "pods", name, subresource="eviction", body=body)


def _run(place: Place, name: str, labels: dict[str, str]) -> None:
    """Have a pod that is ready: by the kubelet, or by writing what one would write."""
    if place.face.simulated:
        place.make("pods", pod(name, labels))
        _until(place, lambda: _ready(place, name))
        return
    place.make("pods", pod(name, labels, nodeName="nowhere"))
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    status = {"status": {"phase": "Running", "conditions": [condition]}}
    response = place.ask(
        "PATCH", "pods", name, subresource="status", body=status, content_type=MERGE
    )
    assert response.status == 200, response.text


def _ready(place: Place, name: str) -> bool:
    status = place.ask("GET", "pods", name).body["status"]
    conditions = {
        condition["type"]: condition["status"] for condition in status.get("conditions", [])
    }
    return conditions.get("Ready") == "True"


def _settle(place: Place, name: str, allowed: int) -> None:
    """Have a budget that allows so much: by its controller, or by writing what it would write."""
    if place.face.simulated:
        _until(
            place,
            lambda: (
                place.ask("GET", "poddisruptionbudgets", name)
                .body["status"]
                .get("disruptionsAllowed")
                == allowed
            ),
        )
        return
    status = {
        "observedGeneration": 1,
        "disruptionsAllowed": allowed,
        "currentHealthy": 2,
        "desiredHealthy": 2 - allowed,
        "expectedPods": 2,
    }
    response = place.ask(
        "PATCH",
        "poddisruptionbudgets",
        name,
        subresource="status",
        body={"status": status},
        content_type=MERGE,
    )
    assert response.status == 200, response.text


def test_a_budget_refuses_evictions(place: Place) -> None:
    """An eviction beyond the budget is 429 with its cause, and the pod stays."""
    for name in ("p", "q"):
        _run(place, name, {"app": "x"})
    place.make("poddisruptionbudgets", _budget("b", {"app": "x"}, minAvailable=2))
    _settle(place, "b", 0)
    refused = _evict(place, "p")
    assert (refused.status, refused.reason) == (429, "TooManyRequests")
    assert "retry-after" not in refused.headers  # who asked decides when to try again
    assert "retryAfterSeconds" not in refused.body["details"]
    assert refused.body["message"] == (
        "Cannot evict pod as it would violate the pod's disruption budget."
    )
    (cause,) = refused.body["details"]["causes"]
    assert cause["reason"] == "DisruptionBudget"
    assert cause["message"] == "The disruption budget b needs 2 healthy pods and has 2 currently"
    assert "deletionTimestamp" not in place.ask("GET", "pods", "p").body["metadata"]


def test_a_budget_allows_as_much_as_it_says(place: Place) -> None:
    """An eviction within the budget succeeds once; the next has to wait."""
    for name in ("p", "q"):
        _run(place, name, {"app": "x"})
    place.make("poddisruptionbudgets", _budget("b", {"app": "x"}, minAvailable=1))
    _settle(place, "b", 1)
    rehearsed = _evict(place, "p", deleteOptions={"dryRun": ["All"]})
    assert rehearsed.status == 201
    assert "deletionTimestamp" not in place.ask("GET", "pods", "p").body["metadata"]
    done = _evict(place, "p")
    assert (done.status, done.body["status"]) == (201, "Success")
    assert _evict(place, "q").status == 429


def test_an_eviction_is_meant_for_one_pod(place: Place) -> None:
    """An eviction that names another uid is 409 and the pod stays."""
    _run(place, "p", {"app": "x"})
    wrong = {"preconditions": {"uid": "00000000-0000-4000-8000-000000000000"}}
    refused = _evict(place, "p", deleteOptions=wrong)
    assert (refused.status, refused.reason) == (409, "Conflict")
    assert "deletionTimestamp" not in place.ask("GET", "pods", "p").body["metadata"]


def test_an_eviction_of_nobody(place: Place) -> None:
    """An eviction of a pod that is not there is 404."""
    response = _evict(place, "nobody")
    assert (response.status, response.reason) == (404, "NotFound")


def test_drain_waits_until_the_budget_lets_it(simulated_place: Place) -> None:
    """What drain does: it tries again after each 429 until replacements are ready."""
    place = simulated_place
    place.make("deployments", deployment("web", 2))
    place.make("poddisruptionbudgets", _budget("b", {"app": "web"}, minAvailable=1))

    def ready() -> list[str]:
        query = {"labelSelector": "app=web"}
        return [name for name in place.names("pods", **query) if _ready(place, name)]

    _until(place, lambda: len(ready()) == 2)
    todo, refusals = ready(), 0
    deadline = time.monotonic() + 4 * HANGS_SECONDS
    while todo:
        assert time.monotonic() < deadline
        response = _evict(place, todo[0])
        assert response.status in {201, 404, 429}, response.text
        if response.status == 429:
            refusals += 1
            time.sleep(0.2)
        else:
            todo.pop(0)
    assert refusals > 0


def _marks(obj: dict[str, Any]) -> tuple[int, bool, int | None]:
    """Return (generation, whether it is marked as deleted, its grace)."""
    head = obj["metadata"]
    return head["generation"], "deletionTimestamp" in head, head.get("deletionGracePeriodSeconds")


@pytest.mark.parametrize(
    ("spec", "graces", "seen"),
    [
        ({"schedulerName": "nobody"}, [None], [(1, False, None), (2, True, 0), (2, True, 0)]),
        ({"nodeName": "nowhere"}, ["0"], [(1, False, None), (2, True, 0), (2, True, 0)]),
        ({"nodeName": "nowhere"}, [None, "0"],
         [(1, False, None), (2, True, 30), (2, True, 0), (2, True, 0)]),
        ({"nodeName": "nowhere"}, ["20", "40", "5", "0"],
         [(1, False, None), (2, True, 20), (2, True, 5), (2, True, 0), (2, True, 0)]),
        ({"nodeName": "nowhere", "terminationGracePeriodSeconds": 0}, [None],
         [(1, False, None), (2, True, 0), (2, True, 0)]),
    ],
)  # fmt: skip
def test_watchers_see_how_a_pod_goes(
    place: Place, spec: dict[str, Any], graces: list[str | None], seen: list[tuple[int, bool, int]]
) -> None:
    """Marked first, then gone: the last event is the whole pod as it was, with a version of its own."""
    since = place.version()
    place.make("pods", pod("p", **spec))
    for grace in graces:
        query = {} if grace is None else {"gracePeriodSeconds": grace}
        answer = place.ask("DELETE", "pods", "p", query=query)
        assert answer.status == 200
    assert _marks(answer.body) == seen[-1]
    events = place.face.events(place.path("pods"), {"resourceVersion": since})
    assert [event["type"] for event in events] == [
        "ADDED",
        *["MODIFIED"] * (len(seen) - 2),
        "DELETED",
    ]
    assert [_marks(event["object"]) for event in events] == seen
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))
    assert versions[-1] == int(answer.version)
    assert events[-1]["object"]["spec"]["containers"]
