"""What expressions are worth, worked out by hand; the long table is compared with Prometheus itself."""

from __future__ import annotations

import math
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twin.promql.failures import Budget, QueryFailed
from twin.promql.numbers import json_number, number_text
from twin.promql.parsing import parse
from twin.tests.promql.given import Given

RISING = [30.0 * place for place in range(41)]  # 2 a second for 600 s


def test_rate_reaches_to_the_ends_of_its_window() -> None:
    """A counter that is sampled until just before the end is taken to have gone on."""
    made = Given({"x": RISING})
    assert made.ask("rate(x[1m])", 300) == {"": 2.0}
    assert made.ask("increase(x[1m])", 307) == pytest.approx({"": 120.0})
    # The window holds 285 and 300 alone; to both ends it is nearer than 1.1 distances.
    assert made.ask("increase(x[20s])", 304) == pytest.approx({"": 40.0})


def test_rate_does_not_reach_far_beyond_the_samples() -> None:
    """Half a distance is added where the samples end long before the window."""
    made = Given({"x": RISING[:21]})  # until 300 s
    # 260..300 are samples at 270, 285, 300: 60 risen in 30 s; 10 s to the start, 7.5 of the 20 to the end.
    assert made.ask("increase(x[1m])", 320) == pytest.approx({"": 60.0 / 30.0 * 47.5})


def test_rate_of_a_new_counter_does_not_begin_below_zero() -> None:
    """Extrapolation stops where the counter would have been zero."""
    made = Given({"x": [None, None, 3.0, 33.0, 63.0]})  # zero at 28.5 s
    assert made.ask("increase(x[1m])", 60) == pytest.approx({"": 63.0})


def test_a_fall_is_a_restart() -> None:
    """What a counter had before it fell is not lost."""
    made = Given({"x": [0.0, 10.0, 20.0, 5.0, 15.0]})
    assert made.ask("increase(x[1m])", 60) == pytest.approx({"": 35.0})
    assert made.ask("delta(x[1m])", 60) == pytest.approx({"": 15.0})
    assert made.ask("resets(x[1m])", 60) == {"": 1.0}
    assert made.ask("irate(x[1m])", 45) == pytest.approx({"": 5.0 / 15.0})


def test_a_sample_is_current_for_five_minutes() -> None:
    """The look-back holds its end, and not a millisecond more."""
    made = Given({"x": [7.0]})
    assert made.ask("x", 300) == {"": 7.0}
    assert made.ask("x", 300.001) == {}
    assert made.ask("x", -1) == {}
    assert made.over("x", 0, 600, 100) == {"": [7.0] * 4}
    assert made.ask("x offset 5m", 300) == {"": 7.0}
    assert made.ask("x @ 0", 9_999) == {"": 7.0}


def test_matching_is_one_to_one_unless_said() -> None:
    """Several partners are refused, group_left allows them, and labels can be taken over."""
    made = Given({'a{n="1",k="x"}': [4.0], 'a{n="1",k="y"}': [6.0], 'b{n="1",v="z"}': [2.0]})
    with pytest.raises(QueryFailed, match="many-to-one matching must be explicit"):
        made.ask("a / on(n) b", 0)
    assert made.ask("a / on(n) group_left(v) b", 0) == {"k=x,n=1,v=z": 2.0, "k=y,n=1,v=z": 3.0}
    assert made.ask("b / on(n) group_right a", 0) == {"k=x,n=1": 0.5, "k=y,n=1": 2.0 / 6.0}
    with pytest.raises(QueryFailed, match="many-to-many matching not allowed"):
        made.ask("b / on(n) a", 0)
    assert made.ask("sum by (n) (a) / ignoring(v) b", 0) == {"n=1": 5.0}
    assert made.ask("a and on(n) b > 5", 0) == {}
    assert made.ask("(a and on(n) b) > 5", 0) == {"k=y,n=1": 6.0}


def test_series_with_equal_labels_are_refused() -> None:
    """Two series that lose what told them apart are not mixed."""
    made = Given({"a": [1.0], "b": [2.0]})
    with pytest.raises(QueryFailed, match="same labelset"):
        made.ask('{__name__=~"a|b"} + 1', 0)
    with pytest.raises(QueryFailed, match="same labelset"):
        made.ask('label_replace({__name__=~"a|b"}, "__name__", "c", "", "")', 0)


def test_what_is_not_supported_is_named() -> None:
    """Never a wrong number: the function, aggregation or modifier is named."""
    made = Given({"x": RISING})
    for query, name in (
        ("histogram_count(x)", "histogram_count"),
        ("limitk(1, x)", "limitk"),
        ("mad_over_time(x[1m])", "mad_over_time"),
        ("sort_by_label(x, 'a')", "sort_by_label"),
        ('x{a="b" or c="d"}', "or"),
        ("holt_winters(x[5m], 0.1, 0.1)", "holt_winters"),
    ):
        with pytest.raises(QueryFailed, match=name) as refused:
            made.ask(query, 60)
        assert refused.value.kind == "bad_data"


@pytest.mark.parametrize(
    "query",
    [
        "(" * 20_000 + "x" + ")" * 20_000,
        "x" + "+x" * 5_000,
        "-" * 5_000 + "x",
        "sum(" * 100 + "x" + ")" * 100,
        r'x{a=~"(\\pL{100}){100}"}',
        r'x{a=~"((a{100}){100}){100}"}',
        'x{a="b',
        "x" * 20_000,
        "x # " + "(" * 2_000,
        "",
    ],
)
def test_a_hostile_text_is_refused_before_it_costs_much(query: str) -> None:
    """Nesting that would end the process, and texts that take quadratic time, never reach the parser."""
    if "#" in query:
        assert str(parse(query)) == "x{}"
        return
    with pytest.raises(QueryFailed):
        parse(query)


def test_raw_strings_and_expressions_are_read_as_prometheus_does() -> None:
    """Backslashes in backticks are no escapes; a hash in a string begins no comment."""
    made = Given({'x{a="b1#"}': [1.0]})
    assert made.ask(r"x{a=~`b\d#`} # the end", 0) == {"a=b1#": 1.0}
    assert made.ask(r'x{a=~"b\\d."}', 0) == {"a=b1#": 1.0}
    assert made.ask('x{a=~"b"}', 0) == {}  # anchored


def test_work_is_bounded() -> None:
    """A query over more than its budget is refused with Prometheus' words, as an execution error."""
    made = Given({f'x{{n="{number}"}}': RISING for number in range(20)})
    assert len(made.data("rate(x[5m])", 300, Budget(100_000))["result"]) == 20
    with pytest.raises(QueryFailed, match="too many samples") as refused:
        made.data("rate(x[5m])", 300, Budget(20_000))
    assert refused.value.kind == "execution"


def test_numbers_are_written_as_prometheus_writes_them() -> None:
    """No exponent between 1e-6 and 1e21, and words for what is no number."""
    shown = {value: json_number(value) for value in (0.1, 1e20, 1e-6, 1.5e21, 2e-7, -0.0, 3.0)}
    assert list(shown.values()) == [
        "0.1", "100000000000000000000", "0.000001", "1.5e+21", "2e-07", "-0", "3",
    ]  # fmt: skip
    assert [number_text(value) for value in (math.nan, math.inf, -math.inf)] == [
        "NaN",
        "+Inf",
        "-Inf",
    ]


STEPS = st.lists(st.floats(0.0, 1e6), min_size=4, max_size=40)


@given(st.floats(1e-3, 1e6), st.integers(0, 100))
def test_rate_of_a_straight_counter_is_its_slope(slope: float, start: int) -> None:
    """Wherever the window lies within the samples, and whatever the counter began with."""
    made = Given({"x": [start * 1e3 + slope * 15.0 * place for place in range(60)]})
    assert made.ask("rate(x[5m])", 600 + start) == pytest.approx({"": slope}, rel=1e-9)


@given(st.lists(STEPS, min_size=1, max_size=6))
def test_groups_add_up_to_the_whole(steps: list[list[float]]) -> None:
    """sum by, count by and rate by parts give what the whole gives."""
    counters = {
        f'x{{n="{number}",m="{number % 2}"}}': list(accumulate(values))
        for number, values in enumerate(steps)
    }
    made = Given(counters)
    assert made.ask("sum(x)", 0)[""] == pytest.approx(sum(values[0] for values in steps))
    for query in ("x", "increase(x[1m])", "x > 1e5"):
        whole = made.over(f"sum({query})", 0, 300, 20)
        parts = made.over(f"sum(sum by (m) ({query}))", 0, 300, 20)
        assert whole.keys() == parts.keys()
        for labels, values in whole.items():
            assert parts[labels] == pytest.approx(values, rel=1e-9)
        assert made.over(f"count({query})", 0, 300, 20) == made.over(
            f"sum(count by (m) ({query}))", 0, 300, 20
        )


@given(STEPS, st.integers(0, 30))
def test_a_range_query_is_its_instant_queries(values: list[float], begin: int) -> None:
    """Each step is what an instant query at that moment says."""
    made = Given({"x": list(accumulate(values)), 'x{a="b"}': [None, *values]})
    for query in ("x", "rate(x[1m])", "topk(1, x)", "sum_over_time(x[40s])", "max(x) - min(x)"):
        together = made.over(query, begin, begin + 100, 25)
        single = [made.ask(query, begin + at) for at in range(0, 101, 25)]
        assert sum(len(one) for one in single) == sum(len(one) for one in together.values())
        for labels, numbers in together.items():
            assert numbers == [one[labels] for one in single if labels in one]
