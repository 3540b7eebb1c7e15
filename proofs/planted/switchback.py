"""Defects in the switchback: its schedule, what keeps to it, and its estimate."""

from __future__ import annotations

from proofs.planted.defect import Defect

_SCHEDULE = "tests/projections/switchback/test_schedule.py::"
_TALLY = "tests/projections/switchback/test_tally.py::"
_EXECUTOR = "tests/executor/test_switchback.py::"
_SCOREBOARD = "tests/scoreboard/test_switched_blocks.py::"

SWITCHBACK = (
    Defect(
        "every unit has the cluster's coin",
        "projections/switchback/schedule.py",
        'f"switchback/{seed}/{pair}/{unit}"',
        'f"switchback/{seed}/{pair}/"',
        f"{_SCHEDULE}test_coins_are_fair_and_independent_over_pairs_seeds_and_units",
    ),
    Defect(
        "both blocks of a pair act",
        "projections/switchback/schedule.py",
        "return (block % 2 == 0) == acts_first(self.seed, block // 2, unit)",
        "return acts_first(self.seed, block // 2, unit)",
        f"{_SCHEDULE}test_one_block_of_each_pair_acts",
    ),
    Defect(
        "the wash-out counts",
        "projections/switchback/tally.py",
        "counted_from = block * settings.block_seconds + settings.wash_out_seconds",
        "counted_from = block * settings.block_seconds",
        f"{_TALLY}test_the_wash_out_and_steps_across_a_boundary_do_not_count",
    ),
    Defect(
        "first minus second, whichever acted",
        "projections/switchback/tally.py",
        "signs = 2 * len(pair.acting_first) - units",
        "signs = units",
        f"{_TALLY}test_the_estimate_is_acting_minus_holding_whichever_came_first",
    ),
    Defect(
        "intervals of the spread of pairs, not of their mean",
        "projections/switchback/tally.py",
        "error = math.sqrt(tally.squares / freedom / tally.used)",
        "error = math.sqrt(tally.squares / freedom)",
        f"{_TALLY}test_two_pairs_make_an_interval_one_does_not",
    ),
    Defect(
        "a block that does not act acts",
        "services/executor/guards/switchback.py",
        "return guard_check(guard, passed=not held,",
        "return guard_check(guard, passed=True,",
        f"{_EXECUTOR}test_a_block_that_does_not_act_refuses_with_its_number_and_end",
    ),
    Defect(
        "what acting did stands on in blocks that do not act",
        "services/executor/effects/roll_back.py",
        'return held_cause(switchback, execution, now_seconds) if switchback.enabled else ""',
        'return ""',
        f"{_EXECUTOR}test_what_stands_of_a_block_is_taken_back_when_one_begins_that_does_not_act",
    ),
    Defect(
        "a woken node is put to sleep again with its pods",
        "projections/standing.py",
        'GIVES_BACK = frozenset({"on", "open", "down"})',
        "GIVES_BACK = frozenset[str]()",
        f"{_EXECUTOR}test_what_gives_back_is_not_undone",
    ),
    Defect(
        "replicas that were given back are added again",
        "projections/standing.py",
        '"open", "down"})',
        '"open"})',
        f"{_EXECUTOR}test_replicas_are_taken_back_but_not_their_giving_back",
    ),
    Defect(
        "the oldest write is taken back first, and the next stays",
        "services/executor/effects/roll_back.py",
        "return reversed(state.executions) if many else state.executions",
        "return state.executions",
        f"{_EXECUTOR}test_several_writes_to_one_object_are_taken_back_to_where_they_began",
    ),
    Defect(
        "blocks of another schedule are added to",
        "services/scoreboard/switched_blocks.py",
        "if switched is None or switched.schedule != schedule:",
        "if switched is None:",
        f"{_SCOREBOARD}test_another_schedule_begins_anew",
    ),
)
