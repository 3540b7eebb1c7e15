"""The referee's rules, one module each, in the order in which they are tried.

The order is the baseline's; the first rule that applies decides.

`highest_value` applies to proposals that state what they are expected to change, which the baseline's never do.
`safety_blind` is not in the baseline, where agent A always saw; with every prediction there it never
applies, so the baseline's order holds.
"""

from __future__ import annotations

from services.referee.rule import Rule
from services.referee.rules import (
    admission_protects,
    all_noop,
    efficiency_by_score,
    fixed_order,
    highest_value,
    no_proposals,
    safety_blind,
    safety_first,
)

RULES: tuple[Rule, ...] = (
    no_proposals.RULE,
    all_noop.RULE,
    highest_value.RULE,
    safety_first.RULE,
    admission_protects.RULE,
    efficiency_by_score.RULE,
    safety_blind.RULE,
    fixed_order.RULE,
)
"""In order; `fixed_order` always applies when it is reached."""
