"""The Grafana dashboard asks only for numbers that exist, and compose scrapes every process."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from bus.clock import ManualClock
from bus.link import LinkCounts
from bus.measured_bus import MeasuredBus
from bus.memory_adapter import MemoryBus, MemoryLog
from bus.metrics import PUBLISH_FAILURES, ProcessMetrics
from bus.process import ProcessContext, register_process_metrics
from deploy.grafana import make_prometheus
from deploy.grafana.make_dashboard import DASHBOARD, PANELS, text
from schemas.breaker import BreakerState
from schemas.identity import Origin
from schemas.reasons import Reason

ROOT = Path(__file__).parents[2]
ANSWERING = {"FORESAIL_HEALTH_PORT"}
GIVEN_BY_PROMETHEUS = {"job", "instance", "le"}
LEGEND = re.compile(r"\{\{(\w+)\}\}")


def test_the_file_is_what_the_generator_writes() -> None:
    """Run `python -m deploy.grafana.make_dashboard` after a change."""
    assert text() == DASHBOARD.read_text(encoding="utf-8")


def test_every_panel_asks_for_a_number_that_exists() -> None:
    """A renamed metric leaves no empty panel behind."""
    offered = _offered_metrics()
    names = {name for panel in PANELS for name in re.findall(r"foresail_\w+", panel.query)}

    assert set() == {re.sub(r"_(total|bucket)$", "", name) for name in names} - offered


def test_every_alert_asks_for_numbers_and_labels_that_exist() -> None:
    """A renamed metric, state or reason leaves no alert that can never fire."""
    rules = yaml.safe_load(make_prometheus.ALERTS.read_text(encoding="utf-8"))
    queries = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    names = {name for query in queries for name in re.findall(r"foresail_\w+", query)}
    values = {value for query in queries for value in re.findall(r'="(\w+)"', query)}

    assert set() == {re.sub(r"_total$", "", name) for name in names} - _offered_metrics()
    assert values == {BreakerState.SHADOW, Reason.BREAKER}
    assert [make_prometheus.ALERTS.name] == yaml.safe_load(make_prometheus.text())["rule_files"]


def test_panels_group_by_and_name_labels_that_metrics_have() -> None:
    """A label that no metric has would give one nameless line, or none."""
    known = {label for labels in _labels().values() for label in labels} | GIVEN_BY_PROMETHEUS
    asked = {
        label
        for panel in PANELS
        for part in (*re.findall(r"by \(([\w, ]+)\)", panel.query), *LEGEND.findall(panel.legend))
        for label in part.split(", ")
    }

    assert set() == asked - known


def test_each_legend_is_left_by_its_sum() -> None:
    """What a sum drops cannot be written beside the line."""
    for panel in PANELS:
        for kept in re.findall(r"by \(([\w, ]+)\)", panel.query):
            assert set(LEGEND.findall(panel.legend)) <= set(kept.split(", ")), panel.title


def test_the_scrape_configuration_is_what_the_generator_writes() -> None:
    """Run `python -m deploy.grafana.make_prometheus` after a change."""
    assert make_prometheus.text() == make_prometheus.CONFIG.read_text(encoding="utf-8")


def test_every_container_with_numbers_is_scraped() -> None:
    """What answers on port 9100 is scraped: the default profile by name, other profiles when they run."""
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    answering = {
        name: service for name, service in compose["services"].items() if _answers(service)
    }
    always = {name for name, one in answering.items() if _default(one)}

    assert always == set(make_prometheus.CONTAINERS)
    assert set(answering) - always == set(make_prometheus.OPTIONAL)


def test_a_running_stack_is_scraped_under_the_same_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--state` prints loopback targets from stack.json; a folder without one is a clear error."""
    (tmp_path / "stack.json").write_text('{"health": {"referee": 4711}}', encoding="utf-8")
    assert 0 == make_prometheus.main(["--state", str(tmp_path)])
    printed = yaml.safe_load(capsys.readouterr().out)
    assert 2 == make_prometheus.main(["--state", str(tmp_path / "nowhere")])

    (job,) = printed["scrape_configs"]
    assert [{"targets": ["127.0.0.1:4711"], "labels": {"job": "referee"}}] == job["static_configs"]
    assert "--state" in capsys.readouterr().err


def test_a_first_failure_is_seen_as_an_increase() -> None:
    """Counters of failures begin at 0: a series that begins at 1 shows Prometheus no increase."""
    names = {failure.__name__ for failure in PUBLISH_FAILURES}
    registry = ProcessMetrics("p", "c", "i1").registry
    name = "foresail_publish_failures_total"

    assert {"AnotherWriter", "BusUnavailable", "NotPermitted"} <= names
    assert {0.0} == {registry.get_sample_value(name, {"error": one}) for one in names}


def _default(service: dict[str, Any]) -> bool:
    return set(service.get("profiles", ["twin"])) == {"twin"}


def _answers(service: dict[str, Any]) -> bool:
    asked = not service.get("healthcheck", {}).get("disable", False)
    return asked and set(service.get("environment", {})) >= ANSWERING


def _labels() -> dict[str, tuple[str, ...]]:
    """Return the labels of the counters that have any."""
    made = ProcessMetrics("p", "c", "i1")
    counters = (made.published, made.events_read, made.failures, made.decisions, made.executions)
    counters += (made.breaker_changes, made.item_errors)
    return {counter._name: counter._labelnames for counter in counters}


def _offered_metrics() -> set[str]:
    clock, metrics = ManualClock(), ProcessMetrics("p", "c", "i1")
    bus = MeasuredBus(MemoryBus(MemoryLog(), "c"), LinkCounts, metrics, clock)
    register_process_metrics(metrics, ProcessContext("p", bus, clock, Origin("c", "i1"), {}), bus)
    metrics.register("ready", "", lambda: 1.0)
    page = generate_latest(metrics.registry).decode()
    return {family.name for family in text_string_to_metric_families(page)}
