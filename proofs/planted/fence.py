"""Defects in the transport's own check of writes, and in what bounds actions together."""

from __future__ import annotations

from proofs.planted.defect import Defect

_FENCE = "tests/executor/test_fence.py::"
_ZONES = "tests/executor/test_outage_guards.py::"
_NOTHING = "tests/executor/test_nothing_happens.py::"
FENCE = (
    Defect(
        "the transport lets every namespace be written",
        "services/executor/fence.py",
        "if not scope.has_namespace(namespace):",
        "if False:",
        f"{_FENCE}test_a_plan_that_no_guard_refused_stops_at_the_fence",
    ),
    Defect(
        "the transport lets any kind be written",
        "services/executor/fence.py",
        "if method not in _WRITES.get(kind, frozenset()):",
        "if False:",
        f"{_FENCE}test_what_lies_outside_reaches_nobody",
    ),
    Defect(
        "the transport lets shadow mode write",
        "services/executor/fence.py",
        "if self.mode is not Mode.ACTIVE and not dry:",
        "if False:",
        f"{_FENCE}test_in_shadow_mode_only_dry_runs_pass",
    ),
    Defect(
        "the transport takes a control-plane node for a worker",
        "services/executor/fence.py",
        "        if node.control_plane:",
        "        if False:",
        f"{_FENCE}test_nodes_need_the_label_and_no_control_plane",
    ),
    Defect(
        "a label that is gone still lets a namespace be written",
        "services/executor/reading.py",
        'asked = {"labelSelector": settings.namespace_label}',
        "asked: dict[str, str] = {}",
        f"{_FENCE}test_the_owners_of_a_namespace_let_it_be_written_by_a_label",
    ),
    Defect(
        "a zone in outage holds nothing",
        "services/executor/guards/unready_nodes.py",
        "if not stands and question.zone in zones:",
        "if False:",
        f"{_ZONES}test_the_brake_stands_zone_by_zone",
    ),
    Defect(
        "a paused executor begins",
        "services/executor/guards/kill_switch.py",
        "passed=not (state.killed or state.paused)",
        "passed=not state.killed",
        f"{_NOTHING}test_nothing_is_written",
    ),
)
