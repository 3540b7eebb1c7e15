"""`foresail timeline` of a rise that was foreseen: the prediction stands before the damage."""

from __future__ import annotations

import asyncio
import json
from functools import cache

import pytest

from foresail.__main__ import main
from foresail.log_source import RecordingSource
from foresail.timeline import read_history
from foresail.timeline.terminal import incident_view, lead
from projections.incidents.chain import incidents
from projections.incidents.damage import damages
from projections.incidents.history import of_kind
from projections.incidents.incident import DamageKind, Incident, IncidentKind, Lane
from schemas.reaction import ReactionKind
from tests.foresight.opening import events_of, foresight, opening
from tests.readable_goldens import plain_text


@cache
def told(untouched: str = "on") -> Incident:
    """Return the morning's first incident."""
    path = opening(untouched)
    return incidents(asyncio.run(read_history(RecordingSource(path), None)))[0]


def first_of(incident: Incident) -> dict[str, float]:
    """Return by kind when its first step was."""
    return {step.kind: step.time_seconds for step in reversed(incident.steps)}


def test_the_prediction_stands_before_the_damage() -> None:
    """Forecast, replicas asked for, replicas ready, the rise, then requests fail in the world without us."""
    incident = told()
    at = first_of(incident)
    order = [at[kind] for kind in ("forecast", "replicas_asked", "replicas_ready", "rise")]
    assert order == sorted(order)
    assert incident.kind is IncidentKind.RISE_FORESEEN
    untouched = [step for step in incident.steps if step.lane is Lane.UNTOUCHED]
    assert untouched[0].time_seconds >= at["rise"]
    assert all(step.damage for step in untouched)
    assert incident.lead_seconds == incident.damage_seconds - at["forecast"]
    assert incident.lead_seconds >= 300.0


def test_the_forecast_names_model_horizon_and_band() -> None:
    """The line is that of the event at its position in the log."""
    (step,) = (step for step in told().steps if step.kind == "forecast")
    (event,) = (one for one in events_of(opening(), "prediction.demand") if one.seq == step.seq)
    assert event.data.cluster_time_seconds == step.time_seconds
    rises = [one.rise.first for one in foresight() if one.rise.carried_out]
    first = min(rises, key=lambda one: (one.spoke_seconds, one.seq))
    assert first.spoke is not None
    assert event.id == first.spoke.prediction_id
    assert first.ground.model in step.text
    assert f"{first.replicas_before} replicas bear" in step.text
    text = " ".join(plain_text(incident_view(told())).split())
    assert "forecast: " in text
    assert "in the world without us requests fail" in text


def test_damage_is_what_either_world_lost() -> None:
    """A period for each Service and world whose requests failed, and the heading says which came first."""
    failing = {
        (kind, one.rise.service)
        for one in foresight()
        if one.rise.first.workload in told().workloads
        for kind, world in (
            (DamageKind.REQUESTS, one.outcome.here),
            (DamageKind.UNTOUCHED_REQUESTS, one.outcome.there),
        )
        if world is not None and world.fails_seconds is not None
    }
    assert {(span.kind, span.subject) for span in told().spans} == failing
    assert "the first failed requests in the world without us by" in lead(told())
    assert [curve.name for curve in told().curves][-1] == "replicas ready"


def test_without_an_untouched_world_it_is_told_too() -> None:
    """Then nothing is said of what would have been."""
    alone = told("off")
    assert first_of(alone)["forecast"] < first_of(alone)["rise"]
    assert not [step for step in alone.steps if step.lane is Lane.UNTOUCHED]
    assert alone.acting is None


def test_the_verb_finds_it_by_its_workload(capsys: pytest.CaptureFixture[str]) -> None:
    """By the name of a workload whose replicas were raised, as JSON."""
    name = foresight()[0].rise.first.workload.rpartition("/")[2]
    capsys.readouterr()
    asked = ["timeline", name, "--incident", "1", "--json"]
    assert main([*asked, "--recording", str(opening())]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["kind"] == "rise_foreseen"
    assert content["alarms"][0]["service"]


def test_an_autoscaler_that_follows_our_raise_is_no_damage() -> None:
    """Each time that one sets what we had just asked for as its least number, no damage begins with it."""
    asked = {
        (action.workload, action.replicas_after): action.executed_seconds
        for one in foresight()
        for action in one.rise.actions
    }
    history = asyncio.run(read_history(RecordingSource(opening()), None))
    followed = {
        (reaction.item.workload, reaction.item.time_seconds)
        for reaction in of_kind(history.reactions, ReactionKind.HPA_CHANGE)
        if (at := asked.get((reaction.item.workload, round(reaction.item.after or 0)))) is not None
        and 0.0 <= reaction.item.time_seconds - at <= 30.0
    }
    short = {
        (damage.subject, damage.begin_seconds)
        for damage in damages(history)
        if damage.kind is DamageKind.SHORT
    }
    assert len(followed) > 5
    assert short
    assert not followed & short
