"""What dashboards and adapters ask is answered with data by a twin under load."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from deploy.grafana.make_dashboard import DASHBOARD
from proofs.observability.panels import queries
from proofs.queries.scraped import dashboard_queries
from twin.promql.queries import instant_query, range_query
from twin.samples.scraper import SampleSettings, Scraper
from twin.tests.serving.web import LABELS, Web

QUERIES = dashboard_queries()


@cache
def _loaded() -> tuple[Web, Scraper]:
    web = Web("constant requests_per_second=40")
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    use = {"type": "Utilization", "averageUtilization": 70}
    metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": use}}]
    scaling = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 5, "metrics": metrics}
    web.create("horizontalpodautoscalers", "web", scaling)
    container = {"name": "c", "image": "i", "command": ["sleep", "30"]}
    template = {"metadata": {"labels": LABELS | {"app": "job"}},
                "spec": {"restartPolicy": "Never", "containers": [container]}}  # fmt: skip
    web.create("jobs", "once", {"template": template})
    scraper = Scraper(web.engine, SampleSettings())
    scraper.advance(web.engine, web.engine.now + 900.0)
    return web, scraper


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_dashboard_has_data(query: str) -> None:
    """Each has a number, at an instant and over a range."""
    web, scraper = _loaded()
    now = round(web.engine.now * 1_000)
    single: Any = instant_query(scraper.store, query, now)["result"]
    whole: Any = range_query(scraper.store, query, now - 300_000, now, 30_000)["result"]
    assert any(one["value"][1] != "NaN" for one in single), query
    assert any(value != "NaN" for one in whole for _, value in one["values"]), query


@pytest.mark.parametrize("query", sorted({one.expression for one in queries(DASHBOARD)}))
def test_our_own_dashboard_is_understood(query: str) -> None:
    """Every panel's query is evaluated; its data are those of processes, which a real Prometheus scrapes."""
    web, scraper = _loaded()
    assert instant_query(scraper.store, query, round(web.engine.now * 1_000))["result"] == []
