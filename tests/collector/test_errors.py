"""An error in one source or one cycle costs that one."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from bus.item_errors import ItemErrors
from schemas.observation import Observation
from schemas.run import RunError
from schemas.snapshot import SnapshotNodes
from services.collector import service
from services.collector.cluster import ApiList, ListingSources
from services.collector.reading import ListRead
from tests.collector.test_service import _events, _run, _small


def test_an_error_in_one_source_costs_that_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are read, the source is named as failed, and the next cycle asks it again."""
    read, errors = ListingSources.read, ItemErrors("collector")
    asked: list[str] = []

    async def poisoned(lists: ListingSources, source: ApiList[Any], at: float) -> ListRead[Any]:
        asked.append(source.name)
        if source.name == "jobs" and asked.count("jobs") == 2:
            raise KeyError("poison")
        return await read(lists, source, at)

    monkeypatch.setattr(ListingSources, "read", poisoned)
    log = _run(_small(), 11.0, errors=errors)

    failed = [
        {source.source: source.message for source in event.data.sources if not source.ok}
        for event in _events(log, SnapshotNodes)
    ]
    assert [{}, {"jobs": "KeyError: 'poison'"}, {}] == failed
    assert {"source jobs": 1} == errors.counts


def test_an_error_in_one_cycle_costs_that_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next begins with keyframes, since of the failed one nobody knows what was stored; it is told once."""
    errors, interpret, calls = (
        ItemErrors("collector"),
        service.interpret_snapshot,
        itertools.count(1),
    )

    def poisoned(*arguments: Any) -> Any:
        if next(calls) == 2:
            raise KeyError("poison")
        return interpret(*arguments)

    monkeypatch.setattr(service, "interpret_snapshot", poisoned)
    log = _run(_small(), 21.0, errors=errors)

    assert [1, 3, 4, 5] == [event.cycle for event in _events(log, Observation)]
    whole = [
        event.cycle
        for event in _events(log, SnapshotNodes)
        if event.data.frame.keyframe_cycle == event.cycle
    ]
    assert [1, 3] == whole[:2]
    (error,) = _events(log, RunError)
    assert "cycle, 2: KeyError: 'poison'" == error.data.text
    assert "" == errors.trouble
