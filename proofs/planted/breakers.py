"""Defects in the breakers: what trips them, what they hold, and how they close; and in the targets left untouched."""

from __future__ import annotations

from proofs.planted.defect import Defect

_JUDGING = "tests/projections/breaker/test_judging.py::"
_EXECUTOR = "tests/executor/test_breaker.py::"
_SCOREBOARD = "tests/scoreboard/test_breakers.py::"
_DRAWS = "tests/agents/test_untouched_targets.py::"
_EFFECTS = "tests/projections/test_target_effects.py::"
_FILE = "projections/breaker/judging.py"

BREAKERS = (
    Defect(
        "the harm itself raises the budget",
        _FILE,
        "last.cost_money - first.cost_money - max(0.0, loss)",
        "10.0 * (last.cost_money - first.cost_money)",
        f"{_JUDGING}test_the_whole_trips_once_the_budget_is_lost",
    ),
    Defect(
        "a gain long ago pays for a loss",
        "projections/breaker/tally.py",
        "if now - point.time_seconds <= window)",
        "if now - point.time_seconds <= 10 * window)",
        f"{_JUDGING}test_a_loss_after_a_gain_counts_for_itself",
    ),
    Defect(
        "refusals by a breaker keep it tripped",
        "projections/breaker/tally.py",
        "if execution.reason in SAYS_NOTHING:",
        "if execution.reason is Reason.NOOP:",
        f"{_JUDGING}test_a_kind_that_is_hardly_ever_executed_trips",
    ),
    Defect(
        "one target that is turned to and fro stops its kind for all",
        _FILE,
        "if not often or often < settings.churn_ratio * len(turns):",
        "if not often:",
        f"{_JUDGING}test_one_target_of_many_that_is_turned_to_and_fro_does_not_stop_the_others",
    ),
    Defect(
        "a probation without any execution closes a breaker",
        _FILE,
        "now >= breaker.until_seconds and _was_tried(tally, breaker)",
        "now >= breaker.until_seconds",
        f"{_JUDGING}test_it_is_tried_again_and_closes_after_a_probation_without_harm",
    ),
    Defect(
        "what is rearmed remembers what tripped it",
        _FILE,
        "tally = _forget(tally, unit).model_copy",
        "tally = tally.model_copy",
        f"{_JUDGING}test_the_operator_closes_a_breaker",
    ),
    Defect(
        "dry runs do harm",
        "projections/breaker/tally.py",
        "execution.rollback_of or execution.mode is not Mode.ACTIVE or",
        "execution.rollback_of or",
        f"{_JUDGING}test_dry_runs_and_rollbacks_do_not_count",
    ),
    Defect(
        "what gives back is held",
        "services/executor/guards/breaker.py",
        "if not breakers or planned is None or planned.direction in GIVES_BACK:",
        "if not breakers or planned is None:",
        f"{_EXECUTOR}test_what_gives_back_is_never_held",
    ),
    Defect(
        "one kind's breaker holds every kind",
        "services/executor/breaker.py",
        "return tuple(one for one in state.breakers if one.unit in (WHOLE, kind))",
        "return state.breakers",
        f"{_EXECUTOR}test_other_kinds_go_on",
    ),
    Defect(
        "after churn what stands is taken back",
        "services/executor/breaker.py",
        "if one.state is BreakerState.SHADOW and one.cause in DID_HARM",
        "if one.state is BreakerState.SHADOW",
        f"{_EXECUTOR}test_what_stands_is_taken_back_after_harm",
    ),
    Defect(
        "what gives back is left untouched, too",
        "agent_registry/untouched_targets.py",
        "action.target.kind in ELIGIBLE and not gives_back(action, memory)",
        "action.target.kind in ELIGIBLE",
        f"{_DRAWS}test_what_gives_back_is_never_left",
    ),
    Defect(
        "every epoch leaves the same targets",
        "agent_registry/untouched_targets.py",
        "{target.name}/{epoch}",
        "{target.name}",
        f"{_DRAWS}test_the_share_that_is_left_is_the_ratio",
    ),
    Defect(
        "what is left is proposed all the same",
        "services/agents/value_judging.py",
        "return [one for one in wanted if one not in left], draw",
        "return list(wanted), draw",
        f"{_DRAWS}test_what_is_left_is_recorded_with_its_propensity_and_not_proposed",
    ),
    Defect(
        "an epoch that ends within the horizon counts",
        "projections/target_effects.py",
        "if ends > draw.ends_seconds:",
        "if now > draw.ends_seconds:",
        f"{_EFFECTS}test_units_whose_horizon_goes_beyond_their_epoch_are_left_out_on_both_sides",
    ),
    Defect(
        "marks do not outlast the execution",
        "services/scoreboard/touched.py",
        "if made - at <= reach]",
        "if made - at < 0.0]",
        "tests/scoreboard/test_scoreboard_handler.py::"
        "test_what_was_acted_upon_a_horizon_ago_is_still_left_out",
    ),
    Defect(
        "a change is owed for ever",
        "services/scoreboard/breakers.py",
        "if (one.change.cycle, one.change.unit) != place)",
        "if one.change.cycle >= 0)",
        f"{_SCOREBOARD}test_a_trip_is_published_once_with_its_numbers",
    ),
)
