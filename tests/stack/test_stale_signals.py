"""A cluster whose clock runs at another speed: it is measured, and where all signals are stale every screen says so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from bus.clock import ManualClock
from foresail.settings import StackSettings
from foresail.stack.clock_rate import clock_rate, rate_note
from foresail.stack.cluster import ControlledCluster
from foresail.stack.live_view import view
from foresail.stack.real_cluster import early_note
from foresail.stack.showing import LinePrinter
from foresail.status import sentence_of
from projections.overview import Overview
from projections.stale import stale_text
from projections.switchback.text import SWITCHBACK_HINT
from schemas.envelope import Event
from services.cluster import ApiResponse, ClusterUnavailable
from services.dashboard.sections import sections_of
from tests import builders
from tests.builders import ORIGIN
from tests.dashboard.test_page_state import page_after
from tests.score_events import make_difference
from tests.stack.test_outage import status_after

DATED = ("node_requests", "pods", "node_usage", "power")


class RunningAt:
    """An API server whose clock runs so many times as fast as ours."""

    def __init__(self, clock: ManualClock, rate: float, *, whole_seconds: bool = False) -> None:
        """Give times to the second, as `Date` headers do, or exact ones."""
        self._clock, self._rate, self._whole = clock, rate, whole_seconds

    async def request(self, *_: Any, **__: Any) -> ApiResponse:
        """Answer at once."""
        at = 1_767_225_600.3 + self._rate * self._clock.monotonic()
        return ApiResponse(200, b"{}", float(int(at)) if self._whole else at)


def observed(cycle: int, *, stale: bool) -> Event[Any]:
    """Return an observation all of whose dated signals are stale, or none."""
    old: Mapping[str, Any] = {"status": "stale", "age_seconds": 400.0, "limit_seconds": 120.0}
    fresh: Mapping[str, Any] = {"status": "fresh", "age_seconds": 1.0, "limit_seconds": 120.0}
    signals = dict.fromkeys(DATED, old if stale else fresh)
    return builders.stamp_event(builders.make_observation(cycle=cycle, signals=signals))


@pytest.mark.parametrize(
    ("rate", "whole", "found"),
    [
        (10.0, False, 10.0),
        (60.0, True, 60.0),
        (1.0, False, 1.0),
        (1.0, True, 1.0),
        (0.0, False, None),
    ],
)
async def test_the_rate_of_a_clusters_clock_is_measured(
    rate: float, whole: bool, found: float | None
) -> None:
    """By two answers; times cut to the second do not make a real cluster's clock a strange one."""
    clock = ManualClock()
    assert await clock_rate(RunningAt(clock, rate, whole_seconds=whole), clock) == found  # type: ignore[arg-type]


async def test_a_rate_that_cannot_be_known_is_said() -> None:
    """No answer, no rate, and a note that names the flag."""

    class Silent(RunningAt):
        async def request(self, *_: Any, **__: Any) -> ApiResponse:
            raise ClusterUnavailable("nobody answers")

    clock = ManualClock()
    assert await clock_rate(Silent(clock, 1.0), clock) is None  # type: ignore[arg-type]
    settings = StackSettings(run={"kubeconfig": "some.yaml"})
    assert "give --speed" in rate_note(settings)


def test_the_rate_is_that_of_every_service() -> None:
    """The collector counts ages in it, the executor its cool-downs; a note says so."""
    settings = StackSettings(run={"kubeconfig": "some.yaml", "speed": 10.0})
    assert "10 times as fast as wall time" in rate_note(settings)
    plant = ControlledCluster({}, "of the kubeconfig", "shadow", 10.0, 1)
    filled = plant.settings_in_force(settings)
    assert (filled.collector.speed, filled.executor.speed) == (10.0, 10.0)


def test_the_warning_needs_every_dated_signal_to_be_stale() -> None:
    """One that is fresh, or none that has an age, is no reason for it."""
    data = observed(1, stale=True).data
    assert "all 4 signals are stale" in str(stale_text(data.signals))
    assert "400 s old, limit 120 s" in str(stale_text(data.signals))
    assert stale_text(observed(1, stale=False).data.signals) is None
    assert stale_text((*data.signals, *observed(1, stale=False).data.signals[:1])) is None
    assert stale_text(()) is None


def test_every_screen_says_that_all_is_stale() -> None:
    """The terminal, its plain lines once each, `status` and the page."""
    console = Console(width=400, file=StringIO())
    with console.capture() as printed:
        console.print(view(Overview().after(observed(2, stale=True)), [], 0, "Foresail", {}))
    assert "signals are stale" in printed.get()
    lines: list[str] = []
    printer = LinePrinter(lines.append)
    for cycle, stale in enumerate((False, True, True, False), start=1):
        printer(observed(cycle, stale=stale))
    assert len(lines) == 2
    assert "signals are stale" in lines[0]
    assert lines[1] == "signals are fresh again"
    status = status_after(observed(2, stale=True))
    assert "signals are stale" in status["troubles"][0]
    assert "needs somebody to look" in sentence_of(status)
    head = json.loads(json.dumps(sections_of(page_after([observed(2, stale=True)]), ORIGIN)))[
        "head"
    ]
    assert "signals are stale" in head["stale"]


def test_status_begins_with_a_sentence() -> None:
    """Whether all is well, what it does, and, in shadow, what would tell more."""
    status = status_after(observed(2, stale=False)) | {"newest": {"decision": {"age_seconds": 2.0}}}
    status["mode"] = "shadow"
    assert sentence_of(status) == (
        "Foresail is well: it watches test, says what it would do and changes nothing, and decided 2 s ago. "
        + SWITCHBACK_HINT
    )
    assert "has not decided yet" in sentence_of(status | {"newest": {}})
    assert "referee is down" in sentence_of(status | {"processes": {"referee": {"state": "down"}}})
    difference = make_difference(360, waiting=5.0).model_dump(mode="json") | {"text": "as one line"}
    acting = sentence_of(status | {"mode": "active", "counterfactual": difference})
    assert "acts, and decided 2 s ago. Acting harms so far: -0.1 USD" in acting
    assert "not running" in sentence_of(status | {"running": False})


def test_shadow_mode_points_to_what_measures() -> None:
    """Where it begins."""
    assert SWITCHBACK_HINT in early_note(StackSettings(run={"kubeconfig": "some.yaml"}))
