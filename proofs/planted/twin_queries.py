"""Defects in how the embedded cluster answers PromQL."""

from __future__ import annotations

from proofs.planted.defect import Defect

_EVALUATOR = "tests/twin/promql/test_evaluator.py::"

TWIN_QUERIES = (
    Defect(
        "a rate is not extrapolated to its window's end",
        "twin/promql/windows.py",
        "    covered = covered + np.where(to_end < near, to_end, distance / 2.0)\n",
        "",
        f"{_EVALUATOR}test_rate_reaches_to_the_ends_of_its_window",
    ),
    Defect(
        "a rate is extrapolated however far its window reaches",
        "twin/promql/windows.py",
        "np.where(to_end < near, to_end, distance / 2.0)",
        "to_end",
        f"{_EVALUATOR}test_rate_does_not_reach_far_beyond_the_samples",
    ),
    Defect(
        "a new counter is extrapolated below zero",
        "twin/promql/windows.py",
        "    if counter:  # it does not begin below zero\n",
        "    if False:\n",
        f"{_EVALUATOR}test_rate_of_a_new_counter_does_not_begin_below_zero",
    ),
    Defect(
        "what a counter had before it fell is lost",
        "twin/promql/windows.py",
        "risen = risen + _lost_at_resets(window)",
        "pass",
        f"{_EVALUATOR}test_a_fall_is_a_restart",
    ),
    Defect(
        "a sample is current for ever",
        "twin/promql/evaluator.py",
        "there &= batch.times[places] >= moments - self.lookback_ms",
        "there &= batch.times[places] >= 0",
        f"{_EVALUATOR}test_a_sample_is_current_for_five_minutes",
    ),
    Defect(
        "several partners of a series are all taken",
        "twin/promql/operators.py",
        "    if not matching.many:\n        _refuse_several",
        "    if False:\n        _refuse_several",
        f"{_EVALUATOR}test_matching_is_one_to_one_unless_said",
    ),
    Defect(
        "series that differed only by name are mixed",
        "twin/promql/values.py",
        "                    raise QueryFailed(message)\n",
        "                    continue\n",
        f"{_EVALUATOR}test_series_with_equal_labels_are_refused",
    ),
    Defect(
        "any nesting reaches the parser",
        "twin/promql/parsing.py",
        "            if depth > DEEPEST:\n",
        "            if depth > 200:\n",
        f"{_EVALUATOR}test_a_hostile_text_is_refused_before_it_costs_much",
    ),
    Defect(
        "a query may take any amount of work",
        "twin/promql/failures.py",
        "        if self._left < 0:\n",
        "        if self._all < 0:\n",
        f"{_EVALUATOR}test_work_is_bounded",
    ),
    Defect(
        "groups forget a part of their series",
        "twin/promql/aggregation.py",
        "np.add.reduceat(values, self.starts, axis=0)",
        "values[self.starts]",
        f"{_EVALUATOR}test_groups_add_up_to_the_whole",
    ),
)
