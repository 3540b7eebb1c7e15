"""`--assert 'churn <= baseline and reward >= baseline'`: does a result hold what was asked of it?

`baseline` alone stands for the same figure of the recording; `baseline.reward` for a named one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bus.errors import InputError
from schemas.expression_tree import Call, Compare, Node, Path
from schemas.expressions import Expression, ExpressionError, compile_expression

BASELINE = Path(("baseline",))


def read_assertion(text: str, known: Mapping[str, Any]) -> Expression:
    """Return a checked assertion.

    Args:
        text: the expression.
        known: the names that there are.

    Raises:
        InputError: it cannot be read, or speaks of a figure that there is not.
    """
    try:
        expression = compile_expression(text).rewritten(_of_baseline)
    except ExpressionError as error:
        raise InputError("--assert", text, str(error)) from error
    for path in expression.paths():
        value: Any = known
        for part in path.parts:
            if not isinstance(value, Mapping) or part not in value:
                names = ", ".join(sorted(name for name in known if name != "baseline"))
                raise InputError("--assert", path, f"use {names}, or baseline.NAME")
            value = value[part]
    if BASELINE in expression.paths():
        raise InputError("--assert", text, "compare one figure with baseline, or use baseline.NAME")
    return expression


def _of_baseline(comparison: Compare) -> Compare:
    """Let a bare `baseline` mean the figure on the other side."""
    left, right = (
        [path for path in _paths(side) if path != BASELINE]
        for side in (comparison.left, comparison.right)
    )
    if len(left) == 1 and not right:
        return Compare(comparison.left, comparison.sign, _with_name(comparison.right, left[0]))
    if len(right) == 1 and not left:
        return Compare(_with_name(comparison.left, right[0]), comparison.sign, comparison.right)
    return comparison


def _with_name(node: Node, figure: Path) -> Node:
    if node == BASELINE:
        return Path(("baseline", *figure.parts))
    if isinstance(node, Call):
        return Call(node.name, tuple(_with_name(argument, figure) for argument in node.arguments))
    return node


def _paths(node: Node) -> list[Path]:
    if isinstance(node, Path):
        return [node]
    if isinstance(node, Call):
        return [path for argument in node.arguments for path in _paths(argument)]
    return []
