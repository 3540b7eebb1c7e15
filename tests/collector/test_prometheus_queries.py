"""Queries of a file: what is asked then, and which files are refused."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from bus.errors import ConfigError
from foresail.settings import StackSettings
from foresail.stack.preflight import check_before_start
from services.collector.cluster import NODE_METRICS
from services.collector.node_rows import longest_window, usage_by_node
from services.collector.prometheus import PrometheusMetrics
from services.prometheus import PrometheusRefused, PrometheusServer, read_queries, values_by
from services.prometheus_queries import PURPOSES, Query
from services.prometheus_settings import PrometheusSettings
from tests.architecture.source_tree import ROOT
from tests.served_prometheus import AT, ServedPrometheus, served_prometheus


@pytest.fixture
def prometheus() -> Iterator[ServedPrometheus]:
    """Serve a Prometheus."""
    with served_prometheus() as served:
        yield served


def file_of(folder: Path, text: str) -> str:
    """Write a file of queries."""
    path = folder / "queries.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def point(labels: dict[str, str], *values: str) -> dict[str, object]:
    """Return a series of a range, a point every 10 s up to now."""
    count = len(values)
    return {
        "metric": labels,
        "values": [[AT - 10.0 * (count - 1 - place), one] for place, one in enumerate(values)],
    }


def test_a_file_takes_the_place_of_what_it_names(
    prometheus: ServedPrometheus, tmp_path: Path
) -> None:
    """The other queries stay, and its label and window hold for its own."""
    given = """
        [node_cpu_cores]
        query = "our_cpu[$window]"
        window_seconds = 300
        labels = {node = "host"}
    """
    settings = PrometheusSettings(url=prometheus.url, queries_file=file_of(tmp_path, given))
    prometheus.series["our_cpu"] = [{"metric": {"host": "n1"}, "value": [AT, "3"]}]
    prometheus.values = {"MemTotal": {"n1": "5"}, "timestamp": {"n1": str(AT)}}

    items = asyncio.run(PrometheusMetrics(settings).read(NODE_METRICS, 0.0)).items

    assert usage_by_node(items)["n1"]["cpu_usage_cores"] == 3.0
    assert longest_window(items) == 300.0
    assert "our_cpu[300s]" in [form["query"] for form in prometheus.forms]


@pytest.mark.parametrize(
    ("take", "value", "covered"),
    [("newest", 2.0, 0.0), ("mean", 3.0, 60.0), ("largest", 6.0, 60.0)],
)
def test_of_a_range_one_value_is_taken(
    prometheus: ServedPrometheus, take: str, value: float, covered: float
) -> None:
    """By Prometheus' own clock; points that are no numbers are none, and a series of such is left out."""
    prometheus.series["cores"] = [
        point({"node": "n1"}, "1", "6", "2", "NaN"),
        point({"node": "n2"}, "NaN"),
    ]
    query = Query.model_validate(
        {"query": "cores", "range_seconds": 60, "step_seconds": 10, "take": take}
    )

    samples = asyncio.run(PrometheusServer(PrometheusSettings(url=prometheus.url)).ask(query))

    assert [(one.labels, one.value, one.time_seconds) for one in samples] == [
        ({"node": "n1"}, value, AT - 10.0)
    ]
    assert query.covered_seconds == covered
    assert prometheus.asked[-1][0] == "/base/api/v1/query_range"
    assert prometheus.forms[-1] == {
        "query": "cores",
        "start": repr(AT - 60.0),
        "end": repr(AT),
        "step": "10",
    }


def test_samples_without_the_labels_are_refused(prometheus: ServedPrometheus) -> None:
    """None at all may be right; some that nobody can place are not."""
    prometheus.series["sum"] = [{"metric": {"pod": "a"}, "value": [AT, "1"]}]
    server = PrometheusServer(PrometheusSettings(url=prometheus.url))

    assert values_by(asyncio.run(server.ask(Query(query="nothing"))), ("pod",), {}) == {}
    found = asyncio.run(server.ask(Query(query="sum")))
    assert values_by(found, ("pod",), {}) == {("a",): 1.0}
    with pytest.raises(PrometheusRefused, match="'namespace' and 'pod'"):
        values_by(found, ("namespace", "pod"), {})


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "[node_cpu]\nquery = 'x'",
            "queries_file = [node_cpu]: use one of the tables node_cpu_cores",
        ),
        ("node_cpu_cores = 'x'", "queries_file: node_cpu_cores = x: write it as a table"),
        ("[node_cpu_cores]", "node_cpu_cores.query = (none): Field required"),
        ("[node_cpu_cores]\nquery = ' '", "node_cpu_cores.query =  : write a query"),
        ("[node_cpu_cores]\nquery = 5", "node_cpu_cores.query = 5: Input should be a valid string"),
        (
            "[node_cpu_cores]\nquery = 'x'\nwindow = 5",
            "node_cpu_cores.window = 5: unknown key; did you mean window_seconds",
        ),
        (
            "[node_cpu_cores]\nquery = 'rate(x[$window])'",
            "node_cpu_cores = (table): $window stands for window_seconds",
        ),
        (
            "[node_cpu_cores]\nquery = 'x'\nrange_seconds = 86400\nstep_seconds = 1",
            "node_cpu_cores = (table): a range has at most 11000 steps",
        ),
        (
            "[node_cpu_cores]\nquery = 'x'\ntake = 'oldest'",
            "node_cpu_cores.take = oldest: Input should be 'newest', 'mean' or 'largest'",
        ),
        (
            "[node_cpu_cores]\nquery = 'x'\nwindow_seconds = -1",
            "node_cpu_cores.window_seconds = -1: Input should be greater",
        ),
        (
            "[node_cpu_cores]\nquery = 'x'\nlabels = {host = 'h'}",
            "node_cpu_cores.labels = host: labels of ours: node",
        ),
        ("[node_cpu_cores", "write it as TOML"),
    ],
)
def test_a_file_that_does_not_hold_queries_is_refused(tmp_path: Path, text: str, line: str) -> None:
    """In one line with table, field, value and remedy, before anything starts."""
    given = {"prometheus": {"url": "http://p", "queries_file": file_of(tmp_path, text)}}
    settings = StackSettings.model_validate(
        {"collector": given, "dashboard": {"port": 0}, "nats": {"port": 0}}
    )

    with pytest.raises(ConfigError) as refused:
        check_before_start(settings)

    assert str(refused.value).startswith("collector.prometheus.queries_file")
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """With its name."""
    missing = str(tmp_path / "missing.toml")
    with pytest.raises(ConfigError, match=r"missing\.toml: give a file that can be read"):
        read_queries(PrometheusSettings(url="http://p", queries_file=missing))


def test_settings_of_old_go_first(tmp_path: Path) -> None:
    """A configuration that names a query or the label itself keeps its meaning."""
    given = "[node_memory_bytes]\nquery = 'theirs'\n[node_cpu_cores]\nquery = 'cpu'"
    settings = PrometheusSettings(
        url="http://p",
        queries_file=file_of(tmp_path, given),
        memory_bytes="mine",
        node_label="host",
    )

    queries = read_queries(settings)

    assert queries["node_memory_bytes"].text == "mine"
    assert queries["node_cpu_cores"].text == "cpu"
    assert {queries[name].labels["node"] for name in PURPOSES if name.startswith("node_")} == {
        "host"
    }


def test_cores_are_summed_and_rated_first() -> None:
    """A mean over modes would be wrong by their number, and a rate of a sum falls when a counter goes."""
    text = PURPOSES["node_cpu_cores"].default.text

    assert text.startswith("sum by (nodename) (rate(node_cpu_seconds_total{")
    assert "[120s]" in text
    assert "avg" not in text


def test_the_page_has_every_query_with_its_unit() -> None:
    """docs/prometheus.md names each table, its unit and its labels."""
    page = (ROOT / "docs" / "prometheus.md").read_text(encoding="utf-8")

    for name, purpose in PURPOSES.items():
        labels = ", ".join(f"`{key}`" for key in purpose.keys) or "none"
        assert f"| `{name}` | {purpose.unit} | {labels} | " in page
