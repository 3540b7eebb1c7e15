"""Totals of a run and of a policy: of recordings in git the same numbers, whichever view counts them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bus.events import event_of
from bus.recording import open_recording
from projections.policy_totals import PolicyTotals
from projections.run_totals import RunTotals
from schemas.actions import ActionKind
from schemas.envelope import Event
from tests.builders import make_action, make_decision
from tests.readable_goldens import check

RECORDINGS = ("v0", "v1")
GOLDENS = Path(__file__).parent / "goldens"
WINDOW_SECONDS = 900.0


@cache
def events_of(name: str) -> tuple[Event[Any], ...]:
    """Return the events of a golden recording."""
    path = Path(__file__).parents[1] / "golden" / f"{name}.fslog"
    return tuple(event_of(message) for message in open_recording(path))


def totals_of(name: str) -> tuple[RunTotals, PolicyTotals]:
    """Return both views of a golden recording."""
    run, policy = RunTotals(), PolicyTotals(window_seconds=WINDOW_SECONDS)
    for event in events_of(name):
        run.add(event)
        policy.add(event.data)
    return run, policy


@pytest.mark.parametrize("name", RECORDINGS)
def test_the_totals_of_a_recording_stay_as_they_are(name: str) -> None:
    """The summary of the run and what its policy did, number by number."""
    run, policy = totals_of(name)
    text = json.dumps({"run": run.summary(), "policy": policy.as_json()}, indent=1)

    check(GOLDENS / f"totals_{name}.json", f"{text}\n")


@pytest.mark.parametrize("name", RECORDINGS)
def test_both_views_count_alike(name: str) -> None:
    """The same decisions, and the mean of the rewards of which the other holds the sum."""
    run, policy = totals_of(name)
    summary = run.summary()

    assert summary["decisions"] == policy.as_json()["by_action"]
    assert sum(summary["wins"].values()) == policy.decisions
    assert summary["rewards_scored"] == policy.rewarded > 0
    assert summary["reward_mean"] == pytest.approx(policy.reward("total") / policy.rewarded, 1e-6)


@pytest.mark.parametrize(
    ("seconds_later", "target", "churn"), [(900.0, "n1", 1), (901.0, "n1", 0), (10.0, "n2", 0)]
)
def test_undoing_within_the_window_is_churn(seconds_later: float, target: str, churn: int) -> None:
    """Waking the node that was put to sleep counts once; later, or of another node, it does not."""
    totals = PolicyTotals(window_seconds=WINDOW_SECONDS)
    for at, node, state in ((0.0, "n1", "sleep"), (seconds_later, target, "on")):
        action = make_action(kind=ActionKind.POWER_STATE, target=node, power_state=state)
        totals.add(make_decision(action, cluster_time_seconds=at))

    assert (totals.decisions, totals.churn) == (2, churn)


@pytest.mark.parametrize(
    ("wishes", "churn"), [((5, 7, 7), 0), ((5, 7, 3), 1), ((7, 3, 7), 2), ((7, 7, 3), 1)]
)
def test_fewer_replicas_soon_after_more_are_churn(wishes: tuple[int, ...], churn: int) -> None:
    """Of one workload; a wish that is repeated goes no way."""
    totals = PolicyTotals(window_seconds=WINDOW_SECONDS)
    for replicas in wishes:
        web = "shop/Deployment/web"
        totals.add(
            make_decision(make_action(kind=ActionKind.REPLICATE, target=web, replicas=replicas))
        )
        other = make_action(kind=ActionKind.REPLICATE, target="shop/Deployment/api", replicas=9)
        totals.add(make_decision(other))

    assert totals.churn == churn
