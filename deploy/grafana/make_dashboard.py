"""Write deploy/grafana/foresail.json from the names of the metrics: `python -m deploy.grafana.make_dashboard`.

A panel can only ask for what `bus.metrics` and `bus.process` offer; a test compares both and fails when the
file is out of date.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DASHBOARD = Path(__file__).with_name("foresail.json")
DATASOURCE = {"type": "prometheus", "uid": "prometheus"}
WIDTH, HEIGHT, COLUMNS = 8, 7, 3


@dataclass(frozen=True)
class Panel:
    """One plot: a title, a query and what a line is called."""

    title: str
    query: str
    legend: str = "{{job}}"
    unit: str = "short"
    kind: str = "timeseries"


PANELS = (
    Panel("Ready", "foresail_ready", kind="stat"),
    Panel("Newest cycle", "foresail_newest_cycle"),
    Panel("Lag (positions)", "foresail_lag_positions"),
    Panel(
        "Events published",
        "sum by (type) (rate(foresail_events_published_total[1m]))",
        "{{type}}",
        "ops",
    ),
    Panel("Events read", "sum by (job) (rate(foresail_events_folded_total[1m]))", unit="ops"),
    Panel(
        "Publish, 99th percentile",
        "histogram_quantile(0.99, sum by (job, le) (rate(foresail_publish_seconds_bucket[5m])))",
        unit="s",
    ),
    Panel(
        "Decisions by rule",
        "sum by (rule, action) (increase(foresail_decisions_total[5m]))",
        "{{rule}} {{action}}",
    ),
    Panel(
        "Executions by outcome",
        "sum by (outcome, reason) (increase(foresail_executions_total[5m]))",
        "{{outcome}} {{reason}}",
    ),
    Panel(
        "Publishes given up",
        "sum by (job, error) (increase(foresail_publish_failures_total[5m]))",
        "{{job}} {{error}}",
    ),
    Panel("Sent again", "increase(foresail_publish_retries_total[5m])"),
    Panel("Refused", "increase(foresail_publish_refusals_total[5m])"),
    Panel("Connected", "foresail_connected"),
    Panel("CPU (cores)", "rate(foresail_process_cpu_seconds_total[1m])"),
    Panel("Memory", "foresail_process_resident_memory_bytes", unit="bytes"),
    Panel("Event loop delay", "foresail_event_loop_delay_seconds", unit="s"),
    Panel(
        "Items left out",
        "sum by (job, loop) (increase(foresail_item_errors_total[5m]))",
        "{{job}} {{loop}}",
    ),
)


def dashboard() -> dict[str, Any]:
    """Return the whole dashboard."""
    return {
        "uid": "foresail",
        "title": "Foresail",
        "schemaVersion": 39,
        "version": 1,
        "refresh": "5s",
        "time": {"from": "now-15m", "to": "now"},
        "panels": [_panel(number, panel) for number, panel in enumerate(PANELS)],
    }


def text() -> str:
    """Return the file's content."""
    return json.dumps(dashboard(), indent=1) + "\n"


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    row, column = divmod(number, COLUMNS)
    return {
        "id": number + 1,
        "title": panel.title,
        "type": panel.kind,
        "datasource": DATASOURCE,
        "gridPos": {"x": column * WIDTH, "y": row * HEIGHT, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {
                "refId": "A",
                "datasource": DATASOURCE,
                "expr": panel.query,
                "legendFormat": panel.legend,
            }
        ],
    }


if __name__ == "__main__":
    DASHBOARD.write_text(text(), encoding="utf-8")
