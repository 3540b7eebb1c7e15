"""Defects in finding what an earlier stack left on the cluster, and in what becomes of it."""

from __future__ import annotations

from proofs.planted.defect import Defect

_LEFT = "tests/executor/test_left_behind.py::"
LEFT_BEHIND = (
    Defect(
        "what this stack did counts as left by another",
        "services/executor/left_behind_reading.py",
        "elif any(_key(operation) in self._own for operation in one.operations):",
        "elif False:",
        f"{_LEFT}test_a_stack_that_comes_back_does_not_take_its_own_for_left",
    ),
    Defect(
        "what may not be written is to be taken back",
        "services/executor/left_behind_reading.py",
        "        elif reach:",
        "        elif True:",
        f"{_LEFT}test_only_what_may_be_written_is_taken_back",
    ),
    Defect(
        "shadow mode says that it gives back",
        "services/executor/left_behind_look.py",
        "self._settings.left_behind if active else LeftBehindAnswer.LEAVE",
        "self._settings.left_behind",
        f"{_LEFT}test_it_is_said_alone[shadow]",
    ),
    Defect(
        "what is too much for one event is forgotten",
        "services/executor/left_behind_look.py",
        "return bool(again) and state.seen.cycle > state.left_behind_cycle",
        "return False",
        f"{_LEFT}test_more_than_one_event_holds_is_given_back_in_turn",
    ),
    Defect(
        "somebody else's quota of our name is ours",
        "services/executor/left_behind.py",
        " or _written_by_others(metadata)",
        "",
        f"{_LEFT}test_nothing_left_is_nothing_said",
    ),
    Defect(
        "the number that somebody chose since is set back",
        "services/executor/left_behind.py",
        "    if raised.ours == number:",
        "    if True:",
        f"{_LEFT}test_what_its_owner_changed_since_stays",
    ),
    Defect(
        "what is taken over is given back at once",
        "services/executor/effects/roll_back.py",
        "execution.left_behind is LeftBehindAnswer.GIVE_BACK",
        "execution.left_behind",
        f"{_LEFT}test_it_is_taken_over_on_request",
    ),
    Defect(
        "resized pods are not found",
        "services/executor/left_behind_pods.py",
        "owner.manager == FIELD_MANAGER and owner.subresource == SUBRESOURCE",
        "False",
        f"{_LEFT}test_every_mark_is_given_back",
    ),
    Defect(
        "what was taken over does not stand",
        "projections/standing.py",
        "actions=(*self.actions, *taken)",
        "actions=self.actions",
        f"{_LEFT}test_it_is_taken_over_on_request",
    ),
)
