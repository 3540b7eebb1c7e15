"""Expressions: what holds, what does not, and how mistakes are told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.expression_tree import Compare, Path
from schemas.expressions import ExpressionError, compile_expression

EVENT: dict[str, Any] = {
    "score": 0.9,
    "reason": None,
    "succeeded": True,
    "rule": "risk >= 0.83",
    "action": {"kind": "replicate", "target": {"name": "node-7"}},
    "considered": [{"agent": "safety", "score": 0.9}, {"agent": "admission", "score": 0.5}],
    "overridden": {"admission": {"rule": "safety_first"}},
    "nodes": {"ids": ["a", "b"], "risk_ratio": [0.1, 0.95]},
    "missing": [],
}


@pytest.mark.parametrize(
    "text",
    [
        "score > 0.8",
        "score>=0.9 and not score > 0.9",
        "action.kind == 'replicate'",
        'action.target.name ~ "node"',
        "considered.score < 0.6",
        "considered[1].score == 0.5",
        "considered.agent == 'admission'",
        "overridden.admission.rule == 'safety_first'",
        "overridden['admission'].rule in ['safety_first', 'all_noop']",
        "nodes.risk_ratio > 0.9",
        "'b' in nodes.ids",
        "max(nodes.risk_ratio) == 0.95 and len(considered) == 2",
        "sum(considered.score) == 1.4",
        "score * 2 - 0.8 == 1",
        "reason == null and nowhere.at.all == null",
        "succeeded",
        "not missing",
        "score > 2 or (score > 0 and succeeded == true)",
        "-score < 0",
    ],
)
def test_what_is_so_holds(text: str) -> None:
    """Each form of the language finds what the event says."""
    assert compile_expression(text).holds(EVENT)


@pytest.mark.parametrize(
    "text",
    [
        "score > 0.9",
        "nowhere > 0",
        "nowhere < 0",
        "rule > 3",
        "succeeded > 0",
        "score / 0 > 1",
        "considered[7].score > 0",
        "reason != null",
        "max(missing) > 0",
        "rule in 'risk'",
    ],
)
def test_what_is_not_so_does_not(text: str) -> None:
    """A missing value, another type and a division by zero are never greater or smaller."""
    assert not compile_expression(text).holds(EVENT)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "it is empty"),
        ("score = 1", "write == to compare at character 7"),
        ("score > ", "expected a name or a value, found the end"),
        ("score > 0.8)", "expected nothing more, found `)`"),
        ("1 < score < 2", "comparisons do not chain"),
        ("a && b", "write `and`"),
        ("rule == 'open", "no closing quote"),
        ("open('x')", "no function open"),
        ("a.", "expected a name after `.`"),
        ("a[1.5]", "whole number"),
        ("(" * 60 + "1" + ")" * 60, "more than 30 levels"),
        ("1 + " * 200, "longer than 500 characters"),
    ],
)
def test_a_mistake_is_one_sentence_with_its_place(text: str, what: str) -> None:
    """The error says what is wrong, where, and in which expression."""
    with pytest.raises(ExpressionError) as caught:
        compile_expression(text)
    assert what in str(caught.value)
    assert "\n" not in str(caught.value)


def test_its_names_can_be_asked_for_and_its_comparisons_changed() -> None:
    """Callers check names before they run, and give words of their own a meaning."""
    actual = compile_expression("churn <= baseline and considered[0].score > 1")

    assert [str(path) for path in actual.paths()] == ["churn", "baseline", "considered[0].score"]

    def of_baseline(comparison: Compare) -> Compare:
        if comparison.right == Path(("baseline",)) and isinstance(comparison.left, Path):
            return Compare(
                comparison.left, comparison.sign, Path(("baseline", *comparison.left.parts))
            )
        return comparison

    changed = compile_expression("churn <= baseline").rewritten(of_baseline)
    assert changed.holds({"churn": 3, "baseline": {"churn": 3}})
    assert not changed.holds({"churn": 4, "baseline": {"churn": 3}})


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab.01<>=!()[]'\"+-*/~ andortni,", max_size=40))
def test_no_text_breaks_it(text: str) -> None:
    """Any text is read, and gives true or false, or is refused with an ExpressionError."""
    try:
        actual = compile_expression(text)
    except ExpressionError:
        return
    assert actual.holds({"a": [1, {"b": 2}], "b": "x"}) in (True, False)
