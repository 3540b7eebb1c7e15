"""Single taints of a node: ours come and go, whatever else is written into the same list."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.outcome import Operation, Verb
from schemas.reasons import Reason
from services.cluster import ClusterRefused
from services.executor.plans.taints import shows_taints, taint_patch
from services.executor.writing.operations import apply_operation
from tests.executor.api_server import ApiServer
from twin.api.json_patch import apply_json_patch

NODE = "/api/v1/nodes/n1"
OURS = {"key": "foresail.dev/risk", "value": "true", "effect": "PreferNoSchedule"}
CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
ADD = json.dumps({"add": [OURS], "remove": []})
REMOVE = json.dumps({"add": [], "remove": [OURS]})
OPERATION = Operation(
    verb=Verb.TAINT,
    resource="nodes",
    name="n1",
    uid="u",
    patch=ADD,
    undo=REMOVE,
    text="prefer other nodes",
)
OTHERS = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(["team", "gpu", "foresail.dev/risk", CORDONED["key"]]),
            "effect": st.sampled_from(["NoSchedule", "NoExecute"]),
        },
        optional={"value": st.sampled_from(["a", "true"])},
    ),
    max_size=5,
    unique_by=lambda taint: (taint["key"], taint["effect"]),
)


async def apply(server: ApiServer, operation: Operation = OPERATION) -> Any:
    """Apply an operation that no guard refuses."""

    async def no_guard() -> None:
        return None

    return await apply_operation(server, operation, dry_run=False, check_guards=no_guard)


def taints(server: ApiServer) -> Any:
    """Return the node's taints."""
    return server.objects[NODE]["spec"].get("taints", [])


@given(before=OTHERS, later=OTHERS, place=st.integers(min_value=0, max_value=5))
def test_what_others_write_stays_as_it_is(
    before: list[dict[str, str]], later: list[dict[str, str]], place: int
) -> None:
    """Ours is added to any list, found at any place of another one, and taken away from there."""
    meta = {"uid": "u", "resourceVersion": "1"}
    node = {"metadata": meta, "spec": {"taints": before} if before else {}}
    tainted = apply_json_patch(node, taint_patch(node, ADD))
    assert tainted["spec"]["taints"] == [*before, OURS]
    assert shows_taints(tainted, ADD)
    assert taint_patch(tainted, ADD) == []

    changed = {"metadata": meta, "spec": {"taints": [*later[:place], OURS, *later[place:]]}}
    assert shows_taints(changed, ADD)
    freed = apply_json_patch(changed, taint_patch(changed, REMOVE))
    assert freed["spec"]["taints"] == later
    assert shows_taints(freed, REMOVE)


def test_another_value_of_our_taint_is_replaced() -> None:
    """Key and effect are the identity, so the API server would refuse a second one."""
    other = {**OURS, "value": "false"}
    node = {"metadata": {"uid": "u", "resourceVersion": "1"}, "spec": {"taints": [other, CORDONED]}}
    assert not shows_taints(node, ADD)
    assert apply_json_patch(node, taint_patch(node, ADD))["spec"]["taints"] == [CORDONED, OURS]


@pytest.mark.parametrize("status", [409, 422])
async def test_a_node_that_was_written_meanwhile_is_read_again(status: int) -> None:
    """A test of the version that fails is 422 for a JSON Patch, 409 where two writes race in the server."""
    server = ApiServer()
    server.add(NODE, spec={"taints": [CORDONED]})
    server.fail("PATCH", NODE, *[ClusterRefused(status, "Conflict", "written meanwhile")] * 2)

    assert (await apply(server)).status == "applied"
    assert taints(server) == [CORDONED, OURS]
    assert len(server.writes()) == 3


async def test_a_node_that_never_rests_is_given_up() -> None:
    """Three attempts, then another look, and three more; the answer is a conflict."""
    server = ApiServer()
    server.add(NODE, spec={})
    server.fail("PATCH", NODE, *[ClusterRefused(409, "Conflict", "written meanwhile")] * 9)

    result = await apply(server)
    assert (result.status, result.reason, len(server.writes())) == ("refused", Reason.CONFLICT, 6)


async def test_a_taint_that_is_there_is_not_written() -> None:
    """Doing it twice is doing it once."""
    server = ApiServer()
    server.add(NODE, spec={"taints": [OURS]})

    assert (await apply(server)).status == "unchanged"
    assert server.writes() == []


async def test_another_node_of_the_name_is_left_alone() -> None:
    """A machine that was made anew has another uid."""
    server = ApiServer()
    server.add(NODE, uid="another", spec={})

    result = await apply(server)
    assert (result.status, result.reason) == ("refused", Reason.TARGET_CHANGED)
    assert server.writes() == []
