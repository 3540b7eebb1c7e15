"""Models and settings at any moment: what predicted and how well, and what was in force and since when."""

from __future__ import annotations

import json

import pytest

from bus.events import read_entry
from bus.recording.bus import RecordingBus
from docs.make_settings import DEFAULTS, defaults_json
from schemas.outcome import OutcomeForecast
from schemas.prediction import PredictionShadow, RiskTable
from services.dashboard.model_book import ModelBook
from services.dashboard.settings_list import SettingsBook
from tests import builders
from tests.dashboard.test_past import RECORDING, asking, reading


async def test_models_are_those_of_the_log_with_their_scores() -> None:
    """Each card's predictions and running figures are the newest ones of the log, also at an earlier moment."""
    async with reading() as hub, asking(hub) as http:
        whole = (await http.get("/api/models")).json()
        then = (await http.get("/api/models?at=60")).json()
    newest: dict[int, OutcomeForecast] = {}
    async for message in RecordingBus(RECORDING).history([">"]):
        event = read_entry(message).event
        if event is not None and isinstance(event.data, OutcomeForecast) and event.data.risk:
            newest[event.data.slot] = event.data
    risk = next(card for card in whole["models"] if card["use"] == "risk")
    scored = newest[0].risk
    assert scored is not None
    assert scored.running is not None

    assert risk["model_id"] == newest[0].model_id
    assert risk["running"]["targets"] == scored.running.targets
    assert risk["scores"]["values"][-1] == scored.brier
    earlier = next(card for card in then["models"] if card["use"] == "risk")
    assert 0 < earlier["results"] < risk["results"]


def test_a_shadow_stands_beside_the_active_model_of_its_cycle() -> None:
    """Nodes on which both differ most come first, with how many each warns of and both agree on."""
    book = ModelBook()
    active = builders.make_risk({"a": 0.1, "b": 0.9, "c": 0.8}, cycle=4, alarm_ratio=0.5)
    table = RiskTable(ids=("a", "b", "c"), risk_ratio=(0.15, 0.2, 0.85))
    shadow = PredictionShadow(
        **active.model_dump(exclude={"nodes", "model_id"}),
        model_id="tried/1",
        slot=1,
        nodes=3,
        risk_table=table,
    )
    book.add(builders.stamp_event(active))
    book.add(builders.stamp_event(shadow))
    (beside,) = book.as_json()["beside"]

    assert beside["rows"][0] == {"node": "b", "active": 0.9, "shadow": 0.2}
    assert (beside["active_alarms"], beside["alarms"], beside["both"]) == (2, 1, 1)


@pytest.mark.parametrize(
    ("changes", "origin"),
    [
        ([{"cool_down_seconds": 120.0}], "default"),
        ([{"cool_down_seconds": 30.0}], "set"),
        ([{"cool_down_seconds": 30.0}, {"cool_down_seconds": 60.0}], "changed"),
        ([{"unheard_of": 1}], "worked out"),
    ],
)
def test_a_setting_says_where_it_comes_from(changes: list[dict[str, float]], origin: str) -> None:
    """Default, set, changed during the run with what it was, or decided by the process itself."""
    book = SettingsBook()
    for settings in changes:
        book.add(builders.stamp_event(builders.make_config("executor", **settings)))
    (process,) = book.as_json()
    (row,) = process["rows"]

    assert row["origin"] == origin
    assert [change["before"] for change in row["changes"]] == [
        next(iter(one.values())) for one in changes[:-1]
    ]


async def test_settings_are_those_in_force_then() -> None:
    """A process that had not yet announced itself has no settings at that moment."""
    async with reading() as hub, asking(hub) as http:
        first = (await http.get("/api/settings?at=1")).json()["processes"]
        whole = (await http.get("/api/settings")).json()["processes"]

    assert len(first) <= 1 < len(whole)
    assert {"executor", "referee"} <= {one["process"] for one in whole}


def test_what_is_known_of_settings_is_current() -> None:
    """`python -m docs.make_settings` writes the committed file again."""
    assert DEFAULTS.read_text(encoding="utf-8") == defaults_json()
    assert json.loads(defaults_json())["executor.cool_down_seconds"]["default"] == 120.0
