"""A real Prometheus that scrapes a live twin sees what the twin's own PromQL sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from proofs.observability.prometheus import MISSING, find_prometheus
from proofs.queries import scraped_rows
from proofs.queries.scraped import ScrapedAnswer, dashboard_queries, scraped_answers


@pytest.mark.slow
@pytest.mark.twin
@pytest.mark.skipif(find_prometheus() is None, reason=MISSING)
async def test_dashboards_of_a_live_twin_have_data(tmp_path: Path) -> None:
    """Each query has numbers, of the series that the twin itself answers with."""
    answers = await scraped_answers(tmp_path)
    assert [one.name for one in answers] == list(dashboard_queries())
    assert [one for one in answers if one.objection or one.difference] == []


def test_what_does_not_hold_is_counted_and_named() -> None:
    """A query without data is missing in both rows, one with other series in the second."""
    answers = [
        ScrapedAnswer("use", "", ""),
        ScrapedAnswer("load", "no data", ""),
        ScrapedAnswer("pods", "", "1 series there, 2 here"),
        ScrapedAnswer("targets down", "", ""),
    ]
    data, same = scraped_rows(answers)
    assert (data.tried, data.held, data.detail) == (4, 3, "load: no data")
    assert (same.tried, same.held, same.detail) == (3, 1, "pods: 1 series there, 2 here")
