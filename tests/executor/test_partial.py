"""A plan of several writes that stops in the middle: what was written stays known, the rest is named."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from schemas.actions import ActionKind
from schemas.control import Command
from schemas.outcome import ExecutionPhase, OutcomeExecution
from schemas.reasons import Reason
from services.cluster import JSON, ApiResponse, ClusterRefused, ClusterUnavailable, Json, Method
from services.executor.ledger.handler import evolve
from services.rights.reviews import REVIEWS
from tests.builders import cycle_time, make_action, make_control, stamp_event
from tests.executor.api_server import ApiServer
from tests.executor.plant import Plant, on

NODE = "/api/v1/nodes/n1"
PODS = "/api/v1/namespaces/shop/pods"
LARGE, SMALL = f"{PODS}/large", f"{PODS}/small"
BUDGET = ClusterRefused(
    429,
    "TooManyRequests",
    "it would violate the pod's disruption budget",
    causes=("DisruptionBudget",),
)
FORBIDDEN = ClusterRefused(403, "Forbidden", "pods/eviction is forbidden")
MIGRATE = make_action(kind=ActionKind.MIGRATE, target="n1")


def pod(server: ApiServer, name: str, cores: int) -> None:
    """Add a running pod of a ReplicaSet to the node."""
    server.add(
        f"{PODS}/{name}",
        uid=name,
        metadata={
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "db", "controller": True}
            ]
        },
        spec={
            "nodeName": "n1",
            "containers": [{"resources": {"requests": {"cpu": str(cores)}}}],
        },
        status={"phase": "Running"},
    )


def cluster(server: ApiServer | None = None) -> ApiServer:
    """Return a node with a large and a small pod; migrating takes a taint and two evictions."""
    made = server or ApiServer()
    made.now = cycle_time(1)
    made.add(
        NODE, spec={"taints": []}, status={"conditions": [{"type": "Ready", "status": "True"}]}
    )
    pod(made, "large", 4)
    pod(made, "small", 1)
    return made


async def drain_node(server: ApiServer) -> tuple[Plant, OutcomeExecution]:
    """Decide to migrate; return the plant and how the execution ended."""
    plant = on(server)
    plant.see(1)
    plant.decide(MIGRATE, 1)
    await plant.act()
    return plant, plant.executions()[-1]


def outcomes(ended: OutcomeExecution) -> list[tuple[str, Reason | None]]:
    """Return what became of each operation."""
    return [(result.status, result.reason) for result in ended.results]


async def test_a_drain_evicts_what_it_planned() -> None:
    """With nothing in the way all three operations are applied."""
    server = cluster()

    _, ended = await drain_node(server)

    assert outcomes(ended) == [("applied", None)] * 3
    assert (ended.succeeded, ended.reason) == (True, None)
    assert LARGE not in server.objects
    assert SMALL not in server.objects


async def test_a_pod_that_a_budget_holds_leaves_room_for_the_next() -> None:
    """The disruption budget protects the first pod: the second is tried, and the execution says that not all of it
    was done, and why.
    """
    server = cluster()
    server.fail("POST", f"{LARGE}/eviction", BUDGET)

    plant, ended = await drain_node(server)

    assert outcomes(ended) == [("applied", None), ("refused", Reason.PDB), ("applied", None)]
    assert ended.results[1].http_status == 429
    assert (ended.phase, ended.succeeded) == (ExecutionPhase.FINISHED, False)
    assert ended.reason is Reason.PDB
    assert ended.text.endswith("it would violate the pod's disruption budget")
    assert [write.path for write in server.writes()] == [
        NODE,
        f"{LARGE}/eviction",
        f"{SMALL}/eviction",
    ]
    assert SMALL not in server.objects
    (kept,) = plant.state.executions
    assert (kept.succeeded, len(kept.operations)) == (False, 3)


async def test_the_last_operation_can_fail_alone() -> None:
    """What came before it is applied, nothing is skipped, and the whole still failed."""
    server = cluster()
    server.fail("POST", f"{SMALL}/eviction", BUDGET)

    _, ended = await drain_node(server)

    assert outcomes(ended) == [("applied", None), ("applied", None), ("refused", Reason.PDB)]
    assert (ended.succeeded, ended.reason) == (False, Reason.PDB)
    assert LARGE not in server.objects


async def test_an_api_server_that_goes_away_ends_the_plan() -> None:
    """Its first silence is a failure; nothing more is sent to it."""
    server = cluster()
    server.fail("PATCH", NODE, ClusterUnavailable("no answer"))

    _, ended = await drain_node(server)

    gone = Reason.API_UNREACHABLE
    assert outcomes(ended) == [("failed", gone), ("refused", gone), ("refused", gone)]
    assert (ended.succeeded, ended.reason) == (False, gone)
    assert len(server.writes()) == 1


async def test_a_pod_that_went_by_itself_is_no_failure() -> None:
    """It was listed with the plan and is gone when it is evicted: that is where it was wanted."""

    class Vanishing(ApiServer):
        def _removed(
            self, path: str, preconditions: Mapping[str, str], *, dry: bool
        ) -> ApiResponse:
            self.objects.pop(LARGE, None)
            return super()._removed(path, preconditions, dry=dry)

    _, ended = await drain_node(cluster(Vanishing()))

    assert outcomes(ended) == [("applied", None), ("unchanged", None), ("applied", None)]
    assert ended.succeeded


async def test_a_kill_between_two_operations_stops_the_rest() -> None:
    """The log is asked before every single write."""

    class Killing(ApiServer):
        async def request(
            self,
            method: Method,
            path: str,
            query: Mapping[str, str] | None = None,
            body: Json | None = None,
            content_type: str = JSON,
        ) -> ApiResponse:
            """Answer; the operator presses the switch with the first write."""
            if method == "PATCH":
                plant.control = make_control(Command.KILL)
            return await super().request(method, path, query, body, content_type)

    plant = on(cluster(Killing()))
    plant.see(1)
    plant.decide(MIGRATE, 1)
    await plant.act()

    ended = plant.executions()[-1]
    killed = ("refused", Reason.KILL_SWITCH)
    assert outcomes(ended) == [("applied", None), killed, killed]
    assert (ended.succeeded, ended.reason) == (False, Reason.KILL_SWITCH)


async def test_a_failed_drain_counts_and_its_node_rests() -> None:
    """The next decision about that node waits longer than after a success."""
    server = cluster()
    server.fail("POST", f"{LARGE}/eviction", BUDGET)
    plant, _ = await drain_node(server)
    server.now += 150.0

    plant.see(2)
    plant.decide(make_action(kind=ActionKind.DVFS, target="n1", clock_scale_ratio=0.6), 2)
    await plant.act()

    refused = plant.executions()[-1]
    assert refused.reason is Reason.COOL_DOWN_AFTER_FAILURE
    measured = {guard.guard: guard.measured for guard in refused.guards}
    assert (measured["cap_per_node"], measured["cool_down_after_failure"]) == (1, 150.0)


async def test_what_a_failed_drain_wrote_can_be_taken_back() -> None:
    """The operator's undo removes the taint; pods that stayed are left alone."""
    server = cluster()
    server.fail("POST", f"{LARGE}/eviction", BUDGET)
    plant, _ = await drain_node(server)
    assert server.objects[NODE]["spec"]["taints"]

    plant.state = evolve(plant.state, stamp_event(make_control(Command.UNDO, value="1"), cycle=0))
    await plant.act()

    started, ended = plant.executions()[-2:]
    assert [(operation.verb, operation.resource) for operation in started.operations] == [
        ("taint", "nodes")
    ]
    assert ended.succeeded
    assert server.objects[NODE]["spec"]["taints"] == []
    assert [write.path for write in server.writes()][3:] == [NODE]


async def test_an_eviction_is_tried_before_the_plan_is_stored() -> None:
    """Where namespaces are named, the API server is asked by a dry run; whom it would not let go is planned around."""
    server = cluster()
    server.add("/api/v1/namespaces/shop")
    server.fail("POST", f"{LARGE}/eviction", BUDGET)
    plant = on(server, namespaces=("shop",), settle_seconds=0.0, pods_per_migration=1)
    plant.see(1)
    plant.decide(MIGRATE, 1)
    await plant.act()

    ended = plant.executions()[-1]
    assert ended.succeeded, ended.text
    assert [operation.name for operation in ended.operations] == ["small"]
    tried = [(one.path, one.query.get("dryRun", "")) for one in server.writes()]
    assert tried == [
        (f"{LARGE}/eviction", "All"),
        (f"{SMALL}/eviction", "All"),
        (f"{SMALL}/eviction", ""),
    ]


async def test_a_plan_of_which_a_part_was_done_is_taken_back() -> None:
    """The first eviction is refused for good: the taint, which is there already, goes again by itself, and what was
    not tried is named.
    """
    server = cluster()
    server.fail("POST", f"{LARGE}/eviction", FORBIDDEN)

    plant, _ = await drain_node(server)

    ended, started, back = plant.executions()[-3:]
    assert outcomes(ended) == [
        ("applied", None),
        ("refused", Reason.FORBIDDEN),
        ("refused", Reason.FORBIDDEN),
    ]
    assert ended.results[2].message == "an earlier operation did not go through"
    assert ended.reason is Reason.FORBIDDEN
    assert ended.text.endswith("pods/eviction is forbidden")
    assert started.text == "take back migrate: only a part of it was done"
    assert back.succeeded
    assert server.objects[NODE]["spec"]["taints"] == []
    assert SMALL in server.objects


async def test_a_failed_drain_is_not_verified() -> None:
    """There is no end to look for."""
    server = cluster()
    server.fail("POST", f"{LARGE}/eviction", BUDGET)
    plant, _ = await drain_node(server)

    plant.see(9)
    await plant.act()

    assert plant.verifications() == []


async def test_a_crash_in_the_middle_is_gone_through_again_from_the_stored_plan() -> None:
    """What was written stays as it is, what was not is written, and the whole ends once."""
    server = cluster()
    server.fail("POST", f"{SMALL}/eviction", asyncio.CancelledError())  # type: ignore[arg-type]
    plant = on(server)
    plant.see(1)
    plant.decide(MIGRATE, 1)
    with pytest.raises(asyncio.CancelledError):
        await plant.executor.act(plant.state)
    pod(server, "new", 9)  # came meanwhile; no part of the plan
    plant.apply_new_events()
    plant.restart()
    await plant.act()

    phases = [execution.phase for execution in plant.executions()]
    assert phases == [ExecutionPhase.STARTED, ExecutionPhase.FINISHED]
    ended = plant.executions()[-1]
    assert [result.status for result in ended.results] == ["unchanged", "unchanged", "applied"]
    assert ended.succeeded
    assert list(server.objects) == [NODE, f"{PODS}/new"]


@dataclass
class Watched(ApiServer):
    """Notes how many events the log held when each write came."""

    def __post_init__(self) -> None:
        """Begin with nothing noted."""
        self.held: list[int] = []
        self.plant: Any = None

    async def request(
        self,
        method: Method,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = JSON,
    ) -> ApiResponse:
        """Answer, after a look at the log."""
        if method != "GET" and path != REVIEWS:
            self.held.append(len(self.plant.all_events()))
        return await super().request(method, path, query, body, content_type)


async def test_the_whole_plan_is_stored_before_its_first_write() -> None:
    """Whoever reads the log after a crash knows everything that may have been written."""
    server = Watched()
    cluster(server)
    server.plant = on(server)
    server.plant.see(1)
    server.plant.decide(MIGRATE, 1)
    await server.plant.act()

    started = server.plant.executions()[0]
    assert (started.phase, len(started.operations)) == (ExecutionPhase.STARTED, 3)
    assert server.held == [1, 1, 1]
