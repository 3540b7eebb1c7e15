"""Defects in taking back (what stands, in which order, how much of it, how often) and in telling of it."""

from __future__ import annotations

from proofs.planted.defect import Defect

_UNDO = "tests/executor/test_undo.py::"
UNDOING = (
    Defect(
        "everything is taken back oldest first",
        "services/executor/effects/roll_back.py",
        "wished = state.undo or state.undo_parts",
        "wished = state.undo",
        f"{_UNDO}test_everything_is_taken_back_newest_first",
    ),
    Defect(
        "what a wake ended still stands",
        "projections/standing.py",
        '"off": "on", ',
        "",
        f"{_UNDO}test_what_gives_back_is_no_part_of_everything",
    ),
    Defect(
        "the rest of a raise is left",
        "services/executor/effects/undoing.py",
        "raised.ours == number and before < number",
        "False",
        f"{_UNDO}test_what_was_given_back_in_part_is_given_back_whole",
    ),
    Defect(
        "a first raise is cut under a later one",
        "services/executor/effects/undoing.py",
        "if number is None or raised_later or",
        "if number is None or",
        f"{_UNDO}test_a_raise_is_not_cut_while_a_later_one_stands",
    ),
    Defect(
        "the rest of a raise counts as nothing",
        "projections/standing.py",
        "if not _keeps_a_mark(one)}",
        "}",
        f"{_UNDO}test_what_was_given_back_in_part_is_given_back_whole",
    ),
    Defect(
        "what waits is begun after everything was taken back",
        "services/executor/guards/taken_back.py",
        "question.due.cycle > until",
        "question.due.cycle >= until",
        f"{_UNDO}test_what_was_decided_before_is_not_begun_after",
    ),
    Defect(
        "what had just begun is left standing",
        "services/executor/ledger.py",
        "    if wanted_back and is_reversible(started):",
        "    if False:",
        f"{_UNDO}test_what_had_begun_when_the_operator_spoke_is_taken_back_too",
    ),
    Defect(
        "a rollback that failed is not tried again",
        "services/executor/ledger.py",
        "if one.rollback_failed and is_wanted(one.place)",
        "if False",
        f"{_UNDO}test_what_could_not_be_taken_back_is_tried_again_when_asked",
    ),
    Defect(
        "a second try has the first one's id",
        "schemas/outcome.py",
        'f"{phase}-retry-{self.retry}" if self.retry else phase',
        "phase",
        f"{_UNDO}test_what_could_not_be_taken_back_is_tried_again_when_asked",
    ),
    Defect(
        "one refusal keeps the rest from being given back",
        "services/executor/writing.py",
        "return held or bool(started.rollback_of and operation.verb is not Verb.RUN)",
        "return held",
        f"{_UNDO}test_one_refusal_does_not_keep_the_rest",
    ),
    Defect(
        "what stands is forgotten like the rest",
        "services/executor/ledger.py",
        "next((one for one in older if one.place not in stands), older[0])",
        "older[0]",
        f"{_UNDO}test_what_stands_outlives_what_does_not[0]",
    ),
    Defect(
        "dry runs are told on the objects",
        "services/executor/effects/object_events.py",
        "if finished.mode is not Mode.ACTIVE:",
        "if False:",
        "tests/executor/test_object_events.py::test_no_event_without_a_write_or_a_wish",
    ),
    Defect(
        "an event that is not taken ends the plan's report",
        "services/executor/effects/object_events.py",
        "if error.status != 409:",
        "if error.status != 409 and 1 / 0:",
        "tests/executor/test_object_events.py::test_an_event_that_is_not_taken_holds_nothing_up",
    ),
    Defect(
        "an object is flooded with events",
        "services/event_budget.py",
        "allowed = spent + 1.0 <= BURST",
        "allowed = True",
        "tests/executor/test_object_events.py::test_an_object_gets_no_flood",
    ),
    Defect(
        "the end of a run gives nothing back",
        "foresail/stack/giving_back.py",
        "if settings.run.kubeconfig is None or not before:",
        "if True:",
        "tests/safety/test_up.py::test_one_named_node_is_all_that_sleeps[twin]",
    ),
)
