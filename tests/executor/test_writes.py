"""One operation at a time: its preconditions, what each answer means, and one more look on a conflict."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from schemas.outcome import Operation, OperationResult, Verb
from schemas.reasons import Reason
from services.cluster import ClusterRefused, ClusterUnavailable
from services.executor.undo.operations import undo_operations
from services.executor.writing.operations import apply_operation
from tests.executor.api_server import ApiServer
from tests.executor.plant import nothing_forbidden

apply = partial(apply_operation, check_guards=nothing_forbidden)

NODE = "/api/v1/nodes/n1"
POD = "/api/v1/namespaces/shop/pods/p1"
WEB = "/apis/apps/v1/namespaces/shop/deployments/web"
CAP = Operation(
    verb=Verb.PATCH,
    resource="nodes",
    name="n1",
    uid="u",
    resource_version="1",
    patch='{"metadata":{"annotations":{"cap":"1"}}}',
    undo='{"metadata":{"annotations":{"cap":null}}}',
    text="cap",
)
EVICT = Operation(
    verb=Verb.EVICT, resource="pods", namespace="shop", name="p1", uid="u", text="evict"
)
DELETE = EVICT.model_copy(update={"verb": Verb.DELETE})
SCALE = Operation(
    verb=Verb.SCALE,
    resource="deployments",
    namespace="shop",
    name="web",
    uid="u",
    resource_version="1",
    replicas=3,
    undo='{"spec":{"replicas":2}}',
    text="scale",
)


def server(**node: Any) -> ApiServer:
    """Return an API server with a node, a pod and a Deployment of two replicas."""
    made = ApiServer()
    made.add(NODE, **node)
    made.add(POD, spec={"nodeName": "n1"})
    made.add(WEB, spec={"replicas": 2})
    return made


def outcome(result: OperationResult) -> tuple[str, Reason | None]:
    """Return what became of an operation."""
    return (result.status, result.reason)


@pytest.mark.parametrize("operation", [CAP, EVICT, DELETE, SCALE], ids=lambda one: one.verb)
async def test_a_write_names_the_object_it_was_planned_for(operation: Operation) -> None:
    """Each verb applies, and is sent once; on another object of that name nothing happens."""
    there, other = server(), server()
    for found in other.objects.values():
        found["metadata"] |= {"uid": "other", "resourceVersion": "8"}
    before = dict(other.objects)

    assert outcome(await apply(there, operation, dry_run=False)) == ("applied", None)
    assert len(there.writes()) == 1
    result = await apply(other, operation, dry_run=False)
    # An eviction of a pod that is gone, though another has its name, has reached its end.
    gone = operation.verb in {Verb.EVICT, Verb.DELETE}
    assert outcome(result) == (("unchanged", None) if gone else ("refused", Reason.TARGET_CHANGED))
    assert other.objects == before


async def test_another_object_of_that_name_has_changed_and_is_not_invalid() -> None:
    """A patch tied to a uid alone is 422 then, as a patch is that the API server finds invalid; only
    the latter keeps that reason.
    """
    by_uid = CAP.model_copy(update={"resource_version": ""})
    other, same = server(), server()
    other.objects[NODE]["metadata"]["uid"] = "other"
    same.fail("PATCH", NODE, ClusterRefused(422, "Invalid", "spec: Forbidden"))

    changed = await apply(other, by_uid, dry_run=False)
    invalid = await apply(same, by_uid, dry_run=False)

    assert outcome(changed) == ("refused", Reason.TARGET_CHANGED)
    assert outcome(invalid) == ("refused", Reason.INVALID)
    assert len(other.writes()) == len(same.writes()) == 1


@pytest.mark.parametrize("operation", [CAP, EVICT, DELETE, SCALE], ids=lambda one: one.verb)
async def test_a_dry_run_says_so_in_every_verb(operation: Operation) -> None:
    """Shadow mode sends the same request with dryRun=All, and nothing changes."""
    dry, real = server(), server()
    before = dict(dry.objects)

    assert outcome(await apply(dry, operation, dry_run=True)) == ("applied", None)
    await apply(real, operation, dry_run=False)

    assert dry.objects == before
    (asked,), (other,) = dry.writes(), real.writes()
    named = {} if operation.verb is Verb.DELETE else {"fieldManager": "foresail"}
    assert (asked.query, other.query) == ({"dryRun": "All", **named}, named)
    in_body = {"dryRun": ["All"]} if operation.verb is Verb.DELETE else {}
    assert (asked.method, asked.path) == (other.method, other.path)
    assert asked.body == {**other.body, **in_body}


async def test_a_dry_run_that_would_change_something_is_no_unchanged_one() -> None:
    """A dry run answers with the version that was planned for: that does not mean `unchanged`."""
    assert (await apply(server(), CAP, dry_run=True)).status == "applied"


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (403, Reason.FORBIDDEN),
        (422, Reason.INVALID),
        (401, Reason.UNAUTHENTICATED),
        (429, Reason.THROTTLED),
        (500, Reason.API_ERROR),
    ],
)
async def test_a_refusal_is_named_and_not_tried_again(status: int, reason: Reason) -> None:
    """What the API server said travels with it."""
    made = server()
    made.fail("POST", f"{POD}/eviction", ClusterRefused(status, "No", "it says no"))

    result = await apply(made, EVICT, dry_run=False)

    assert (outcome(result), result.http_status) == (("refused", reason), status)
    assert result.message == "it says no"
    assert len(made.asked) == 1


async def test_a_disruption_budget_is_told_from_a_busy_server() -> None:
    """Both answer 429; the budget is named among the causes."""
    made = server()
    refusal = ClusterRefused(429, "TooManyRequests", "no", causes=("DisruptionBudget",))
    made.fail("POST", f"{POD}/eviction", refusal)
    assert outcome(await apply(made, EVICT, dry_run=False)) == ("refused", Reason.PDB)


async def test_an_api_server_that_is_away_is_a_failure_not_a_refusal() -> None:
    """Nothing is known about what happened, at the write and at the second look alike."""
    made = server()
    made.fail("PATCH", NODE, ClusterUnavailable("no answer"))
    assert outcome(await apply(made, CAP, dry_run=False)) == ("failed", Reason.API_UNREACHABLE)

    made.fail("PATCH", NODE, ClusterRefused(409, "Conflict", "changed"))
    made.fail("GET", NODE, ClusterUnavailable("no answer"))
    assert outcome(await apply(made, CAP, dry_run=False)) == ("failed", Reason.API_UNREACHABLE)


async def test_what_somebody_else_did_already_is_left_alone() -> None:
    """A conflict on an object that shows the end, or on a pod that is gone, is as good as done."""
    made = server(metadata={"annotations": {"cap": "1"}})
    made.objects[NODE]["metadata"]["resourceVersion"] = "5"
    del made.objects[POD]

    assert outcome(await apply(made, CAP, dry_run=False)) == ("unchanged", None)
    assert outcome(await apply(made, EVICT, dry_run=False)) == ("unchanged", None)
    assert made.objects[NODE]["metadata"]["resourceVersion"] == "5"


async def test_an_object_that_is_gone_is_named_so() -> None:
    """Nothing can be written to a node or a Deployment that is no more."""
    made = ApiServer()

    assert outcome(await apply(made, CAP, dry_run=False)) == ("refused", Reason.TARGET_GONE)
    assert outcome(await apply(made, SCALE, dry_run=False)) == ("refused", Reason.TARGET_GONE)


async def test_an_unrelated_change_does_not_stop_a_write() -> None:
    """A newer version that is still as it was planned for is written, with its own version."""
    made = server()
    made.objects[NODE]["metadata"] |= {"resourceVersion": "5", "labels": {"zone": "b"}}

    assert outcome(await apply(made, CAP, dry_run=False)) == ("applied", None)
    assert made.objects[NODE]["metadata"]["annotations"] == {"cap": "1"}
    assert made.writes()[-1].body["metadata"]["resourceVersion"] == "5"


async def test_a_scale_is_taken_back_past_an_unrelated_change() -> None:
    """The Deployment's controller writes its status right after each scale, which is a new version."""
    made = server()
    made.objects[WEB] |= {"spec": {"replicas": 3}}
    made.objects[WEB]["metadata"]["resourceVersion"] = "5"
    (undo,) = undo_operations([SCALE])

    assert outcome(await apply(made, undo, dry_run=False)) == ("applied", None)
    assert made.objects[WEB]["spec"]["replicas"] == 2


async def test_a_change_of_the_very_thing_stops_a_write() -> None:
    """Somebody else set another value: that is theirs."""
    made = server(metadata={"annotations": {"cap": "9"}})
    made.objects[NODE]["metadata"]["resourceVersion"] = "5"

    assert outcome(await apply(made, CAP, dry_run=False)) == ("refused", Reason.TARGET_CHANGED)
    assert made.objects[NODE]["metadata"]["annotations"] == {"cap": "9"}


async def test_a_second_conflict_is_a_refusal() -> None:
    """One more look is taken, not two."""
    made = server()
    made.objects[NODE]["metadata"]["resourceVersion"] = "5"
    conflict = ClusterRefused(409, "Conflict", "changed")
    made.fail("PATCH", NODE, conflict, conflict)

    assert outcome(await apply(made, CAP, dry_run=False)) == ("refused", Reason.CONFLICT)
    assert len(made.writes()) == 2


async def test_a_conflicting_eviction_is_not_sent_again() -> None:
    """The pod is still there under its uid, so the refusal stands."""
    made = server()
    made.fail("POST", f"{POD}/eviction", ClusterRefused(409, "Conflict", "being evicted"))

    assert outcome(await apply(made, EVICT, dry_run=False)) == ("refused", Reason.CONFLICT)
    assert len(made.writes()) == 1
