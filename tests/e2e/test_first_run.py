"""What `make run` plays: a rise that the trained model foresees from last week, and replicas ready before it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from foresail.settings import resolve
from foresail.stack.virtual import run_virtual_stack
from schemas.envelope import Event
from schemas.observation import Observation
from schemas.outcome import OutcomeExecution
from schemas.prediction import PredictionDemand
from schemas.proposal import Proposal
from schemas.score import OutcomeCounterfactual

ROOT = Path(__file__).parents[2]
WALL_SECONDS = 100.0
OPENS_SECONDS = 720.0
"""Cluster time from the start until ten."""

pytestmark = pytest.mark.slow


@cache
def played() -> tuple[dict[str, Any], list[Event[Any]]]:
    """Return the summary and the events of the first hundred seconds."""
    events: list[Event[Any]] = []
    given = {"run.virtual_time": True, "run.for_seconds": WALL_SECONDS}
    settings = resolve(ROOT / "examples" / "first-run.toml", {}, given)
    workload = str(ROOT / settings.run.workload)
    run = settings.run.model_copy(update={"workload": workload})
    settings = settings.model_copy(update={"run": run})
    return run_virtual_stack(settings, quiet=True, listener=events.append), events


def data_of(kind: type[Any]) -> list[Any]:
    """Return the data of all events of a type, in order."""
    return [event.data for event in played()[1] if isinstance(event.data, kind)]


def test_the_rise_is_foreseen_before_it_comes_and_acted_on() -> None:
    """The model's band passes what the replicas bear, minutes before the site opens; what rests on it is executed."""
    opens = data_of(Observation)[0].cluster_time_seconds + OPENS_SECONDS
    early = [one for one in data_of(PredictionDemand) if one.cluster_time_seconds < opens - 240.0]
    rises = [
        bands.series.middle[row] / bands.series.newest[row]
        for one in early
        for bands in one.bands
        for row, name in enumerate(bands.series.ids)
        if name.startswith("service/") and bands.series.rule[row].startswith("rates-ahead/")
    ]
    assert max(rises) > 3.0

    wishes = [
        (one.cycle, wish.action.target.name)
        for one in data_of(Proposal)
        if one.cluster_time_seconds < opens
        for wish in (one, *one.further)
        if wish.forecast is not None and wish.forecast.model.startswith("rates-ahead/")
    ]
    done = {one.cycle for one in data_of(OutcomeExecution) if one.succeeded}
    raised = {name for cycle, name in wishes if cycle in done}
    assert len(raised) >= 6


def test_replicas_are_ready_before_the_rise() -> None:
    """When the site opens most Services have more pods ready than their autoscalers would have had."""
    here = data_of(Observation)
    opens = here[0].cluster_time_seconds + OPENS_SECONDS
    before = [one for one in here if one.cluster_time_seconds <= opens][-1]
    begun = here[4]
    ready = dict(zip(before.services.ids, before.services.ready, strict=True))
    first = dict(zip(begun.services.ids, begun.services.ready, strict=True))
    assert sum(ready[name] >= 2 * first[name] for name in ready) >= 6


def test_failed_requests_are_avoided_in_numbers() -> None:
    """Against the same world left to its autoscalers: fewer failed requests, and money; nothing is refused."""
    summary, _ = played()
    newest = data_of(OutcomeCounterfactual)[-1]
    changed = {one.name: one.total for one in newest.components}
    assert changed["requests_failed"] < -0.1  # millions
    assert changed["slo_services"] < -30.0  # service-minutes
    assert "(helps)" in summary["acting_changed_text"]
    assert not [name for name in summary["executions"] if name.startswith("refused")]
