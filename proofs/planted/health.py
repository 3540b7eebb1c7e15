"""Defects in why pods wait, and in when what looks like a failure is one."""

from __future__ import annotations

from proofs.planted.defect import Defect

_HEALTH = "tests/collector/test_health.py::"
_CHOICE = "tests/executor/test_waits_by_choice.py::"
HEALTH = (
    Defect(
        "a restart counts for good",
        "services/collector/pod_rows.py",
        "at is None or now - at < health.restart_seconds",
        "True",
        f"{_HEALTH}test_a_restart_counts_for_a_quarter_of_an_hour",
    ),
    Defect(
        "a pod has no time to start",
        "services/collector/pod_rows.py",
        "facts.begun_seconds is not None and now",
        "False and now",
        f"{_HEALTH}test_a_pod_has_time_to_start",
    ),
    Defect(
        "who is moved has failed",
        "services/collector/pod_rows.py",
        "facts.unhealthy and not facts.leaving and not starting",
        "facts.unhealthy and not starting",
        f"{_HEALTH}test_who_is_moved_or_deleted_has_not_failed",
    ),
    Defect(
        "who was told to wait is a queue",
        "services/collector/observe.py",
        "not node and kind not in WITHOUT_HELP for",
        "not node for",
        f"{_HEALTH}test_who_was_told_to_wait_is_no_pressure",
    ),
    Defect(
        "failures that have aged are still summed",
        "services/collector/pod_sums.py",
        "                self._count(counted, 1, places)",
        "                pass",
        "tests/collector/test_changed_objects.py::test_sums_of_changed_pods_are_those_of_all_pods",
    ),
    Defect(
        "Kueue's gate is any gate",
        "services/pending.py",
        "PendingClass.KUEUE if KUEUE in message else PendingClass.GATED",
        "PendingClass.GATED",
        f"{_HEALTH}test_who_was_told_to_wait_is_no_pressure",
    ),
    Defect(
        "a quota that refuses pods is not seen",
        "services/collector/held_back.py",
        "EXCEEDED in one.message",
        "not one.message",
        f"{_HEALTH}test_workloads_whose_pods_nobody_makes",
    ),
    Defect(
        "who waits by choice is held",
        "services/executor/cluster.py",
        "        if not pod.lacks_room:",
        "        if False:",
        f"{_CHOICE}test_who_waits_by_choice_is_never_held",
    ),
    Defect(
        "a Job of Kueue's is held",
        "services/executor/plans/admission.py",
        "        and not workload.queued\n",
        "",
        f"{_CHOICE}test_who_waits_by_choice_is_never_held",
    ),
)
