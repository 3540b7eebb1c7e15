"""Defects in what models are trained and judged by."""

from __future__ import annotations

from proofs.planted.defect import Defect

_RATES = "tests/forecast/live/test_failure_rates.py::"
_FOLLOWED = "tests/forecast/live/test_followed_rates.py::"

FORECAST = (
    Defect(
        "a failure at the anchor's own microsecond is a label",
        "lab/forecast/labels.py",
        "(end > time) &",
        "(end >= time) &",
        "tests/forecast/data/test_labels.py::test_the_horizon_is_open_at_its_start_and_closed_at_its_end",
    ),
    Defect(
        "a failure at the horizon's end is no label",
        "lab/forecast/labels.py",
        "(end <= time + horizon_us)",
        "(end < time + horizon_us)",
        "tests/forecast/data/test_labels.py::test_the_horizon_is_open_at_its_start_and_closed_at_its_end",
    ),
    Defect(
        "what died with its machine is the program's failure",
        "features/live/failure_rates.py",
        "            self.machines.add(node)\n            return\n",
        "            self.machines.add(node)\n",
        f"{_RATES}test_what_died_with_its_machine_is_no_failure_of_the_program",
    ),
    Defect(
        "what fails again counts as a first failure",
        "features/live/failure_rates.py",
        "            self.again = self.again.plus(1.0, 0.0)\n",
        "            self.cluster = self.cluster.plus(1.0, 0.0)\n",
        f"{_RATES}test_what_fails_again_is_no_first_failure",
    ),
    Defect(
        "repetition that does not come teaches nothing",
        "features/live/failure_rates.py",
        "again=self.again.times(kept).plus(0.0, self.due.again * step)",
        "again=self.again.times(kept)",
        f"{_RATES}test_repetition_that_does_not_come_lowers_what_is_expected_of_it",
    ),
    Defect(
        "what is found at the first look has just started",
        "features/live/failure_rates.py",
        "            if not found and not again:\n",
        "            if not again:\n",
        f"{_RATES}test_starts_are_expected_where_they_were_but_not_from_the_first_look",
    ),
    Defect(
        "a program that owns the cluster is a ground",
        "services/inference/adapted_risk.py",
        " & is_a_group(programs, rows.pods)",
        "",
        f"{_FOLLOWED}test_a_program_that_is_the_cluster_is_no_ground",
    ),
    Defect(
        "a shadow counts nothing between its turns",
        "services/inference/state.py",
        "    if with_changes or any(each.repeats(snapshot) for each in rates.values()):\n",
        "    if with_changes:\n",
        f"{_FOLLOWED}test_as_a_shadow_that_speaks_seldom_it_says_the_same",
    ),
    Defect(
        "a checkpoint forgets what is expected until the next observation",
        "features/live/rates_text.py",
        '        due=Due(*content["due"]),\n',
        "",
        f"{_FOLLOWED}test_restarted_from_a_checkpoint_it_predicts_the_same",
    ),
)
