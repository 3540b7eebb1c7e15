"""replicate on a workload, in the embedded cluster: up, and back to what the owner asked for."""

from __future__ import annotations

import pytest

from bus.memory_adapter import MemoryLog
from proofs.simulation.log_monitor import LogMonitor
from schemas.actions import ActionKind
from schemas.control import Command
from schemas.outcome import ExecutionPhase, Mode, Verb
from schemas.reasons import Reason
from services.executor.ledger import Execution, Ledger
from services.executor.ledger.handler import evolve
from services.executor.settings import Caps, ExecutorSettings
from services.executor.verification.harm import AffectedPods, harm_checks
from tests.builders import ORIGIN, make_action, make_control, stamp_event
from tests.executor.shop import AUTOSCALERS, DEPLOYMENTS, LONG_SECONDS, NAMESPACE, Shop

WEB = f"{DEPLOYMENTS}/web"
HPA = f"{AUTOSCALERS}/web"
MARK = {"metadata": {"annotations": {"foresail.dev/do-not-disrupt": "true"}}}


async def test_a_raise_is_given_back_to_the_owners_number_and_no_further() -> None:
    """Up to 7 with the owner's 3 remembered, and a wish for 1 leaves 3 and no trace of ours."""
    shop = Shop()

    up = await shop.replicate(7)
    assert (up.succeeded, up.direction, shop.replicas(), shop.owners_number()) == (True, "up", 7, 3)
    assert up.text == "scale shop/web from 3 to 7 replicas"
    assert up.workloads == ("shop/Deployment/web",)

    shop.pass_time()
    down = await shop.replicate(1)
    assert (down.succeeded, down.direction, shop.replicas()) == (True, "down", 3)
    assert shop.owners_number() is None
    assert down.text == "scale shop/web from 7 to 3 replicas, as its owner asked for"


async def test_the_owners_number_outlives_several_steps() -> None:
    """Part of a raise given back and another raise keep the first number."""
    shop = Shop()
    for wanted, owner in ((7, 3), (5, 3), (8, 3), (3, None)):
        outcome = await shop.replicate(wanted)
        assert outcome.succeeded, outcome.text
        assert (shop.replicas(), shop.owners_number()) == (wanted, owner)
        shop.pass_time()


@pytest.mark.parametrize(
    ("wanted", "reason"), [(2, Reason.NOT_RAISED), (3, Reason.ALREADY_IN_STATE)]
)
async def test_what_we_never_raised_is_not_reduced(wanted: int, reason: Reason) -> None:
    """Fewer than its owner asked for is refused; as many is nothing to do."""
    shop = Shop()
    outcome = await shop.replicate(wanted)
    assert (outcome.phase, outcome.reason) == (ExecutionPhase.REFUSED, reason)
    assert shop.replicas() == 3


async def test_the_owner_has_the_last_word() -> None:
    """A number set by somebody else since is neither reduced nor soon raised; later it is the owner's."""
    shop = Shop()
    await shop.replicate(7)
    shop.pass_time(200.0)
    shop.patch(WEB, {"spec": {"replicas": 5}})

    for wanted in (3, 9):
        assert (await shop.replicate(wanted)).reason is Reason.OWNER_CHANGED
        assert shop.replicas() == 5
    shop.pass_time()
    assert (await shop.replicate(3)).reason is Reason.OWNER_CHANGED
    assert (await shop.replicate(9)).succeeded
    assert (shop.replicas(), shop.owners_number()) == (9, 5)


async def test_an_autoscalers_minimum_is_raised_up_to_its_maximum_and_given_back() -> None:
    """The autoscaler itself scales the Deployment; beyond its maximum there is nothing to do."""
    shop = Shop()
    shop.add_autoscaler(2, 6)

    up = await shop.replicate(9)
    assert up.succeeded, up.text
    assert up.operations[0].resource == "horizontalpodautoscalers"
    assert (shop.minimum(), shop.replicas(), shop.owners_number(HPA)) == (6, 3, 2)
    assert shop.owners_number() is None
    shop.pass_time()
    assert shop.replicas() == 6
    assert (await shop.replicate(7)).reason is Reason.AUTOSCALER_MAXIMUM

    assert (await shop.replicate(3)).succeeded
    assert (shop.minimum(), shop.owners_number(HPA)) == (2, None)


@pytest.mark.parametrize("hard", [{"pods": "5"}, {"requests.cpu": "550m"}, {"memory": "330Mi"}])
async def test_a_quota_cuts_and_then_refuses(hard: dict[str, str]) -> None:
    """Two more pods fit, so two are added; then the quota is the reason."""
    shop = Shop()
    shop.add_quota(**hard)

    up = await shop.replicate(9)
    assert up.succeeded, up.text
    assert shop.replicas() == 5
    shop.pass_time()
    refused = await shop.replicate(9)
    assert (refused.reason, shop.replicas()) == (Reason.QUOTA_EXHAUSTED, 5)
    assert f"of {next(iter(hard.values()))} {next(iter(hard))} in use" in refused.text


async def test_one_workload_has_at_most_so_many_times_its_replicas() -> None:
    """Of three at a ratio of three, nine are allowed, also in two steps; ten are not."""
    shop = Shop(caps={"surge_ratio": 3.0})
    await shop.replicate(6)
    shop.pass_time()
    assert (await shop.replicate(10)).reason is Reason.CAP_SURGE_RATIO
    assert (await shop.replicate(9)).succeeded


@pytest.mark.parametrize("mode", list(Mode))
async def test_all_raises_together_have_a_limit(mode: Mode) -> None:
    """What stands elsewhere counts, and so do recent dry runs, which the cluster does not show."""
    shop = Shop(caps={"surge_pods": "5"})
    shop.plant.mode = mode
    shop.plant.restart()
    shop.add_deployment("api", 2)

    assert (await shop.replicate(6)).succeeded
    assert (await shop.replicate(5, "api")).reason is Reason.CAP_SURGE_PODS
    assert (await shop.replicate(4, "api")).succeeded
    assert shop.replicas("api") == (4 if mode is Mode.ACTIVE else 2)


async def test_undo_restores_number_and_annotation() -> None:
    """The operator takes a second raise back: the first one still stands as it was."""
    shop = Shop()
    await shop.replicate(5)
    before = shop.ask("GET", WEB)["metadata"]["annotations"]
    shop.pass_time()
    await shop.replicate(7)
    undo = make_control(Command.UNDO, value=str(shop.cycle))
    shop.plant.state = evolve(shop.plant.state, stamp_event(undo, cycle=0))
    await shop.plant.act()

    assert shop.replicas() == 5
    assert shop.ask("GET", WEB)["metadata"]["annotations"] == before


async def test_a_plan_begun_by_another_process_is_completed_once() -> None:
    """After a crash between write and report the number is as planned, and the write is not repeated."""
    shop = Shop()
    plant = shop.plant
    await shop.replicate(7)
    started = plant.all_events()[0]
    plant.log, plant.state, plant.applied = MemoryLog(), Ledger(), 0
    plant.see(1)
    plant.state = evolve(plant.state, started)
    plant.restart()
    version = shop.ask("GET", WEB)["metadata"]["resourceVersion"]
    await plant.act()

    (ended,) = plant.executions()
    assert [result.status for result in ended.results] == ["unchanged"]
    assert shop.ask("GET", WEB)["metadata"]["resourceVersion"] == version


@pytest.mark.parametrize("path", [WEB, HPA, NAMESPACE])
async def test_who_protects_one_protects_all(path: str) -> None:
    """A mark on the Deployment, on its autoscaler or on the namespace keeps both as they are."""
    shop = Shop()
    shop.add_autoscaler(2, 6)
    shop.patch(path, MARK)
    assert (await shop.replicate(5)).reason is Reason.PROTECTED
    assert (shop.minimum(), shop.replicas()) == (2, 3)


async def test_what_could_not_be_given_back_is_not_added() -> None:
    """Pods that are marked may not end, so their Deployment gets no more of them."""
    shop = Shop()
    shop.patch(WEB, {"spec": {"template": MARK}})
    assert (await shop.replicate(5)).reason is Reason.PROTECTED
    assert shop.replicas() == 3


async def test_a_namespace_that_is_not_named_is_not_written() -> None:
    """Names hold for autoscalers as for Deployments."""
    shop = Shop(namespaces=("batch",))
    shop.add_autoscaler(2, 6)
    assert (await shop.replicate(5)).reason is Reason.NAMESPACE_NOT_NAMED
    assert shop.minimum() == 2


async def test_a_give_back_waits_out_the_memory_of_its_raise() -> None:
    """Soon after the raise it would be ping-pong at the same score."""
    shop = Shop()
    await shop.replicate(7)
    shop.pass_time(200.0)
    assert (await shop.replicate(3)).reason is Reason.PING_PONG


async def test_a_workload_that_is_gone_or_switched_off_gets_nothing() -> None:
    """No Deployment of that name, and one whose owner wants none."""
    shop = Shop()
    assert (await shop.replicate(2, "nobody")).reason is Reason.TARGET_GONE
    shop.patch(WEB, {"spec": {"replicas": 0}})
    assert (await shop.replicate(2)).reason is Reason.NO_WORKLOAD


async def test_number_and_annotation_are_one_write() -> None:
    """Otherwise a crash between two writes would forget the owner's number."""
    shop = Shop()
    up = await shop.replicate(7)
    (operation,) = up.operations
    assert operation.verb is Verb.PATCH
    assert operation.resource_version
    assert '"replicas":7' in operation.patch
    assert "foresail.dev/owner-replicas" in operation.patch


async def test_the_log_monitor_sees_a_raise_as_its_guards_do() -> None:
    """It has nothing to say of what was allowed, and counts executions of a workload by itself."""
    shop = Shop()
    for wanted, seconds in ((5, 300.0), (7, LONG_SECONDS), (3, 0.0)):
        assert (await shop.replicate(wanted)).succeeded
        shop.pass_time(seconds)
    strict = ExecutorSettings(caps=Caps(per_workload=1))
    for settings, problems in ((ExecutorSettings(), 0), (strict, 1)):
        monitor = LogMonitor(ORIGIN, settings, late_cycles=10)
        for message in shop.plant.log.messages:
            monitor.on_stored(message)
        assert len(monitor.problems) == problems, monitor.problems


def test_giving_back_harms_nobody() -> None:
    """Pods of the workload that find no node are no reason to add replicas again."""
    given_back = Execution(
        cycle=1,
        decision_id="d",
        execution_id="e",
        phase=ExecutionPhase.FINISHED,
        mode=Mode.ACTIVE,
        action=make_action(kind=ActionKind.REPLICATE, target="shop/Deployment/web", replicas=3),
        score=0.5,
        operations=(),
        direction="down",
        namespaces=("shop",),
        workloads=("shop/Deployment/web",),
        time_seconds=0.0,
    )
    waiting = AffectedPods(waiting=("shop/web-1",))
    assert harm_checks(given_back, Ledger(), waiting) == ()
    raised = given_back.model_copy(update={"direction": "up"})
    assert [check.passed for check in harm_checks(raised, Ledger(), waiting)] == [False]
