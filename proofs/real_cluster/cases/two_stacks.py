"""Two stacks on one cluster: the second refuses each decision and says who acts, until the first lets go."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

from proofs.real_cluster.case import Case, CaseGround, at_workload
from proofs.real_cluster.population import DEPLOYMENTS, SHOP
from schemas.leadership import LeadState, OutcomeLeadership
from schemas.reasons import Reason
from services.executor.lease import NAME, Candidate, lease_path, read_record

LEASE = lease_path("kube-system", NAME)
FIRST, SECOND = Candidate("first-stack", "pod"), Candidate("second-stack", "pod")


async def run(scene: CaseGround) -> None:
    """Let both wish for a raise; then let the first end, and the second wish again."""
    now = scene.api.ask("GET", f"{DEPLOYMENTS.format(SHOP)}/shop-03")["spec"]["replicas"]
    free: dict[str, Any] = {"cool_down_seconds": 0, "ping_pong_seconds": 0}
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(scene.session(candidate=FIRST, **free))
        done = await first.decide(at_workload("shop-03", now + 1))
        assert done.outcome.succeeded, done.said
        async with scene.session(candidate=SECOND, **free) as second:
            refused = await second.decide(at_workload("shop-03", now + 2))
            assert refused.outcome.reason is Reason.NOT_LEADER, refused.said
            assert "'first-stack/pod' holds it since" in refused.outcome.text, refused.said
            assert not refused.requests, refused.requests
            said = [event.data for event in second.events(OutcomeLeadership)]
            assert [one.state for one in said] == [LeadState.REFUSED], said
            await first.undo(done)
            await stack.aclose()  # the first one ends, and releases the Lease
            await second.wait_for(
                "the Lease to pass", lambda: _holder(scene) == SECOND.identity, 30
            )
            again = await second.decide(at_workload("shop-03", now + 1))
            assert again.outcome.succeeded, again.said
            await second.undo(again)
    record = read_record(scene.api.ask("GET", LEASE))
    assert not record.holder
    scene.notes.append(f"the Lease passed {record.transitions} times in this run of the server")


def _holder(scene: CaseGround) -> str:
    return read_record(scene.api.ask("GET", LEASE)).holder


CASE = Case("a second stack on the same cluster writes nothing while the first acts", run, 61)
