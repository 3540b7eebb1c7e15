"""An action that cannot be done here is no candidate, whoever wants it, and the proposal says why."""

from __future__ import annotations

import pytest

from schemas.actions import ActionKind, MigrateAction, PowerStateAction
from schemas.capabilities import MissingCapability
from schemas.proposal import ProposalStatus
from schemas.reasons import Reason
from schemas.view import ObservationView, update_view
from services.agents.appraisal import Appraisal, Candidate
from services.agents.effects import effect_of
from services.agents.feasibility import possible_appraisal, possible_judgement
from services.agents.policy import Judgement, node
from services.agents.value_settings import ValueSettings
from tests.agents.test_agent_handler import handler_of, proposals, state_after
from tests.builders import make_observation, make_risk, stamp_event

NO_EVICTION = MissingCapability(
    kind=ActionKind.MIGRATE, needs="create pods/eviction", why="forbidden"
)


def view_lacking(*missing: MissingCapability) -> ObservationView:
    """Return an observation of a cluster that lacks some means."""
    view = update_view(None, stamp_event(make_observation(1, missing_means=missing)))
    assert view is not None
    return view


@pytest.mark.parametrize("missing", [(), (NO_EVICTION,)])
def test_a_baseline_agent_wants_nothing_that_cannot_be_done(
    missing: tuple[MissingCapability, ...],
) -> None:
    """Safety migrates at a risk of 0.75; without evictions it proposes nothing, with its numbers."""
    handler = handler_of("safety")
    observation = stamp_event(make_observation(1, missing_means=missing))
    risk = stamp_event(make_risk({"node-0": 0.75}))
    (made,) = proposals(handler, state_after(handler, observation, risk))

    if not missing:
        assert made.action.kind is ActionKind.MIGRATE
        return
    assert (made.status, made.reason) == (ProposalStatus.NOOP, Reason.MEANS_MISSING)
    assert made.score == 0.75
    assert made.text.endswith("cannot be done here: migrate (create pods/eviction: forbidden)")


def test_other_kinds_stay_possible() -> None:
    """What lacks nothing is judged as before."""
    wish = Judgement(
        PowerStateAction(target=node("n"), power_state="on"), 0.5, (), (), "wake n", None
    )
    assert possible_judgement(wish, view_lacking(NO_EVICTION)) is wish


def test_candidates_without_means_are_left_out() -> None:
    """The others stay; where none is left, the reason says that means are missing."""
    effect = effect_of({"energy": 1.0}, 600.0, ValueSettings(), spread=0.1)
    move = Candidate(MigrateAction(target=node("a")), effect, (), "empty a")
    wake = Candidate(PowerStateAction(target=node("b"), power_state="on"), effect, (), "wake b")
    view = view_lacking(NO_EVICTION)

    both = possible_appraisal(Appraisal((move, wake), "looked"), view)
    assert (both.candidates, both.reason) == ((wake,), Reason.NOTHING_TO_DO)
    assert "migrate (create pods/eviction: forbidden)" in both.text
    alone = possible_appraisal(Appraisal((move,), "looked"), view)
    assert (alone.candidates, alone.reason) == ((), Reason.MEANS_MISSING)
    assert possible_appraisal(Appraisal((wake,), "looked"), view).text == "looked"
