"""What the weather does stands in the picture, and to look at it changes nothing."""

from __future__ import annotations

from itertools import pairwise

import pytest

from foresail.day.day import FAULTS, LEAKS, LEVELS, NOT_READY, SPOT_NOTICES, WEATHER, Day
from foresail.day.plots import LEFT, RIGHT, draw_day
from foresail.day.samples import play_day
from twin.port.engine import Engine
from twin.port.files import scenario_of
from twin.port.settings import HealthConfig, TwinConfig
from twin.port.workloads import NodeShape

GIB = 2**30
ROUGH = HealthConfig(
    weather="rough",
    rough_rate_factor=1.0,
    rough_share_factor=1.0,
    node_mttf_days=0.15,
    foreseen_ratio=0.0,
    flapping_ratio=0.5,
    slow_per_node_year=3_000.0,
    slow_dies_ratio=0.0,
    rack_mttf_years=0.0003,
    zone_failures_per_year=4_000.0,
    zone_down_seconds=300.0,
    pod_crashes_per_day=20.0,
    image_outbreaks_per_year=5_000.0,
    leaking_ratio=1.0,
)
HOURS = 4.0


def _engine(health: HealthConfig = ROUGH) -> Engine:
    engine = Engine(TwinConfig(health=health), seed=3)
    zone = {"topology.kubernetes.io/zone": "a"}
    engine.add_nodes([NodeShape(f"n{i}", 8_000, 32 * GIB, 0, zone) for i in range(6)])
    resources = {"requests": {"cpu": "200m", "memory": "256Mi"}}
    pod = {"containers": [{"name": "c", "image": "web:1", "resources": resources}]}
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": 6, "selector": {"matchLabels": labels}, "template": template}
    engine.store.create("deployments", "default", {"metadata": {"name": "web"}, "spec": spec})
    return engine


@pytest.fixture(scope="module")
def rough() -> Day:
    """Four hours of weather in which everything happens, and a machine that is taken back."""
    engine = _engine()
    engine.faults.play(
        scenario_of({"faults": [{"fault": "spot_notice", "at_seconds": 600, "nodes": {"names": ["n5"]}}]}, "s")
    )  # fmt: skip
    return play_day(engine, HOURS * 3_600.0, lambda _: None)


def test_everything_that_the_weather_does_has_its_lane(rough: Day) -> None:
    """Machines, racks, zones, slowness, leaks, crashes, outbreaks and spot notices, each as a lane."""
    lanes = {span.lane for span in rough.spans}
    assert lanes >= {*WEATHER.values(), LEVELS, SPOT_NOTICES, NOT_READY}
    [level] = [span for span in rough.spans if span.lane == LEVELS]
    assert (level.name, level.end) == ("rough", rough.seconds)
    [notice] = [span for span in rough.spans if span.lane == SPOT_NOTICES]
    assert (notice.name, round(notice.begin)) == ("n5", 600)
    assert 700.0 <= notice.end <= 800.0
    assert all(0.0 <= span.begin <= span.end <= rough.seconds for span in rough.spans)


def test_each_machine_that_is_lost_has_a_cause_above_it(rough: Day) -> None:
    """Every node that is not ready was failed by the weather or taken back a minute before at most."""
    causes = [
        span
        for span in rough.spans
        if span.lane
        in (*(WEATHER[kind] for kind in ("node", "flap", "rack", "zone")), SPOT_NOTICES)
    ]
    lost = [span for span in rough.spans if span.lane == NOT_READY]
    assert len(lost) >= 5
    assert all(
        any(cause.begin <= span.begin <= cause.end + 90.0 for cause in causes) for span in lost
    )


def test_crashes_are_as_many_as_there_were(rough: Day) -> None:
    """Crashes and outbreaks are moments; what restarts is at least them, for dead machines restart pods, too."""
    crashes = [s for s in rough.spans if s.lane in (WEATHER["crash"], WEATHER["outbreak"])]
    assert all(span.begin == span.end for span in crashes)
    assert 10 <= len(crashes) <= rough.count("restart")


def test_one_thing_is_one_block(rough: Day) -> None:
    """A machine that flaps, or a rack whose nodes fail one by one, is one span, not one for each failure."""
    for lane in (WEATHER["rack"], WEATHER["flap"], LEAKS):
        spans = sorted(
            (span.name, span.begin, span.end) for span in rough.spans if span.lane == lane
        )
        for (name, _, end), (after, begin, _) in pairwise(spans):
            assert name != after or begin > end


def test_calm_days_have_no_weather() -> None:
    """With the weather off there is neither lane nor heading, and what was done has a group of its own."""
    engine = _engine(HealthConfig())
    fault = {"fault": "traffic", "factor": 2, "services": ["shop"], "duration_seconds": 600}
    engine.faults.play(scenario_of({"faults": [fault]}, "s"))
    day = play_day(engine, 1_800.0, lambda _: None)
    assert {span.lane for span in day.spans} == {FAULTS}
    texts = [text.get_text() for text in draw_day(day).axes[-1].texts]
    assert texts == ["What was done to it", f"{FAULTS}: 1", "shop x 2"]


def test_to_look_changes_nothing() -> None:
    """An engine that was drawn is in the state of one that was not, and nobody listens any more."""
    drawn, alone = _engine(), _engine()
    play_day(drawn, 3_600.0, lambda _: None)
    alone.advance(alone.now + 3_600.0)
    assert drawn.state_hash() == alone.state_hash()
    assert drawn.sky.heard is None


def test_labels_never_reach_the_next_block(rough: Day) -> None:
    """A block is named only where its name ends before the next one of the lane begins."""
    axes = draw_day(rough).axes[-1]
    blocks = [bars.get_paths()[0].get_extents() for bars in axes.collections]
    labels = [text for text in axes.texts if text.get_position()[0] > 0.0]
    assert labels
    for text in labels:
        begin, y = text.get_position()
        end = begin + 5.0 * len(text.get_text()) * rough.seconds / (RIGHT - LEFT)
        lane = [one for one in blocks if one.y0 < y < one.y1]
        assert lane
        assert not [one for one in lane if begin < one.x1 and one.x0 < end]
