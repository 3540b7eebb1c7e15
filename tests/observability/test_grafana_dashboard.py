"""The Grafana dashboard asks only for numbers that exist, and compose scrapes every process."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from bus.clock import ManualClock
from bus.link import LinkCounts
from bus.measured_bus import MeasuredBus
from bus.memory_adapter import MemoryBus, MemoryLog
from bus.metrics import Measures
from bus.process import ProcessContext, watch
from deploy.grafana.make_dashboard import DASHBOARD, PANELS, text
from schemas.identity import Origin

ROOT = Path(__file__).parents[2]
ANSWERING = {"FORESAIL_HEALTH_PORT"}


def test_the_file_is_what_the_generator_writes() -> None:
    """Run `python -m deploy.grafana.make_dashboard` after a change."""
    assert text() == DASHBOARD.read_text(encoding="utf-8")


def test_every_panel_asks_for_a_number_that_exists() -> None:
    """A renamed metric leaves no empty panel behind."""
    offered = _offered()
    asked = {name for panel in PANELS for name in re.findall(r"foresail_\w+", panel.query)}

    assert set() == {re.sub(r"_(total|bucket)$", "", name) for name in asked} - offered


def test_every_container_with_numbers_is_scraped() -> None:
    """What runs under the default profile and answers on port 9100 is a target of Prometheus."""
    scraping = yaml.safe_load((ROOT / "deploy/grafana/prometheus.yml").read_text(encoding="utf-8"))
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    targets = {
        target.removesuffix(":9100")
        for job in scraping["scrape_configs"]
        for group in job["static_configs"]
        for target in group["targets"]
    }

    assert targets == {name for name, one in compose["services"].items() if _answers(one)}


def _answers(service: dict[str, Any]) -> bool:
    ours = set(service.get("profiles", ["twin"])) == {"twin"}
    asked = not service.get("healthcheck", {}).get("disable", False)
    return ours and asked and set(service.get("environment", {})) >= ANSWERING


def _offered() -> set[str]:
    clock, measures = ManualClock(), Measures("p", "c", "i1")
    bus = MeasuredBus(MemoryBus(MemoryLog(), "c"), LinkCounts, measures, clock)
    watch(measures, ProcessContext("p", bus, clock, Origin("c", "i1"), {}), bus)
    measures.watch("ready", "", lambda: 1.0)
    page = generate_latest(measures.registry).decode()
    return {family.name for family in text_string_to_metric_families(page)}
