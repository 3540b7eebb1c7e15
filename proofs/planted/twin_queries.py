"""Defects in how the embedded cluster answers PromQL."""

from __future__ import annotations

from proofs.planted.defect import Defect

_EVALUATOR = "twin/tests/promql/test_evaluator.py::"
_STORE = "twin/tests/samples/test_store.py::"
_SCRAPER = "twin/tests/samples/test_scraper.py::"
_API = "twin/tests/api/test_prometheus_api.py::"

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
    Defect(
        "a sample is kept although nothing has changed",
        "twin/samples/store.py",
        "if not series.there or series.value != value:",
        "if True:",
        f"{_STORE}test_what_does_not_change_is_kept_once",
    ),
    Defect(
        "a series that is gone is current for five minutes",
        "twin/samples/store.py",
        "stacked[:, there], ended)",
        "stacked[:, there])",
        f"{_STORE}test_a_series_is_gone_with_the_scrape_that_lacks_it",
    ),
    Defect(
        "a scrape shows before it is whole",
        "twin/samples/store.py",
        "        first, times = self._scrapes\n        series.pairs.extend((first + len(times), value))",
        "        first, times = self._scrapes\n        series.pairs.extend((first + len(times) - 1, value))",
        f"{_STORE}test_a_scrape_shows_when_it_is_whole",
    ),
    Defect(
        "what is kept moves when old samples are dropped",
        "twin/samples/store.py",
        "pairs[keep + 2] <= first",
        "pairs[keep + 2] <= first + 5",
        f"{_STORE}test_old_samples_are_dropped_and_others_stay_as_they_were",
    ),
    Defect(
        "samples may take any memory",
        "twin/samples/store.py",
        "            if self.bytes > self._most_bytes and kept > 1:\n",
        "            if self.bytes > self._most_bytes and kept > 9_999:\n",
        f"{_STORE}test_bytes_are_bounded_and_readers_are_warned",
    ),
    Defect(
        "a deleted object's series stay",
        "twin/samples/scraper.py",
        "            self._replace(known.pop(uid), {})\n",
        "            known.pop(uid)\n",
        f"{_SCRAPER}test_what_is_deleted_is_gone_at_the_next_scrape",
    ),
    Defect(
        "an object is read only once",
        "twin/samples/scraper.py",
        "if entry.version != record.resource_version:",
        "if entry.version < 0:",
        f"{_SCRAPER}test_a_change_of_an_object_shows_and_what_it_was_does_not",
    ),
    Defect(
        "scrapes are at other moments after a restart",
        "twin/samples/scraper.py",
        "math.ceil((engine.now - self._start) / settings.scrape_seconds)",
        "(engine.now - self._start) / settings.scrape_seconds",
        f"{_SCRAPER}test_scrapes_are_at_even_times_whenever_it_begins",
    ),
    Defect(
        "everybody may ask",
        "twin/api/server.py",
        'require_path("GET", "/metrics")',
        'require_path("GET", request.path)',
        f"{_API}test_only_who_may_scrape_may_ask",
    ),
)
