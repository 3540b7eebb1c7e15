"""Proposals that state what they are expected to change are weighed in one unit: money for an hour."""

from __future__ import annotations

from typing import Any

from schemas.actions import ActionKind, Evidence
from schemas.decision import RefereeRule
from schemas.effect import Effect
from schemas.proposal import FurtherAction
from schemas.reasons import Reason
from services.referee.open_proposal import OpenProposal, open_proposal_of
from services.referee.ruling import rule_on
from tests.action_builder import make_action
from tests.builders import make_proposal, stamp_event


def worth(per_hour: float, horizon_seconds: float = 600.0) -> Effect:
    """Return an effect of so much money for an hour."""
    net = per_hour * horizon_seconds / 3_600.0
    return Effect(
        horizon_seconds=horizon_seconds,
        terms={"slo_services": net},
        net=net,
        low=net / 2,
        high=net * 2,
        per_hour=per_hour,
        currency="USD",
    )


def candidate(agent: str, kind: ActionKind, per_hour: float | None, **fields: Any) -> OpenProposal:
    """Return a proposal; without money it judges by thresholds, or wants nothing."""
    effect = None if per_hour is None else worth(per_hour)
    score = 0.0 if per_hour is None else per_hour
    made = make_proposal(agent, kind, effect=effect, score=score, **fields)
    return open_proposal_of(stamp_event(made))


SLEEP = {"parameters": {"power_state": "sleep"}}
WAKE = {"parameters": {"power_state": "on"}}


def test_the_greatest_gain_for_an_hour_wins_whoever_wants_it() -> None:
    """Safety does not go first by its name; of two wishes for one node the loser is told both amounts."""
    replicate = candidate("safety", ActionKind.REPLICATE, 0.5, target="n1")
    wake = candidate("efficiency", ActionKind.POWER_STATE, 2.0, target="n1", **WAKE)
    ruling = rule_on((replicate, wake, candidate("admission", ActionKind.NOOP, None)))

    assert ruling.rule is RefereeRule.HIGHEST_VALUE
    assert ruling.selected == wake.considered.id
    assert ruling.parts[0].score == 2.0
    lost = ruling.overridden["safety"]
    assert (lost.winner_score, lost.loser_score) == (2.0, 0.5)
    assert "expected to gain most for an hour" in lost.text


def test_equal_gains_go_to_the_first_agent_in_the_referees_order() -> None:
    """A before C before B, whatever order they came in."""
    replicate = candidate("safety", ActionKind.REPLICATE, 1.0)
    wake = candidate("efficiency", ActionKind.POWER_STATE, 1.0, **WAKE)

    for proposals in ((replicate, wake), (wake, replicate)):
        assert rule_on(proposals).selected == replicate.considered.id


def test_everything_that_gains_and_touches_nothing_in_common_is_taken() -> None:
    """Further wishes of one agent and those of others, best first; what aims at a target already taken is not."""
    wishes = tuple(
        FurtherAction(
            action=make_action("safety", ActionKind.REPLICATE, name),
            score=gain,
            rule="",
            effect=worth(gain),
            text=f"replicate on {name}",
        )
        for name, gain in (("n2", 0.9), ("n3", 0.4))
    )
    replicate = candidate("safety", ActionKind.REPLICATE, 1.0, target="n1", further=wishes)
    sleep = candidate("efficiency", ActionKind.POWER_STATE, 0.5, target="n3", **SLEEP)
    ruling = rule_on((sleep, replicate))

    aims = [(part.action.target.name, part.score) for part in ruling.parts]
    assert aims == [("n1", 1.0), ("n2", 0.9), ("n3", 0.5)]
    assert {part.selected for part in ruling.parts} == {
        replicate.considered.id,
        sleep.considered.id,
    }
    assert not ruling.overridden


def test_each_further_wish_is_told_by_its_own_numbers() -> None:
    """By what its own rule compared, or by its own sentence; never by those of its proposal's first wish."""
    compared = Evidence(name="p95", value=0.9, comparison=">=", threshold=0.5, holds=True)
    by_rule, by_text = (
        FurtherAction(
            action=make_action("safety", ActionKind.REPLICATE, name),
            score=0.5,
            effect=worth(0.5),
            text=f"{name} is late",
            **fields,
        )
        for name, fields in (
            ("n2", {"rule": compared.words, "evidence": (compared,)}),
            ("n3", {"rule": ""}),
        )
    )
    first = candidate("safety", ActionKind.REPLICATE, 1.0, target="n1", further=(by_rule, by_text))
    told = rule_on((first,)).rationale

    assert f"on n1: {first.numbers};" in told
    assert f"on n2: {compared.numbers};" in told
    assert "on n3: n3 is late;" in told


def test_nothing_sleeps_while_safety_cannot_judge() -> None:
    """What only saves waits; what wakes a machine does not."""
    blind = candidate("safety", ActionKind.NOOP, None, reason=Reason.STALE_SIGNAL)
    sleep = candidate("efficiency", ActionKind.POWER_STATE, 3.0, **SLEEP)
    wake = candidate("efficiency", ActionKind.POWER_STATE, 0.1, **WAKE)

    held = rule_on((blind, sleep))
    assert held.selected is None
    assert (held.rule, held.reason) == (RefereeRule.HIGHEST_VALUE, Reason.STALE_SIGNAL)
    assert rule_on((blind, wake)).selected == wake.considered.id


def test_an_agent_that_is_not_installed_here_holds_nothing_back() -> None:
    """Only who must see makes saving wait; of a stranger in a recording nobody knows that."""
    blind = candidate("stranger", ActionKind.NOOP, None, reason=Reason.STALE_SIGNAL)
    sleep = candidate("efficiency", ActionKind.POWER_STATE, 3.0, **SLEEP)

    assert rule_on((blind, sleep)).selected == sleep.considered.id


def test_no_machine_is_emptied_to_save_while_safety_cannot_judge() -> None:
    """Moving pods so that a machine can sleep only saves; moving them off a machine that goes does not."""
    blind = candidate("safety", ActionKind.NOOP, None, reason=Reason.STALE_SIGNAL)
    rescue = candidate("efficiency", ActionKind.MIGRATE, 1.0)
    saving = worth(1.0).model_copy(update={"terms": {"energy": 0.003, "evictions": -0.002}})
    proposed = make_proposal("efficiency", ActionKind.MIGRATE, effect=saving, score=1.0)
    pack = open_proposal_of(stamp_event(proposed))

    assert rule_on((blind, rescue)).selected == rescue.considered.id
    assert rule_on((blind, pack)).selected is None


def test_proposals_by_thresholds_are_ruled_on_as_before() -> None:
    """Without a stated effect the baseline's rules decide."""
    replicate = candidate("safety", ActionKind.REPLICATE, None)
    sleep = candidate("efficiency", ActionKind.POWER_STATE, None, **SLEEP)

    assert rule_on((replicate, sleep)).rule is RefereeRule.SAFETY_FIRST
