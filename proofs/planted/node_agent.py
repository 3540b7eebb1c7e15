"""Defects in the node agent: bounds, ways back, and what it says."""

from __future__ import annotations

from proofs.planted.defect import Defect

NODE_AGENT = (
    Defect(
        "a clock below what the hardware can do is asked of the kernel",
        "services/node_agent/wishes.py",
        "if wanted_khz < policy.least_khz:",
        "if wanted_khz < 0:",
        "tests/node_agent/test_wishes.py::test_what_is_out_of_bounds_is_refused_not_rounded",
    ),
    Defect(
        "a limit that ends nowhere near is taken",
        "services/node_agent/wishes.py",
        "if expires_seconds - now_seconds > settings.most_lease_seconds:",
        "if expires_seconds < settings.most_lease_seconds:",
        "tests/node_agent/test_wishes.py::test_a_limit_has_an_owner_and_an_end",
    ),
    Defect(
        "a limit whose time is over stays",
        "services/node_agent/wishes.py",
        "if expires_seconds <= now_seconds:",
        "if expires_seconds <= 0:",
        "tests/node_agent/test_wishes.py::test_a_limit_ends_at_its_second",
    ),
    Defect(
        "the way back is kept only once a limit has been written",
        "services/node_agent/steps.py",
        "return _Turn(write=wanted, before=change, after=change)",
        "return _Turn(write=wanted, after=change)",
        "tests/node_agent/test_steps.py::test_after_anything_nothing_is_higher_than_before_and_all_is_given_back",
    ),
    Defect(
        "what somebody else has raised is lowered again and again",
        "services/node_agent/steps.py",
        "if change.knob in values and change.knob != CPU_MAX and _is_raised(change, values)",
        "if change.knob in values and change.knob == CPU_MAX and _is_raised(change, values)",
        "tests/node_agent/test_steps.py::test_what_somebody_else_raises_is_theirs_until_another_limit_is_asked_for",
    ),
    Defect(
        "a limit that the kernel did not take is said to be in force",
        "services/node_agent/reports.py",
        "        state = LimitState.REFUSED\n",
        "        state = LimitState.IN_FORCE\n",
        "tests/node_agent/test_steps.py::test_what_the_kernel_does_not_take_is_refused_with_its_words",
    ),
    Defect(
        "an agent that died long ago counts as there",
        "schemas/node_limits.py",
        "DEAD_HEARTBEATS = 3.0",
        "DEAD_HEARTBEATS = 300.0",
        "tests/node_agent/test_wishes.py::test_an_agent_that_has_missed_three_heartbeats_is_gone",
    ),
    Defect(
        "a clock limit is decided where no agent would hold it",
        "services/executor/plans/node_limits.py",
        'return "" if node.simulated else f"{node.name} has no node agent that lives"',
        'return ""',
        "tests/executor/test_node_agents.py::test_without_an_agent_a_clock_limit_is_no_candidate",
    ),
    Defect(
        "an annotation counts as a limit that is in force",
        "services/executor/effects/verify.py",
        "End.NOT_REACHED if answer and not answer.passed and end is End.REACHED else end",
        "end",
        "tests/executor/test_node_agents.py::test_a_limit_that_the_agent_does_not_hold_has_failed",
    ),
    Defect(
        "the agent's answer to an earlier decision counts for this one",
        "schemas/node_limits.py",
        "asked = request.limit, request.value, request.decision, request.expires\n"
        "        return (self.limit, self.value, self.decision, self.expires) == asked",
        "asked = request.limit, request.value\n        return (self.limit, self.value) == asked",
        "tests/executor/test_node_agents.py::test_an_answer_to_another_decision_does_not_count",
    ),
)
