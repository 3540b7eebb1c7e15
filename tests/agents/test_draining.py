"""Agent A empties machines that are about to go: replicas elsewhere first, then evictions; Jobs beyond saving stay."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import MigrateAction, ReplicateAction
from schemas.occupancy import Occupant
from schemas.proposal import Proposal, ProposalStatus
from tests.agents.test_packing import LIGHT, occupancy, occupant
from tests.agents.value_world import ScriptedService, ValueWorld
from tests.builders import START_SECONDS

NOTICE = ("foresail.dev/spot-interruption",)


def world(*pods: Occupant, notices: tuple[str, ...] = NOTICE, **fields: Any) -> ValueWorld:
    """Return ten lightly loaded machines, of which light-0 holds these pods and is about to go."""
    nodes = {f"light-{number}": dict(LIGHT) for number in range(10)}
    seen = occupancy(*pods, notices=notices, **fields)
    return ValueWorld("safety", nodes=nodes, occupancy=seen)


def drained(proposal: Proposal) -> bool:
    """Say whether light-0 is to be emptied."""
    return isinstance(proposal.action, MigrateAction) and proposal.action.target.name == "light-0"


def test_replicas_come_before_the_evictions() -> None:
    """A Service gets the replicas that it would miss; once they are ready, and only then, the machine is emptied."""
    played = world(occupant("web"))
    web = played.services["web"] = ScriptedService(rate=10.0, wanted=4)
    proposal = played.play()
    assert isinstance(proposal.action, ReplicateAction)
    assert (proposal.action.target.name, proposal.action.replicas) == ("shop/Deployment/web", 5)
    assert proposal.effect is not None
    assert proposal.effect.terms["slo_services"] > 0.0

    web.wanted, web.ready = 5, 4
    assert not drained(played.play())
    web.ready = 5
    proposal = played.play()
    assert drained(proposal)
    assert proposal.effect is not None
    assert proposal.effect.low < proposal.effect.net <= proposal.effect.high


def test_a_machine_without_a_notice_is_not_emptied() -> None:
    """However much a Service would miss its pods."""
    played = world(occupant("web"), notices=())
    played.services["web"] = ScriptedService(rate=10.0, wanted=4)

    assert {played.play().status for _ in range(6)} == {ProposalStatus.NOOP}


def test_replicas_that_do_not_come_are_not_waited_for_beyond_a_minute() -> None:
    """The machine goes anyway, so its pods are moved while there is time."""
    played = world(occupant("web"))
    played.services["web"] = ScriptedService(rate=10.0, wanted=4)

    assert [drained(played.play()) for _ in range(5)] == [False, False, False, False, True]
    assert not drained(played.play())  # it has been asked for


@pytest.mark.parametrize(
    ("pods", "fields"),
    [
        ((occupant("db", kept_by="a bare pod would be lost"),), {}),
        ((occupant("web"),), {"kept_by": "karpenter.sh/disrupted: a node autoscaler empties it"}),
        ((occupant("web"),), {"notices": ()}),
        ((occupant("web", cpu_request_cores=99.0),), {}),
        ((occupant("sum", "Job", started_time_seconds=START_SECONDS - 36_000.0),), {}),
    ],
    ids=["bare", "others-at-work", "no-notice", "no-place", "job-beyond-saving"],
)
def test_what_cannot_be_saved_is_left_alone(
    pods: tuple[Occupant, ...], fields: dict[str, Any]
) -> None:
    """Without a notice, a place or a pod that may move, and where moving throws away more than it saves."""
    assert world(occupant("web")).play().status is ProposalStatus.PROPOSED
    played = world(*pods, **fields)
    assert {played.play().status for _ in range(3)} == {ProposalStatus.NOOP}


def test_a_job_that_keeps_its_work_is_moved() -> None:
    """A checkpoint a minute makes moving ten hours of work cheap; a fault of the machine is less sure than a notice."""
    job = occupant(
        "sum", "Job", started_time_seconds=START_SECONDS - 36_000.0, checkpoint_seconds=60.0
    )
    assert drained(world(job).play())
    assert world(job, notices=("KernelDeadlock",)).play().status is ProposalStatus.NOOP


def test_a_full_cluster_says_what_is_missing() -> None:
    """Nothing is proposed, and the text names the Service and the size of the replica that has no place."""
    full = {**LIGHT, "cpu_requested_ratio": 1.0}
    played = ValueWorld("safety", nodes={"node-0": full})
    played.services["web"] = ScriptedService(rate=500.0)
    proposal = played.play(4)
    assert proposal.status is ProposalStatus.NOOP
    assert "no place is left for a replica of shop/web of 1 cores" in proposal.text

    played.services["web"].most = 4
    assert "the autoscaler of shop/web is at its maximum of 4" in played.play().text
