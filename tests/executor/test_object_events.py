"""Events on the objects that were changed: what they say, who gets none, and that they hold nothing up."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schemas.actions import ActionKind
from schemas.control import Command
from schemas.outcome import ExecutionPhase, Mode, OperationResult, OutcomeExecution
from services.cluster import ClusterRefused, ClusterUnavailable
from services.executor.ledger.handler import evolve
from services.executor.settings import ExecutorSettings
from services.executor.writing.object_events import BURST, SECONDS_EACH, ObjectEvents, event_body
from services.official_client import OfficialClientTransport
from services.rights.executor import write_rights
from tests.builders import cycle_time, make_control, make_execution, stamp_event
from tests.executor.api_server import ApiServer
from tests.executor.plant import Plant
from tests.executor.test_writes import CAP, SCALE
from tests.real_api_server import ApiServer as RealApiServer
from tests.real_api_server import api_server  # noqa: F401 - a fixture

EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
APPLIED = OperationResult(status="applied")


async def slept(mode: Mode = Mode.ACTIVE, **policy: Any) -> Plant:
    """Return a plant in which a node was put to sleep in cycle 1."""
    plant = Plant(mode, policy=policy)
    plant.see(1)
    plant.decide(plant.sleep(), 1)
    await plant.act()
    assert plant.executions()[-1].succeeded
    return plant


def ours(plant: Plant) -> list[dict[str, Any]]:
    """Return the events that we wrote, as the API shows them."""
    status, answer = plant.twin.request("GET", EVENTS, {}, b"")
    assert status == 200
    items = json.loads(answer)["items"]
    return [one for one in items if one.get("reportingController") == "foresail"]


def finished(cycle: int = 1, **fields: Any) -> OutcomeExecution:
    """Return a plan that changed one node."""
    given = {"operations": (CAP,), "results": (APPLIED,), "decision_id": "decided", **fields}
    return make_execution(cycle=cycle, phase=ExecutionPhase.FINISHED, **given)


async def test_who_did_it_and_why_stands_on_the_object() -> None:
    """Its node tells of the sleep with the decision's id, and of its taking back."""
    plant = await slept(object_events=True)
    (event,) = ours(plant)
    decision = plant.executions()[0].decision_id
    assert event["regarding"]["name"] == plant.node
    assert event["regarding"]["uid"] == plant.shown()["metadata"]["uid"]
    assert (event["reason"], event["action"], event["type"]) == ("Decided", "PowerState", "Normal")
    assert event["metadata"]["annotations"]["foresail.dev/decision"] == decision
    assert decision in event["note"]
    assert "foresail explain 1" in event["note"]

    undo = make_control(Command.UNDO, value="all")
    plant.state = evolve(plant.state, stamp_event(undo, cycle=0))
    await plant.act()
    assert sorted(one["reason"] for one in ours(plant)) == ["Decided", "TakenBack"]


@pytest.mark.parametrize(("mode", "wanted"), [(Mode.SHADOW, True), (Mode.ACTIVE, False)])
async def test_no_event_without_a_write_or_a_wish(mode: Mode, *, wanted: bool) -> None:
    """In shadow mode nothing is written at all, and unless the setting asks nobody tells."""
    assert ours(await slept(mode, object_events=wanted)) == []


class Silent:
    """A structlog logger that nobody reads."""

    def warning(self, *_: Any, **__: Any) -> None:
        """Say nothing."""


@pytest.mark.parametrize(
    "trouble", [ClusterRefused(403, "Forbidden", "no"), ClusterUnavailable("away")]
)
async def test_an_event_that_is_not_taken_holds_nothing_up(trouble: Exception) -> None:
    """No right, or a server that is away: the plan has ended well all the same."""
    server = ApiServer(now=cycle_time(1))
    server.fail("POST", EVENTS, trouble)
    await ObjectEvents(server, Silent()).tell(finished())
    assert [one.path for one in server.writes()] == [EVENTS]


async def test_what_was_not_changed_is_not_told() -> None:
    """Of two operations the refused one says nothing on its object."""
    server = ApiServer(now=cycle_time(1))
    refused = OperationResult(status="refused")
    both = finished(operations=(SCALE, CAP), results=(refused, APPLIED))
    await ObjectEvents(server, Silent()).tell(both)
    assert [one.body["regarding"]["kind"] for one in server.writes()] == ["Node"]


async def test_an_object_gets_no_flood() -> None:
    """25 at once, then one in five minutes; another object has its own."""
    server = ApiServer(now=cycle_time(1))
    events = ObjectEvents(server, Silent())
    for cycle in range(BURST + 10):
        await events.tell(finished(cycle, cluster_time_seconds=1_000.0))
    assert len(server.writes()) == BURST
    await events.tell(finished(100, cluster_time_seconds=1_000.0 + SECONDS_EACH))
    await events.tell(finished(101, cluster_time_seconds=1_000.0 + SECONDS_EACH))
    assert len(server.writes()) == BURST + 1
    await events.tell(finished(102, operations=(SCALE,), cluster_time_seconds=1_000.0))
    assert len(server.writes()) == BURST + 2


def test_the_same_write_has_one_event() -> None:
    """Told twice it has the same name, and taking back has another."""
    first = event_body(CAP, finished())
    assert event_body(CAP, finished())["metadata"]["name"] == first["metadata"]["name"]
    back = event_body(CAP, finished(rollback_of="e"))
    assert back["metadata"]["name"] != first["metadata"]["name"]
    long = CAP.model_copy(update={"name": "n" * 253, "text": "é" * 2_000})
    body = event_body(long, finished())
    assert len(body["metadata"]["name"]) <= 253
    assert len(body["note"].encode()) <= 1_024


def test_the_right_is_asked_for_with_the_setting_alone() -> None:
    """`foresail rbac --object-events` prints it, in the named namespaces and, for nodes, everywhere."""
    kinds = [ActionKind.REPLICATE, ActionKind.MIGRATE]
    places = {
        (told, label): [
            right.place.value
            for right in write_rights(
                kinds, ExecutorSettings(object_events=told, writable_nodes=label)
            )
            if right.resource == "events"
        ]
        for told, label in ((False, "a=b"), (True, ""), (True, "a=b"))
    }
    assert places[False, "a=b"] == []
    assert places[True, "a=b"] == ["named", "nodes"]
    assert places[True, ""] == ["named"]
    assert write_rights([], ExecutorSettings(object_events=True)) == ()


@pytest.mark.slow
async def test_a_real_api_server_takes_them(api_server: RealApiServer) -> None:  # noqa: F811
    """Of a node and of a Deployment, each once: the second time it is there already."""
    transport = OfficialClientTransport(api_server.kubeconfig)
    try:
        for operation in (CAP, SCALE.model_copy(update={"namespace": "default"})):
            body = event_body(operation, finished(cluster_time_seconds=1_767_225_600.25))
            answer = await transport.request("POST", EVENTS, {"fieldManager": "foresail"}, body)
            shown = json.loads(answer.body)
            assert shown["regarding"]["kind"] == body["regarding"]["kind"]
            with pytest.raises(ClusterRefused) as again:
                await transport.request("POST", EVENTS, {"fieldManager": "foresail"}, body)
            assert again.value.status == 409
    finally:
        await transport.close()
