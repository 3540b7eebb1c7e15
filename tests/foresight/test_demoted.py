"""A morning on which the rise of every earlier day does not come: the model stops driving by itself, and says so."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

from foresail.settings import resolve
from foresail.stack.virtual import run_virtual_stack
from lab.rerun.verify import verify
from schemas.foresight import DemotionCause, OutcomeForesight
from schemas.outcome import OutcomeForecast
from schemas.proposal import Proposal
from tests.foresight.opening import CYCLE_SECONDS, OPENING, START, events_of

PLAYED_SECONDS = 2_400.0


def played_without_rise(folder: Path) -> Path:
    """Play the site on a holiday: each Service keeps the rate of its first minute; return the recording."""
    world, recording = folder / "world", folder / "holiday.fslog"
    shutil.copytree(OPENING, world)
    for path in world.glob("web-*.csv"):
        with path.open() as file:
            head, first, *rest = list(csv.reader(file))
        rows = [head, first, *([time, first[1]] for time, _ in rest)]
        path.write_text("".join(",".join(row) + "\n" for row in rows))
    given = {
        "run.virtual_time": True,
        "run.for_seconds": PLAYED_SECONDS,
        "run.interval_seconds": CYCLE_SECONDS,
        "run.speed": 1.0,
        "run.workload": str(world / "world.jsonl"),
        "run.weather": "off",
        "run.start_time": START,
        "run.untouched": "off",
        "run.record": str(recording),
        "agents.profile": "foresail",
        "agents.value": {"forecast": True},
        "inference.demand_bands": True,
        "inference.shadow_models": (),
        # So that three quarters of an hour are enough to tell.
        "foresight.least_targets": 60,
        "foresight.least_blocks": 2,
        "foresight.judgements": 1,
    }
    run_virtual_stack(resolve(None, {}, given), quiet=True)
    return recording


def test_a_model_whose_rise_does_not_come_is_left_out(tmp_path: Path) -> None:
    """Its raises were in vain and its band far off; from then on no proposal rests on it, and a re-run is equal."""
    recording = played_without_rise(tmp_path)
    seen = [event.data for event in events_of(recording, "outcome.*", "proposal.*")]

    raises = [data.action for data in seen if isinstance(data, OutcomeForecast) and data.action]
    assert len(raises) > 5
    assert not any(one.right for one in raises)
    assert all(one.value is not None and one.value < 0.0 for one in raises)
    went = next(data for data in seen if isinstance(data, OutcomeForesight) and data.shadows)
    (model,) = went.shadows
    (evidence,) = [one for one in went.models if one.model_id == model]
    assert model.startswith("rates-ahead/")
    assert evidence.cause is DemotionCause.MISSES
    later = [data for data in seen if isinstance(data, Proposal) and data.cycle > went.cycle]
    assert {data.left_out_models for data in later if data.agent == "safety"} == {(model,)}
    assert all(data.forecast is None or data.forecast.model != model for data in later)
    report = verify(recording)
    assert report.holds
    assert report.layers["proposal"].equal > 300
