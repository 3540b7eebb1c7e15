"""Defects in the promotion of risk models: what they are judged by, when they drive, and when they go back."""

from __future__ import annotations

from proofs.planted.defect import Defect

_JUDGING = "tests/projections/promotion/test_judging.py::"
_SKILL = "tests/projections/promotion/test_skill.py::"
_SCOREBOARD = "tests/scoreboard/test_promotion.py::"
_SHOWN = "tests/projections/promotion/test_shown.py::"
_INFERENCE = "tests/forecast/live/test_promoted_shadow.py::"
_FILE = "projections/promotion/judging.py"

PROMOTION = (
    Defect(
        "one good judgement is enough",
        _FILE,
        "turned = standing.judgements >= settings.judgements",
        "turned = standing.judgements >= 1",
        f"{_JUDGING}test_a_model_that_shows_skill_drives_after_two_judgements_in_a_row",
    ),
    Defect(
        "a skill above 0 is enough, whatever its interval",
        _FILE,
        "    if skill.low <= 0.0:",
        "    if (skill.value or 0.0) <= 0.0:",
        f"{_JUDGING}test_a_skill_that_may_be_chance_does_not_drive",
    ),
    Defect(
        "lift is not asked for",
        _FILE,
        "if lift.low > 1.0 else PromotionCause.NO_LIFT",
        "if lift.low >= 0.0 else PromotionCause.NO_LIFT",
        f"{_JUDGING}test_alarms_at_random_do_not_drive",
    ),
    Defect(
        "a model that went back may drive again at once",
        _FILE,
        "elif turned and standing.held_until_seconds <= now:",
        "elif turned:",
        f"{_JUDGING}test_what_went_back_waits_before_it_drives_again",
    ),
    Defect(
        "intervals forget that nodes fail again and again",
        "projections/promotion/skill.py",
        "for clusters in (by_block, list(groups.values()))",
        "for clusters in (by_block, by_block)",
        f"{_SKILL}test_a_few_nodes_that_decide_make_the_interval_wide",
    ),
    Defect(
        "nodes left on purpose count once",
        "services/scoreboard/promotion.py",
        "weight=1.0 / forecast.left.get(name, 1.0),",
        "weight=1.0,",
        f"{_SCOREBOARD}test_nodes_that_were_acted_upon_are_left_out_and_those_left_on_purpose_stand_for_them",
    ),
    Defect(
        "what was acted upon is judged",
        "services/scoreboard/promotion.py",
        "if name not in forecast.acted\n",
        "if name\n",
        f"{_SCOREBOARD}test_nodes_that_were_acted_upon_are_left_out_and_those_left_on_purpose_stand_for_them",
    ),
    Defect(
        "what nobody saw did not happen",
        "services/scoreboard/promotion.py",
        "if table is None or forecast.unseen:",
        "if table is None:",
        f"{_SCOREBOARD}test_where_nobody_looked_nothing_is_known",
    ),
    Defect(
        "a judgement is owed for ever",
        "services/scoreboard/promotion.py",
        "if one.judgement.cycle != cycle)",
        "if one.judgement.cycle >= 0)",
        f"{_SCOREBOARD}test_a_shadow_that_shows_skill_is_made_the_driver_once",
    ),
    Defect(
        "a judgement changes the cycle that is open",
        "services/inference/state.py",
        'return state.model_copy(update={"chosen": driving})',
        'return state.model_copy(update={"chosen": driving, "driving": driving})',
        f"{_INFERENCE}test_it_drives_from_the_observation_after_the_judgement_on",
    ),
    Defect(
        "a driver sees what a shadow would",
        "services/inference/state.py",
        "each_cycle = outputs.history_each_cycle or bool(state.chosen)",
        "each_cycle = outputs.history_each_cycle",
        f"{_INFERENCE}test_between_its_turns_as_a_shadow_a_driver_sees_what_has_just_happened",
    ),
    Defect(
        "an owner of the whole cluster is a ground",
        "services/inference/grounds.py",
        'if letter == "o":',
        'if letter == "":',
        "tests/forecast/live/test_grounds.py::"
        "test_another_workload_of_the_owner_is_a_ground_where_owners_tell_anything",
    ),
    Defect(
        "a model alarms where it abstains",
        "services/scoreboard/promotion.py",
        "ratio >= alarm and name not in abstained,",
        "ratio >= alarm,",
        f"{_SCOREBOARD}test_what_a_model_says_without_any_ground_is_no_alarm",
    ),
    Defect(
        "a judgement is explained as if it had been there before",
        "projections/cycle_record.py",
        '"judged" if event.cycle == self.cycle else "driven_by"',
        '"driven_by"',
        f"{_SHOWN}test_explain_names_the_judgement_by_which_a_cycle_was_predicted",
    ),
    Defect(
        "every judgement is news",
        "foresail/stack/showing.py",
        "if judged.driving != judged.before:",
        "if judged.driving:",
        f"{_SHOWN}test_a_running_stack_prints_a_change_of_the_driver_and_nothing_else_of_it",
    ),
    Defect(
        "the summary forgets which model drives",
        "projections/run_totals.py",
        "self.models = judged",
        "self.standing = ()",
        f"{_SHOWN}test_the_newest_judgement_is_in_the_overview_the_summary_and_the_tail",
    ),
    Defect(
        "the page shows the lower limit as the skill",
        "services/dashboard/sections.py",
        '"skill": one.skill,',
        '"skill": one.skill_low,',
        "tests/dashboard/test_page_state.py::test_the_page_says_which_model_of_risk_drives_and_why",
    ),
)
