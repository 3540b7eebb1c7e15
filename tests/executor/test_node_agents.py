"""Limits that a node agent holds: asked for with owner and end, where an agent lives, and believed once it says so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schemas.actions import ActionKind
from schemas.means import MissingMeans
from schemas.node_annotations import NodeLimit
from schemas.node_limits import (
    LimitReport,
    LimitRequest,
    LimitState,
    RefusedBecause,
    limit_annotations,
    read_requests,
)
from schemas.outcome import Mode, OutcomeExecution, VerificationStatus
from schemas.reasons import Reason
from services.cluster import MERGE_PATCH, STRATEGIC_PATCH
from services.executor.means_reading import read_missing_means
from services.executor.settings import ExecutorSettings
from services.node_agents import SIMULATED_LABEL
from tests.agent_condition import agent_status
from tests.builders import INTERVAL_SECONDS, make_action
from tests.executor.ground import Ground
from tests.executor.test_resource_cap import foreign

CLOCK = NodeLimit.CLOCK_SCALE
POLICY: dict[str, Any] = {"namespaces": ("shop",), "writable_nodes": "kubernetes.io/os=linux"}
"""As on a cluster of somebody's own."""


class AgentGround(Ground):
    """A node that is not simulated, for all that the executor can see."""

    def __init__(self, **policy: Any) -> None:
        """Take the mark of the simulated cluster away."""
        super().__init__(Mode.ACTIVE, **{"settle_seconds": 0.0, **POLICY, **policy})
        self.plant.transport = foreign(self.plant.transport)
        self.plant.restart()
        self.path = f"/api/v1/nodes/{self.plant.node}"
        self.ask("PATCH", self.path, {"metadata": {"labels": {SIMULATED_LABEL: None}}}, MERGE_PATCH)

    @property
    def now(self) -> float:
        """The cluster's time."""
        return self.plant.twin.engine.now

    def say(self, *limits: LimitReport, **more: Any) -> None:
        """Let the node's agent say something."""
        body = agent_status(more.pop("at", self.now), *limits, **more)
        self.ask("PATCH", f"{self.path}/status", body, STRATEGIC_PATCH)

    def requests(self) -> tuple[LimitRequest, ...]:
        """Return what the node's annotations ask for."""
        return read_requests(self.ask("GET", self.path)["metadata"].get("annotations", {}))

    async def slow_down(self, ratio: float = 0.65) -> OutcomeExecution:
        """Decide for a clock limit; return how that ended."""
        self.cycle += 1
        self.plant.see(self.cycle)
        action = make_action(kind=ActionKind.DVFS, target=self.plant.node, clock_scale_ratio=ratio)
        self.plant.decide(action, self.cycle)
        await self.plant.act()
        return self.plant.executions()[-1]

    def answer(self, state: LimitState, **more: Any) -> None:
        """Let the agent answer what is asked."""
        (asked,) = self.requests()
        self.say(LimitReport(**asked.model_dump(), state=state, **more))

    async def missing(self, **more: Any) -> dict[str, str]:
        """Return why each kind that cannot be done cannot, as asked of the cluster."""
        settings = ExecutorSettings(**{**POLICY, **more})
        found: tuple[MissingMeans, ...] = await read_missing_means(
            self.plant.transport, settings, Mode.ACTIVE
        )
        return {str(one.kind): one.why for one in found if one.why == "no_node_agent"}


async def test_without_an_agent_a_clock_limit_is_no_candidate() -> None:
    """Nobody would hold it, so it is said beforehand, and a decision for it writes nothing."""
    ground = AgentGround()
    assert await ground.missing() == {"dvfs": "no_node_agent"}
    refused = await ground.slow_down()
    assert refused.reason is Reason.NO_NODE_AGENT
    assert ground.requests() == ()


@pytest.mark.parametrize(
    ("said", "missing"),
    [
        ({}, {}),
        ({"can": ()}, {"dvfs": "no_node_agent"}),
        ({"heartbeat_seconds": 10.0, "at": -31.0}, {"dvfs": "no_node_agent"}),
        ({"heartbeat_seconds": 10.0, "at": -29.0}, {}),
    ],
)
async def test_an_agent_that_lives_and_has_the_means_makes_it_one(
    said: dict[str, Any], missing: dict[str, str]
) -> None:
    """One without cpufreq, or that has missed three heartbeats, does not."""
    ground = AgentGround()
    ground.say(**{**said, "at": ground.now + said.get("at", 0.0)})
    assert await ground.missing() == missing
    done = await ground.slow_down()
    assert done.reason is (Reason.NO_NODE_AGENT if missing else None)


async def test_limits_of_cpu_by_an_agent_need_one_that_has_a_cgroup() -> None:
    """Memory is held by no agent of ours, so those kinds stay missing."""
    ground = AgentGround()
    ground.say(can=(NodeLimit.CPU_CAP,))
    expected = dict.fromkeys(("dvfs", "memory_balloon", "resource_cap"), "no_node_agent")
    assert await ground.missing(node_limits="node_agent") == expected


async def test_a_limit_says_whose_it_is_and_when_it_ends() -> None:
    """Value, decision and end, half an hour ahead; the event names the means."""
    ground = AgentGround()
    ground.say()
    done = await ground.slow_down()
    assert (done.succeeded, done.means) == (True, "node_agent"), done.text
    (asked,) = ground.requests()
    assert (asked.limit, asked.ratio, asked.decision) == (CLOCK, 0.65, done.decision_id)
    assert asked.expires_seconds == pytest.approx(ground.now + 1800.0, abs=1.0)


async def test_a_limit_that_stands_is_not_asked_for_again_until_it_has_ended() -> None:
    """An annotation whose time is over says nothing: it is written anew, and not given back."""
    ground = AgentGround(cool_down_seconds=0.0, caps={"per_node": 10})
    ground.say()
    notes = limit_annotations(CLOCK, 0.65, "of an earlier run", ground.now + 600.0)
    ground.ask("PATCH", ground.path, {"metadata": {"annotations": notes}}, MERGE_PATCH)
    assert (await ground.slow_down()).reason is Reason.ALREADY_IN_STATE
    ground.plant.twin.engine.advance(ground.now + 601.0)
    ground.say()
    done = await ground.slow_down()
    assert done.succeeded, done.text
    assert json.loads(done.operations[0].undo)["metadata"]["annotations"] == dict.fromkeys(notes)


async def test_a_limit_is_verified_once_the_agent_says_that_it_is_in_force() -> None:
    """The agent's read-back stands in the event."""
    ground = AgentGround()
    ground.say()
    await ground.slow_down()
    ground.answer(LimitState.IN_FORCE, read="2 x 2080000 kHz of 3200000")
    await ground.pass_time(2 * INTERVAL_SECONDS)
    (verified,) = ground.plant.verifications()
    assert verified.status is VerificationStatus.VERIFIED
    (check,) = [one for one in verified.checks if one.guard == "node_agent"]
    assert check.text == "clock-scale 0.65 in force: 2 x 2080000 kHz of 3200000"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "clock-scale: its agent has not answered yet"),
        (
            {"reason": RefusedBecause.OUT_OF_BOUNDS, "text": "clock-scale 0.65: at least 0.7"},
            "clock-scale 0.65: at least 0.7",
        ),
    ],
)
async def test_a_limit_that_the_agent_does_not_hold_has_failed(
    answer: dict[str, Any] | None, said: str
) -> None:
    """The annotation alone is no limit; the event says the agent's own words."""
    ground = AgentGround()
    ground.say()
    await ground.slow_down()
    if answer is not None:
        ground.answer(LimitState.REFUSED, **answer)
    await ground.pass_time(2 * INTERVAL_SECONDS)
    (failed,) = ground.plant.verifications()
    assert (failed.status, failed.text) == (VerificationStatus.FAILED, said)


async def test_an_answer_to_another_decision_does_not_count() -> None:
    """A limit of the same value that an earlier decision asked for is not this one's."""
    ground = AgentGround()
    ground.say()
    await ground.slow_down()
    ground.answer(LimitState.IN_FORCE)
    (asked,) = ground.requests()
    other = {**asked.model_dump(), "decision": "an earlier one"}
    ground.say(LimitReport(**other, state=LimitState.IN_FORCE))
    await ground.pass_time(2 * INTERVAL_SECONDS)
    assert ground.plant.verifications()[0].status is VerificationStatus.FAILED


async def test_the_executor_takes_it_back_when_its_time_is_over() -> None:
    """By the same end as the agent's, so that nothing is left on the node."""
    ground = AgentGround(limit_seconds=120.0)
    ground.say()
    await ground.slow_down()
    ground.answer(LimitState.IN_FORCE)
    await ground.pass_time(60.0)
    assert ground.requests() != ()
    await ground.pass_time(120.0)
    assert ground.requests() == ()


async def test_simulated_nodes_are_asked_as_before() -> None:
    """They honour the bare value, and recordings of them stay as they were."""
    ground = AgentGround()
    ground.ask(
        "PATCH", ground.path, {"metadata": {"labels": {SIMULATED_LABEL: "true"}}}, MERGE_PATCH
    )
    done = await ground.slow_down()
    assert (done.succeeded, done.means) == (True, "")
    assert ground.requests() == (LimitRequest(limit=CLOCK, value="0.65"),)
