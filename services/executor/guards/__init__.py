"""Guard rails: one file each, all of the same shape, `check(question) -> GuardCheck`.

All are asked for every decision that has a plan, so that the log shows every number against its
limit; the first that fails gives the reason of the refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from schemas.outcome import GuardCheck
from services.executor.guards import (
    budget,
    caps,
    control_plane,
    cool_down,
    do_not_disrupt,
    kill_switch,
    last_ready_nodes,
    named_namespaces,
    named_nodes,
    ping_pong,
    replay,
    stale_decision,
    system_pods,
)
from services.executor.guards.question import Question

BEFORE_READING: tuple[Callable[[Question], GuardCheck], ...] = (
    replay.check,
    kill_switch.check,
    stale_decision.check,
)
"""Asked before the cluster is read."""
BEFORE_WRITING: tuple[Callable[[Question], GuardCheck], ...] = (
    system_pods.check,
    control_plane.check,
    do_not_disrupt.check,
    named_namespaces.check,
    named_nodes.check,
)
"""Asked with what the operations touch: of the whole plan, and again of each operation right before it
is written, also where it takes something back or completes an older plan.
"""
BEFORE_ACTING: tuple[Callable[[Question], GuardCheck], ...] = (
    cool_down.check,
    cool_down.check_after_failure,
    caps.check_node,
    caps.check_namespace,
    caps.check_workload,
    budget.check,
    ping_pong.check,
    last_ready_nodes.check,
)
"""Asked with the plan at hand."""


def ask_guards(
    guards: Iterable[Callable[[Question], GuardCheck]], question: Question
) -> tuple[GuardCheck, ...]:
    """Return every guard's answer."""
    return tuple(guard(question) for guard in guards)
