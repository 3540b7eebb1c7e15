"""Defects in what experiments are judged by."""

from __future__ import annotations

from proofs.planted.defect import Defect

TESTS = "tests/lab/experiments"

EXPERIMENTS = (
    Defect(
        "replicas that an arm takes away cost it nothing",
        "foresail/experiment/trial.py",
        "= score + withheld\n",
        "= score\n",
        f"{TESTS}/test_unfairness.py::test_demand_that_is_taken_away_costs",
    ),
    Defect(
        "results of arms that met other demand are compared",
        "lab/experiments/pairing.py",
        "arm.stimulus != reference.stimulus",
        "arm.workload != reference.workload",
        f"{TESTS}/test_unfairness.py::test_a_surge_that_one_arm_alone_met_is_refused",
    ),
    Defect(
        "the moment at which demand comes is not part of it",
        "lab/experiments/stimulus.py",
        "*(record.created_at, change.resource,",
        "*(change.resource,",
        f"{TESTS}/test_unfairness.py::test_a_stimulus_that_came_later_is_refused",
    ),
    Defect(
        "an HPA of one replica passes for a baseline",
        "lab/experiments/arms.py",
        "max(1.0, self.least_ratio) < self.most_ratio",
        "min(1.0, self.least_ratio) <= self.most_ratio",
        f"{TESTS}/test_unfairness.py::test_an_hpa_that_may_not_scale_is_refused",
    ),
    Defect(
        "a Job gets past Kueue when it is the first of its namespace",
        "foresail/experiment/job_queues.py",
        "every_job=True",
        "every_job=False",
        f"{TESTS}/test_job_queues.py::test_no_job_gets_past_the_queue",
    ),
    Defect(
        "the oracle puts machines to sleep that a Job is coming to",
        "foresail/experiment/oracle.py",
        "if node.name in used or node.name in occupied",
        "if node.name in occupied",
        f"{TESTS}/test_oracle.py::test_an_occupied_machine_is_never_put_to_sleep",
    ),
    Defect(
        "random proposals are not those of the recorded seed",
        "services/agents/settings.py",
        'return {"random_seed": self.random_seed}',
        "return {}",
        "tests/agents/test_random_choice.py::test_a_recording_says_what_was_drawn_from",
    ),
    Defect(
        "an arm's trial without a result leaves the comparison quietly",
        "lab/experiments/pairing.py",
        "                if side is None\n",
        "                if side is None and name == reference\n",
        f"{TESTS}/test_pairing.py::test_a_trial_without_a_result_is_named",
    ),
    Defect(
        "a value that one arm lacks passes for nothing",
        "lab/experiments/gate.py",
        "if len(value.arms) == 1]",
        "if len(value.arms) > 2]",
        f"{TESTS}/test_gate.py::test_a_value_that_one_arm_alone_has_fails",
    ),
    Defect(
        "a workload of fewer pairs weighs less",
        "lab/experiments/effects.py",
        "math.fsum(_total(one) / len(one) for one in values) / len(values)",
        "math.fsum(map(_total, values)) / sum(map(len, values))",
        f"{TESTS}/test_statistics.py::test_workloads_weigh_the_same_whatever_their_pairs",
    ),
    Defect(
        "less is taken for worse whatever the metric",
        "lab/experiments/effects.py",
        '        if metric.better == "higher":\n            return self\n',
        "        if metric.better:\n            return self\n",
        f"{TESTS}/test_statistics.py::test_what_is_more_is_good_or_bad_by_the_metric",
    ),
    Defect(
        "p-values over arms fall again",
        "lab/experiments/statistics.py",
        "largest = max(largest, min(",
        "largest = max(0.0, min(",
        f"{TESTS}/test_statistics.py::test_p_values_over_arms_are_holms",
    ),
    Defect(
        "a guard looks at the mean instead of the whole interval",
        "lab/experiments/gate.py",
        "if effect.gain.low < -margin:",
        "if effect.gain.value < -margin:",
        f"{TESTS}/test_gate.py::test_a_guards_whole_interval_has_to_lie_within",
    ),
    Defect(
        "four lucky worlds pass the gate",
        "lab/experiments/gate.py",
        "(found.low > 0.0) & confirmed",
        "(found.low > 0.0) | confirmed",
        f"{TESTS}/test_gate.py::test_few_lucky_worlds_are_not_enough",
    ),
    Defect(
        "harm is called unclear",
        "lab/experiments/effects.py",
        "    if gain.high < 0.0:\n        return",
        "    if gain.high < 0.0 and p < 0.0:\n        return",
        f"{TESTS}/test_report.py::test_the_first_screen_says_what_helps_and_what_harms",
    ),
    Defect(
        "a pod that nobody replaces was never lost",
        "lab/experiments/recovery.py",
        "lengths = [*self._lengths, *still]",
        "lengths = list(self._lengths)",
        f"{TESTS}/test_truth.py::test_a_lost_pod_counts_until_another_takes_its_place",
    ),
    Defect(
        "a report may look at the test split as often as it likes",
        "lab/experiments/split_uses.py",
        'if by == "run" and line in',
        "if line in",
        f"{TESTS}/test_run.py::test_every_look_at_the_test_split_is_counted",
    ),
    Defect(
        "a removed Job is nobody's loss",
        "lab/experiments/truth.py",
        'self._waiting.payers.count(payer_of(job, "jobs"), "jobs_dropped")',
        'self._waiting.payers.count("", "jobs_dropped")',
        f"{TESTS}/test_truth.py::test_work_that_is_suspended_or_removed_is_somebodys",
    ),
    Defect(
        "an arm is compared on what the reference cannot have",
        "lab/experiments/statistics.py",
        "    for metric in COMPARED:",
        '    for metric in (*COMPARED, "forecast_skill"):',
        f"{TESTS}/test_report.py::test_what_is_of_an_arm_by_itself_is_not_compared",
    ),
    Defect(
        "an interrupted trial leaves half a recording",
        "lab/experiments/run.py",
        "task.unfinished_recording.unlink(missing_ok=True)",
        "pass",
        f"{TESTS}/test_interruption.py::test_ctrl_c_ends_a_run_with_one_line[1]",
    ),
    Defect(
        "the oracle chooses and does nothing",
        "foresail/experiment/oracle.py",
        "apply(self._engine, best)",
        "apply(self._engine, ())",
        f"{TESTS}/test_oracle_experiment.py::test_regret_is_what_an_arm_leaves_behind_the_oracle",
    ),
    Defect(
        "an action is compared with itself",
        "foresail/experiment/branch_run.py",
        "_play(point, point.without, settings, acts=False)",
        "_play(point, point.without, settings, acts=True)",
        "tests/lab/calibration/test_branches.py::test_an_action_is_worth_what_it_changes",
    ),
)
