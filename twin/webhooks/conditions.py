"""Expressions in CEL about a request: `matchConditions` of webhooks and policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from twin.custom.cel import RuleError
from twin.custom.cel_requests import compile_expression, evaluate
from twin.records import Object


class ConditionError(Exception):
    """A condition that could not be evaluated, while no other one says no."""


def conditions_hold(
    conditions: Sequence[Mapping[str, Any]], asked: Object, values: dict[str, Any] | None = None
) -> bool:
    """Say whether all conditions hold for the request of a review; raises ConditionError.

    `values` are what they may look at, if that is more than the request.

    One that does not hold decides, whatever else cannot be evaluated.
    """
    if not conditions:
        return True
    if values is None:
        about = {name: each for name, each in asked.items() if name not in ("object", "oldObject")}
        shown = {"object": asked.get("object"), "oldObject": asked.get("oldObject")}
        values = {**shown, "request": about}
    problems = []
    for condition in conditions:
        try:
            if (
                evaluate(compile_expression(condition["expression"], tuple(values)), values)
                is not True
            ):
                return False
        except RuleError as error:
            text = condition["expression"]
            problems.append(f"expression '{text}' resulted in error: {error}")
    if problems:
        raise ConditionError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    return True
