"""Defects in the outcome score and in the untouched world."""

from __future__ import annotations

from proofs.planted.defect import Defect

_SCORE = "tests/projections/score/test_score.py::"
_LEDGER = "tests/collector/test_work_ledger.py::"
_WORLDS = "tests/scoreboard/test_scored_worlds.py::"
_JOURNAL = "tests/untouched/test_journal_writes.py::"
_VIRTUAL = "tests/untouched/test_virtual_worlds.py::"

SCORE = (
    Defect(
        "lost requests earn",
        "projections/score/money.py",
        '"requests_lost": -prices.request_lost_million',
        '"requests_lost": prices.request_lost_million',
        f"{_SCORE}test_served_requests_earn_and_others_cost",
    ),
    Defect(
        "machines that could not be read cost nothing",
        "projections/score/tally.py",
        "levels=tally.levels if look.levels is None else look.levels",
        "levels=Levels() if look.levels is None else look.levels",
        f"{_SCORE}test_levels_that_are_not_shown_go_on",
    ),
    Defect(
        "slow answers are no violation",
        "projections/score/tally.py",
        "bad = step.failed + step.lost + slow",
        "bad = step.failed + step.lost",
        f"{_SCORE}test_a_service_violates_its_slo_beyond_one_bad_request_in_a_hundred",
    ),
    Defect(
        "a gap of the metrics loses what was served in it",
        "projections/score/tally.py",
        "return now.model_copy(update=dict(kept)) if kept else now",
        "return now",
        f"{_SCORE}test_counters_that_are_not_shown_are_made_up_for_and_new_ones_begin_anew",
    ),
    Defect(
        "a dropped Job counts as completed",
        "services/collector/work_ledger.py",
        "if job.ttl_seconds is not None and job.ttl_seconds <= elapsed:",
        "if job.ttl_seconds is not None:",
        f"{_LEDGER}test_a_job_that_is_removed_before_its_end_is_dropped",
    ),
    Defect(
        "a completed Job counts again in every cycle",
        "services/collector/work_ledger.py",
        "if now.ended and not earlier.ended:",
        "if now.ended:",
        f"{_LEDGER}test_a_completed_job_counts_once_and_stays_when_its_ttl_removes_it",
    ),
    Defect(
        "a workload that shrinks loses pods by eviction",
        "services/collector/work_ledger.py",
        "replaced += max(0, count - max(0, fewer[workload]))",
        "replaced += count",
        f"{_LEDGER}test_a_running_pod_that_is_replaced_is_an_eviction_and_a_smaller_workload_is_none",
    ),
    Defect(
        "held demand is free of charge",
        "services/collector/work_ledger.py",
        "if not _job_now(job).ended:",
        "if _job_now(job).ended:",
        f"{_LEDGER}test_held_demand_counts_suspended_jobs_and_deployments_that_were_scaled_down",
    ),
    Defect(
        "worlds of different cycles are compared",
        "services/scoreboard/scored_worlds.py",
        "if own.cycle == look.cycle), None)",
        "if own.cycle >= look.cycle), None)",
        f"{_WORLDS}test_without_a_common_step_nothing_is_compared",
    ),
    Defect(
        "the executor's writes reach the untouched world",
        "foresail/untouched/journal_writes.py",
        "if by != EXECUTOR.name:",
        "if by:",
        f"{_JOURNAL}test_what_others_wrote_comes_once_and_in_time",
    ),
    Defect(
        "a look sees writes that came after it",
        "foresail/untouched/world.py",
        "seen = before if at == time_seconds else seen",
        "seen = seen if at == time_seconds else before",
        f"{_JOURNAL}test_a_look_sees_what_was_written_before_it_and_no_later_write_of_its_moment",
    ),
    Defect(
        "the exerciser's load is missing in the untouched world",
        "foresail/stack/virtual.py",
        '{"collector": mirrored, "exerciser": mirrored} if twice else {}',
        '{"collector": mirrored} if twice else {}',
        f"{_VIRTUAL}test_the_exercisers_writes_are_mirrored",
    ),
    Defect(
        "more waiting is shown as a gain",
        "projections/score/effect.py",
        "value if self.more_is_better else -value",
        "value",
        "tests/projections/score/test_effect.py::test_figures_are_in_the_units_that_people_ask_for",
    ),
    Defect(
        "an incident is blamed for what acting changed before it",
        "projections/incidents/acting.py",
        "earlier = before[-1] if before else None",
        "earlier = None",
        "tests/timeline/test_rules.py::test_an_incident_says_what_acting_changed_while_it_went_on",
    ),
    Defect(
        "the worlds part after the executor has written",
        "foresail/untouched/common_world.py",
        """            self._world.part()
        return await self._inner.request(method, path, query, body, content_type)
""",
        """            answer = await self._inner.request(method, path, query, body, content_type)
            self._world.part()
            return answer
        return await self._inner.request(method, path, query, body, content_type)
""",
        f"{_VIRTUAL}test_the_untouched_world_is_a_run_in_shadow_mode_to_the_byte",
    ),
    Defect(
        "what the untouched world shows before the worlds part is read from the acted one later",
        "foresail/untouched/common_world.py",
        "return self._looks.pop(cycle, None)",
        "return None",
        f"{_VIRTUAL}test_as_long_as_nobody_acts_there_is_one_world",
    ),
    Defect(
        "list items are kept although their object has changed",
        "twin/render/item_cache.py",
        "if known is not None and known[0] == record.resource_version:",
        "if known is not None:",
        "twin/tests/api/test_one_version.py::test_kept_list_items_follow_every_change",
    ),
)
