"""Defects in who may act: the Lease, its end, and the log's fence against one that was overtaken."""

from __future__ import annotations

from proofs.planted.defect import Defect

_LEADING = "tests/executor/test_leading.py::"
LEADING = (
    Defect(
        "a plan is stored although another has taken over",
        "services/executor/fencing.py",
        "not any(_begins(one.data) for one in new_events)",
        "True",
        f"{_LEADING}test_the_log_refuses_the_plan_of_one_that_was_overtaken",
    ),
    Defect(
        "the Lease is not looked at before a write",
        "services/executor/writing.py",
        "return None if lead is None else _refused_result(lead.reason, lead.text)",
        "return None",
        f"{_LEADING}test_a_lease_that_runs_out_in_the_middle_ends_the_plan",
    ),
    Defect(
        "a Lease is held for ever once it was had",
        "services/executor/leading.py",
        "if mine and self._left_seconds(DEADLINE_SHARE) > 0.0:",
        "if mine:",
        f"{_LEADING}test_an_outage_suspends_and_nothing_is_lost_by_it",
    ),
    Defect(
        "a second stack takes a Lease that is held",
        "services/executor/leading.py",
        "if not held or now >=",
        "if True or now >=",
        f"{_LEADING}test_a_second_stack_refuses_to_act_and_says_who_does",
    ),
    Defect(
        "a Lease is not released at the end",
        "services/executor/leading.py",
        "                await asyncio.wait_for(self._release(), self._duration * RENEW_SHARE)",
        "                pass",
        f"{_LEADING}test_one_leads_and_its_replica_waits_until_it_lets_go",
    ),
    Defect(
        "a Lease stays when the end comes in the middle of a renewal",
        "services/executor/leading.py",
        "            if self._unanswered:",
        "            if False:",
        f"{_LEADING}test_an_end_in_the_middle_of_a_renewal_lets_go_all_the_same",
    ),
    Defect(
        "the log is not asked who leads",
        "services/executor/fencing.py",
        "if said == leadership.candidate.identity:",
        "if True:",
        f"{_LEADING}test_the_log_is_asked_before_each_write",
    ),
    Defect(
        "a write is sent without asking the gate",
        "services/official_client.py",
        "if self._gate is not None and _changes(method, query, body):",
        "if False:",
        "tests/executor/test_lease_gate.py::test_without_the_lease_no_write_is_sent",
    ),
)
