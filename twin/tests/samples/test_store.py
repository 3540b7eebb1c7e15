"""Samples in memory: what is kept, what is dropped, and what a query sees of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from twin.exporters.family import EngineFamilies, Exporters, Family
from twin.promql.queries import instant_query
from twin.samples.store import PAIR_BYTES, SERIES_BYTES, SampleStore

FAMILY = Family("x", "gauge", "A test.", ("a",), (("job", "j"),))
CORES = Family("cores", "counter", "Another.", ("node", "cpu"))
EXPORTERS = Exporters((), (EngineFamilies((FAMILY, CORES), lambda _: iter(())),))


def _store(**limits: int) -> SampleStore:
    settings = {"most_bytes": 1 << 20, "retention_ms": 3_600_000, **limits}
    return SampleStore(EXPORTERS, settings["most_bytes"], settings["retention_ms"])


def _scrape(store: SampleStore, second: int, values: dict[str, float]) -> None:
    """Take one scrape in which exactly these series are there."""
    store.begin(second * 1_000)
    kept = {name: store.put("x", (name,), value) for name, value in values.items()}
    for values_of, series in list(store._tables.get("x", {}).items()):
        if values_of[0] not in kept:
            store.end(series)
    store.commit()
    for _ in store.trim():
        pass


def _ask(store: SampleStore, query: str, second: float) -> dict[str, float]:
    data: Any = instant_query(store, query, round(second * 1_000))
    return {one["metric"].get("a", ""): float(one["value"][1]) for one in data["result"]}


def test_what_does_not_change_is_kept_once() -> None:
    """A constant series costs one pair, and every scrape of it is there all the same."""
    store = _store()
    for second in range(0, 600, 15):
        _scrape(store, second, {"same": 5.0, "rises": float(second)})
    assert store.bytes == 2 * SERIES_BYTES + 41 * PAIR_BYTES
    assert _ask(store, "count_over_time(x[5m])", 585) == {"same": 21.0, "rises": 21.0}
    assert _ask(store, "sum_over_time(x[1m])", 585)["same"] == 25.0
    assert _ask(store, 'rate(x{a="rises"}[5m])', 585) == pytest.approx({"rises": 1.0})


def test_a_series_is_gone_with_the_scrape_that_lacks_it() -> None:
    """No look-back of five minutes for what a scrape did not find; it may come back."""
    store = _store()
    _scrape(store, 0, {"goes": 1.0, "stays": 1.0})
    _scrape(store, 15, {"stays": 1.0})
    _scrape(store, 30, {"goes": 2.0, "stays": 1.0})
    assert _ask(store, "x", 14) == {"goes": 1.0, "stays": 1.0}
    assert _ask(store, "x", 15) == {"stays": 1.0}
    assert _ask(store, "x", 300) == {"goes": 2.0, "stays": 1.0}
    assert _ask(store, "count_over_time(x[1m])", 30) == {"goes": 2.0, "stays": 3.0}


def test_a_scrape_shows_when_it_is_whole() -> None:
    """A reader in the middle of a scrape sees the one before."""
    store = _store()
    _scrape(store, 0, {"a": 1.0, "b": 1.0})
    store.begin(15_000)
    store.put("x", ("a",), 2.0)
    assert _ask(store, "x", 20) == {"a": 1.0, "b": 1.0}
    store.put("x", ("b",), 2.0)
    store.commit()
    assert _ask(store, "x", 20) == {"a": 2.0, "b": 2.0}


def test_old_samples_are_dropped_and_others_stay_as_they_were() -> None:
    """Whatever is dropped, answers about what is kept are the same."""
    whole, short = _store(retention_ms=10_000_000), _store(retention_ms=600_000)
    for second in range(0, 3_000, 15):
        values = {"same": 5.0, "steps": float(second // 100), f"pod-{second // 400}": second / 7.0}
        _scrape(whole, second, values)
        _scrape(short, second, values)
    assert short.bytes < whole.bytes / 2
    assert short.span_ms is not None
    assert short.span_ms[0] >= (2_985 - 700) * 1_000
    for query in ("x", "count_over_time(x[5m])", "rate(x[5m])", "changes(x[9m])", "x offset 9m"):
        assert _ask(short, query, 2_985) == _ask(whole, query, 2_985), query
    oldest = short.span_ms[0] // 1_000
    assert _ask(short, "x", oldest) == _ask(whole, "x", oldest)
    assert _ask(short, "x offset 40m", 2_985) == {}


def test_bytes_are_bounded_and_readers_are_warned() -> None:
    """The older half goes when there is too much; series beyond a whole scrape are counted."""
    store = _store(most_bytes=20 * SERIES_BYTES)
    for second in range(0, 6_000, 15):
        _scrape(store, second, {str(number): second + number / 10.0 for number in range(10)})
        assert store.bytes <= 20 * SERIES_BYTES
    assert len(_ask(store, "x", 5_985)) == 10
    assert "room for the samples of" in store.warnings[0]
    tiny = _store(most_bytes=5 * SERIES_BYTES)
    _scrape(tiny, 0, {str(number): 1.0 for number in range(10)})
    assert tiny.refused == 6
    assert len(_ask(tiny, "x", 0)) == 4
    assert tiny.warnings == ["6 series of the newest scrape had no room"]


def test_one_row_stands_for_all_cores() -> None:
    """A number among the label values makes as many series, each of which can be selected."""
    store = _store()
    store.begin(0)
    store.put("cores", ("n0", 4), 7.0)
    store.put("cores", ("n1", 2), 9.0)
    store.commit()
    data: Any = instant_query(store, 'count by (node) (cores{cpu=~"[01]"})', 0)
    assert {one["metric"]["node"]: one["value"][1] for one in data["result"]} == {
        "n0": "2",
        "n1": "2",
    }
    data = instant_query(store, 'cores{cpu="3"}', 0)
    assert [one["metric"] for one in data["result"]] == [
        {"__name__": "cores", "node": "n0", "cpu": "3"}
    ]


def test_labels_that_an_exporter_always_has_can_be_asked_for() -> None:
    """Constant labels match like others, and a missing one counts as empty."""
    store = _store()
    _scrape(store, 0, {"a": 1.0})
    assert _ask(store, '{job="j"}', 0) == {"a": 1.0}
    assert _ask(store, 'x{job="k"}', 0) == {}
    assert _ask(store, 'x{cluster=""}', 0) == {"a": 1.0}
    assert _ask(store, 'x{cluster!=""}', 0) == {}
    assert list(store.select([], 1, 2)) == []
    assert np.array_equal(next(iter(store.select([], 0, 0))).times, [0])
