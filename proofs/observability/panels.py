"""Is every panel of the Grafana dashboard answered with data by a real Prometheus?

The queries are the expressions of `deploy/grafana/foresail.json`, the file that Grafana loads. An
answer counts when it has at least one series with a number, and when every label that the panel
writes into its legend is there: a sum over a label that no metric has is an answer, too.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proofs.observability.prometheus import Prometheus, PrometheusFailed

ANSWER_SECONDS = 900.0
AGAIN_SECONDS = 1.0
VARIABLES = {
    "$__rate_interval": "1m",
    "$__interval": "15s",
    "$__range": "15m",
}
"""What Grafana puts in for its own variables; variables of the dashboard are in its `templating`."""
_LEGEND = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class PanelQuery:
    """One query of one panel."""

    panel: str
    expression: str
    labels: tuple[str, ...]
    """What its legend is written from."""


@dataclass(frozen=True, slots=True)
class PanelAnswer:
    """The result of one query."""

    asked: PanelQuery
    series: int
    objection: str = ""
    """Why it does not count; empty when it does."""


def queries(dashboard: Path) -> list[PanelQuery]:
    """Return every query of a dashboard file, with its variables put in."""
    content: dict[str, Any] = json.loads(dashboard.read_bytes())
    values = {**VARIABLES, **_own_variables(content)}
    return [
        PanelQuery(
            panel["title"],
            _substitute(target["expr"], values),
            tuple(_LEGEND.findall(target.get("legendFormat", ""))),
        )
        for panel in content["panels"]
        for target in panel.get("targets", ())
    ]


async def answer_all(
    panel_queries: Sequence[PanelQuery], prometheus: Prometheus
) -> list[PanelAnswer]:
    """Repeat the queries until all have data, or a minute has passed."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + ANSWER_SECONDS
    while True:
        answers = [await asyncio.to_thread(answer, query, prometheus) for query in panel_queries]
        if not any(panel_answer.objection for panel_answer in answers) or loop.time() > deadline:
            return answers
        await asyncio.sleep(AGAIN_SECONDS)


def answer(query: PanelQuery, prometheus: Prometheus) -> PanelAnswer:
    """Run one query once."""
    try:
        series = prometheus.ask(query.expression)
    except PrometheusFailed as error:
        return PanelAnswer(query, 0, str(error))
    numbers = [entry for entry in series if not math.isnan(entry.value)]
    if not numbers:
        return PanelAnswer(query, 0, "no data" if not series else "no number")
    missing = [
        label for label in query.labels if not any(label in number.labels for number in numbers)
    ]
    if missing:
        return PanelAnswer(query, len(numbers), f"no label {missing[0]} for its legend")
    return PanelAnswer(query, len(numbers))


def _own_variables(content: Mapping[str, Any]) -> dict[str, str]:
    """Return the dashboard's variables with their current values; All matches everything."""
    variables = {}
    for variable in content.get("templating", {}).get("list", ()):
        value = variable.get("current", {}).get("value", "")
        variables[f"${variable['name']}"] = ".*" if value in {"$__all", ""} else str(value)
    return variables


def _substitute(expression: str, values: Mapping[str, str]) -> str:
    for name in sorted(values, key=len, reverse=True):
        expression = expression.replace("${" + name[1:] + "}", values[name])
        expression = expression.replace(name, values[name])
    return expression
