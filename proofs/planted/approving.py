"""Defects in waiting for a person: what is written before, after, or instead of what was shown."""

from __future__ import annotations

from proofs.planted.defect import Defect

_APPROVAL = "tests/executor/test_approval.py::"
APPROVING = (
    Defect(
        "nobody is asked",
        "services/executor/effects/context.py",
        "return self.settings.approval and self.mode(state) is Mode.ACTIVE",
        "return False",
        f"{_APPROVAL}test_an_action_waits_and_is_done_once_it_is_approved",
    ),
    Defect(
        "a no counts as a yes",
        "services/executor/effects/execute.py",
        "if waiting.answer is Answer.APPROVE:",
        "if waiting.answer is not None:",
        f"{_APPROVAL}test_a_no_is_kept_and_nothing_is_written",
    ),
    Defect(
        "a question never ends",
        "services/executor/pending.py",
        "return self.answer is not None or now_seconds >= self.expires_time_seconds",
        "return self.answer is not None",
        f"{_APPROVAL}test_what_nobody_approves_in_time_is_refused",
    ),
    Defect(
        "whatever is planned after an approval is written",
        "services/executor/effects/execute.py",
        "if not shows_the_same(due.operations, planned.operations):",
        "if False:",
        f"{_APPROVAL}test_what_has_changed_meanwhile_is_not_written",
    ),
    Defect(
        "each cycle asks anew",
        "services/executor/guards/approval.py",
        "(one.action.kind, one.action.target) == wish",
        "False",
        f"{_APPROVAL}test_the_same_wish_is_asked_once",
    ),
    Defect(
        "an approval never grows stale",
        "services/executor/guards/stale_decision.py",
        "(due.cycle if approved is None else approved)",
        "(due.cycle if approved is None else question.state.seen.cycle)",
        f"{_APPROVAL}test_an_approval_grows_stale_like_a_decision",
    ),
    Defect(
        "a dry run that is forbidden has failed",
        "services/executor/cluster.py",
        "if dry_run and lacks_right(error):",
        "if False:",
        "tests/executor/test_plan_only.py::test_a_dry_run_that_is_forbidden_is_a_plan",
    ),
)
