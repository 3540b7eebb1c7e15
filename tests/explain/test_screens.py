"""`foresail explain` on each kind of decision: goldens that people can read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from schemas.actions import ActionKind
from schemas.agents import agent_names
from schemas.effect import Effect
from schemas.proposal import LeftUntouched, UntouchedDraw
from schemas.reasons import Reason
from schemas.signals import SignalStatus
from services.cluster import ClusterRefused
from tests.builders import make_action, make_proposal
from tests.explain.theatre import CALM, IDLE, NEVER, RISKY, Theatre

SHOCK = {**RISKY, "node-0": IDLE["node-0"]}


async def safety_wins(theatre: Theatre) -> None:
    """A node is sick and carries a Deployment: A replicates it, and everything follows."""
    theatre.deploy("web", 2, "node-1")
    await theatre.play(RISKY)
    await theatre.play()
    await theatre.play()
    await theatre.play()


async def efficiency_wins(theatre: Theatre) -> None:
    """A node is empty: B sends it to sleep."""
    await theatre.play(IDLE)
    for _ in range(3):
        await theatre.play()


async def admission_wins(theatre: Theatre) -> None:
    """Ten pods wait: C holds the queue, although there is nothing that it may hold."""
    await theatre.play(totals={"queue_length": 10, "sla_violations": 10})
    await theatre.play()


async def safety_preempts(theatre: Theatre) -> None:
    """All three want something: A goes first."""
    await theatre.play(SHOCK, totals={"queue_length": 10, "sla_violations": 11})


async def admission_preempts(theatre: Theatre) -> None:
    """C and B want something: C goes first although B's score is higher."""
    await theatre.play(IDLE, totals={"queue_length": 10, "sla_violations": 10})


async def missing_agent(theatre: Theatre) -> None:
    """Agent B is dead: the deadline closes the cycle."""
    theatre.observe(RISKY)
    theatre.decide(without=("agent-efficiency",))
    theatre.decide(without=("agent-efficiency",), overdue=True)
    await theatre.execute()


async def late_proposal(theatre: Theatre) -> None:
    """Agent B answers after the deadline."""
    await missing_agent(theatre)
    theatre.decide()


async def stale_signal(theatre: Theatre) -> None:
    """The newest list of nodes is too old: nobody judges."""
    old = {"status": SignalStatus.STALE, "age_seconds": 45.0, "limit_seconds": 30.0}
    await theatre.play(RISKY, signals={"node_requests": old})


async def missing_signal(theatre: Theatre) -> None:
    """The API server gave no pods, and Metrics Server is not installed."""
    gone = {"status": SignalStatus.MISSING, **NEVER}
    reasons = {"pods": "source_error", "node_usage": "not_installed"}
    signals = {name: {**gone, "reason": reason} for name, reason in reasons.items()}
    await theatre.play(RISKY, signals=signals)


async def prediction_missing(theatre: Theatre) -> None:
    """Inference is dead: agents that need it say so."""
    theatre.observe(IDLE)
    theatre.decide(without=("inference",))
    theatre.decide(without=("inference",), overdue=True)
    await theatre.execute()


async def all_noop(theatre: Theatre) -> None:
    """A and B are asked and want nothing."""
    await theatre.play(CALM, expected=("safety", "efficiency"))


async def no_proposals(theatre: Theatre) -> None:
    """Nobody answers."""
    agents = tuple(f"agent-{agent}" for agent in agent_names())
    theatre.observe(CALM)
    theatre.decide(without=agents)
    theatre.decide(without=agents, overdue=True)
    await theatre.execute()


async def superseded(theatre: Theatre) -> None:
    """The referee was away while two more observations came."""
    for _ in range(3):
        theatre.observe(RISKY)
        theatre.decide(without=("referee",))
    theatre.decide()
    await theatre.execute()


async def tie(theatre: Theatre) -> None:
    """C and B want something with equal scores: the fixed order decides."""
    theatre.observe(expected=("admission", "efficiency"))
    theatre.propose("admission", ActionKind.ADMISSION, "pending", 0.9, admission="admit")
    theatre.propose("efficiency", ActionKind.THROTTLE, "node-0", 0.9, cpu_cap_ratio=0.8)
    theatre.decide(without=("inference", *(f"agent-{agent}" for agent in agent_names())))
    await theatre.execute()


async def failed_execution(theatre: Theatre) -> None:
    """The API server refuses the write with 403."""
    theatre.transport.refuses = ClusterRefused(403, "Forbidden", "nodes is forbidden: no rights")
    await theatre.play(IDLE)
    await theatre.play()


async def taken_back(theatre: Theatre) -> None:
    """Pods begin to wait after a sleep: it is verified as worse and taken back."""
    await theatre.play(IDLE)
    await theatre.play()
    await theatre.play(totals={"pending_by_class": {"insufficient_cpu": 4}})


KINDS: tuple[Callable[[Theatre], Awaitable[None]], ...] = (
    safety_wins,
    efficiency_wins,
    admission_wins,
    safety_preempts,
    admission_preempts,
    missing_agent,
    late_proposal,
    stale_signal,
    missing_signal,
    prediction_missing,
    all_noop,
    no_proposals,
    superseded,
    tie,
    failed_execution,
    taken_back,
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
async def test_a_kind_of_decision(kind: Callable[[Theatre], Awaitable[None]]) -> None:
    """The screen is the golden one, on 100 columns and 40 lines, without colour."""
    theatre = Theatre()
    await kind(theatre)
    theatre.compare(kind.__name__)


async def test_the_screen_says_who_won_and_why() -> None:
    """Winner, losers with rule and numbers, execution and reward stand in it whatever the layout."""
    theatre = Theatre()
    await safety_wins(theatre)
    text = " ".join(theatre.screen().split())

    for said in (
        "WINS A safety: replicate node-1",
        "risk of node-1 0.95: >= 0.83 yes (decides)",
        "lost to A by safety_first",
        "unhealthy_pods 1 (+0.95)",
        "energy_price (settings)",
        "from 2 to 3 replicas",
        "verified 10 s later",
        "replicate_at_risk +8",
    ):
        assert said in text


async def test_a_signal_says_how_many_seconds_it_covers() -> None:
    """A rate over two minutes is younger than what it tells of."""
    theatre = Theatre()
    await theatre.play(RISKY, signals={"node_usage": {"window_seconds": 120.0}})

    assert "node_usage over 120 s, 15 s old (metrics_server" in " ".join(theatre.screen().split())


async def test_what_is_left_untouched_is_shown_with_its_propensity() -> None:
    """Who wanted what on which target, by which share it is left, until when, and what it would have been worth."""
    theatre = Theatre()
    theatre.observe(expected=("safety",))
    action = make_action("safety", ActionKind.MIGRATE, "node-1")
    effect = Effect(
        horizon_seconds=600.0, terms={}, net=1.5, low=1.0, high=2.0, per_hour=9.0, currency="USD"
    )
    draw = UntouchedDraw(
        seed=7,
        ratio=0.05,
        epoch=490_896,
        ends_seconds=1_767_229_200.0,
        left=(LeftUntouched(action=action, effect=effect, text="pods away: +1.5 USD in 10 min"),),
    )
    wanted = make_proposal("safety", ActionKind.NOOP, cycle=1, reason=Reason.LEFT_UNTOUCHED)
    theatre.tell(wanted.model_copy(update={"untouched": draw}), 1, "agent-safety")
    theatre.decide(without=("agent-safety", "inference"))
    assert (
        "LEFT A migrate node-1: left untouched until 2026-01-01 01:00:00 cluster time, a draw of 5% of the targets; "
        "pods away: +1.5 USD in 10 min"
    ) in " ".join(theatre.screen().split())
