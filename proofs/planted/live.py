"""Defects in the comparison of two clusters, and in the forms that the predecessors' verbs have here."""

from __future__ import annotations

from proofs.planted.defect import Defect

LIVE_TESTS = "tests/lab/live"

LIVE = (
    Defect(
        "one cluster keeps a load that the other refused",
        "lab/live/stage.py",
        "        if problems:\n            await self._clear()\n",
        "        if problems:\n",
        f"{LIVE_TESTS}/test_live.py::test_a_load_that_one_cluster_refuses_neither_keeps",
    ),
    Defect(
        "a comparison that is stopped leaves its load",
        "lab/live/stage.py",
        "            try:\n                await self._clear()\n            finally:",
        "            try:\n                pass\n            finally:",
        f"{LIVE_TESTS}/test_live.py::test_a_comparison_that_is_stopped_leaves_nothing_behind",
    ),
    Defect(
        "demand that somebody scaled away is no cost",
        "lab/live/windows.py",
        "lambda level: max(0.0, asked - level)",
        "lambda level: max(0.0, level - asked)",
        f"{LIVE_TESTS}/test_live.py::test_taking_demand_away_is_a_cost",
    ),
    Defect(
        "a cordoned machine counts as room",
        "lab/live/loads.py",
        "        cluster: [node for node in known if node.schedulable] for",
        "        cluster: list(known) for",
        f"{LIVE_TESTS}/test_live_parts.py::test_clusters_are_equal_by_the_room_that_takes_pods",
    ),
    Defect(
        "use of a part of the machines is taken for the whole",
        "lab/live/figures.py",
        "if known and len(known) == len(values) else",
        "if known else",
        f"{LIVE_TESTS}/test_live_parts.py::test_what_was_not_seen_is_no_zero",
    ),
    Defect(
        "a few windows make a winner",
        "lab/live/scorecards.py",
        "LEAST_WINDOWS = 5",
        "LEAST_WINDOWS = 2",
        f"{LIVE_TESTS}/test_live_parts.py::test_better_needs_enough_windows_and_an_interval",
    ),
    Defect(
        "a reset begins before the old pods are gone",
        "lab/live/baseline_cluster.py",
        "        if not left:\n",
        "        if left or not left:\n",
        f"{LIVE_TESTS}/test_live_commands.py::test_the_preset_begins_anew_in_every_cluster",
    ),
    Defect(
        "a suite passes with its last gate",
        "foresail/experiment/suite_action.py",
        "return ExitCode.GOOD if passed == len(rows) else ExitCode.DIFFERS",
        "return ExitCode.GOOD if passed else ExitCode.DIFFERS",
        "tests/lab/experiments/test_suite.py::test_a_suite_passes_when_every_gate_does",
    ),
    Defect(
        "what a refused action earned counts as earned",
        "lab/experiments/reward_audit.py",
        'end in ("dry run", "refused", "failed")',
        'end in ("dry run", "failed")',
        "tests/lab/experiments/test_reward_audit.py::test_what_is_paid_for_refused_actions_is_named",
    ),
    Defect(
        "an alarm at its own threshold is none",
        "lab/forecast/risk/metrics.py",
        "alarmed = p >= threshold",
        "alarmed = p > threshold",
        "tests/forecast/risk/test_metrics.py::test_a_threshold_counts_what_is_at_and_above_it",
    ),
    Defect(
        "an empty bin has a calibration error",
        "lab/forecast/risk/metrics.py",
        "errors = (abs(bin_.expected - bin_.observed) / bin_.rows for bin_ in bins if bin_.rows)",
        "errors = (abs(bin_.expected - bin_.observed) / max(1, bin_.rows) + 0.5 for bin_ in bins)",
        "tests/forecast/risk/test_metrics.py::test_the_largest_calibration_error_is_that_of_the_worst_bin",
    ),
    Defect(
        "a measured rate begins at its own clock",
        "lab/workloads/measured_rates.py",
        "        (at - begin, rate)\n",
        "        (at, rate)\n",
        "tests/foresail/twin/test_rates.py::test_an_exported_csv_becomes_a_rate_file",
    ),
)
