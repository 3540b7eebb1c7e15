"""Worlds of real request rates: what is drawn, written and forecast."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random

import numpy as np
import polars as pl
import pytest

from foresail.experiment.controllers import horizontal_spec
from foresail.experiment.drawn_world import with_files
from lab.experiments.arms import Arm, Autoscaling, ScalingAhead
from lab.experiments.spec import Trial, Workload, World
from lab.rate_worlds.__main__ import main
from lab.rate_worlds.draw import draw_world, from_minute
from lab.rate_worlds.families import FAMILIES
from lab.rate_worlds.files import HISTORY, read_history, start_seconds, write_world
from lab.rate_worlds.rate_sets import DAY, SETS, read_set
from lab.rate_worlds.scaling_ahead.controller import ScalesAhead
from lab.rate_worlds.scaling_ahead.crane_dsp import STEPS_A_DAY, forecast_period
from lab.rate_worlds.scaling_ahead.forecasts import Shuffled, Truth
from twin.port.engine import Engine
from twin.port.files import Recorded, read_traffic
from twin.port.objects import ObjectRecord
from twin.port.settings import TwinConfig
from twin.port.workloads import open_workload

DAYS = 14
LEVEL, SWING = 100.0, 80.0
_SERIES = {
    "nab": ("tweets_FB", "tweets_UPS"),
    "crane": ("crane_02", "crane_05", "crane_10"),
    "servegen": ("m-small/5",),
}


def _course(step: int) -> list[float]:
    """Return a fortnight with a cosine a day, highest at noon."""
    times = np.arange(0, DAYS * DAY, step)
    return (LEVEL - SWING * np.cos(2 * math.pi * times / DAY)).tolist()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder with sets that have the columns of the published ones."""
    folder = tmp_path / "data"
    (folder / "traffic").mkdir(parents=True)
    for name, file in SETS.items():
        step = {"wikipedia": 3_600, "servegen": 600, "nab": 300}.get(name, 60)
        values = _course(step)
        by_time = name not in _SERIES
        parts = []
        for series in _SERIES.get(name, (name,)):
            times = [place * step for place in range(len(values))]
            split = ["train" if by_time and at < 8 * DAY else "dev" for at in times]
            column = "value" if name == "crane" else "requests_per_min"
            parts.append(
                pl.DataFrame(
                    {"series": [series] * len(times), "t_s": times, column: values, "split": split}
                )
            )
        pl.concat(parts).write_parquet(folder / "traffic" / file)
    return folder


@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_gives_worlds_that_the_twin_takes(
    family: str, data: Path, tmp_path: Path
) -> None:
    """The same seed gives the same files; machines, replicas and the played day fit each other."""
    worlds = [draw_world(data, family, seed) for seed in (3, 3)]
    texts = []
    for number, world in enumerate(worlds):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = write_world(world, folder)
        texts.append({file.name: file.read_bytes() for file in folder.iterdir()})
        workload = open_workload(str(path), nodes=1, seed=1)
        arrivals = list(workload.arrivals)
        assert 20 <= len(workload.nodes) <= 40
        assert 10 <= len(arrivals) <= 14
        asked = sum(one.replicas * one.cpu_request_millicores for one in arrivals)
        assert asked < sum(node.cpu_millicores for node in workload.nodes)
        assert all(20 <= (one.ready_seconds or 0) <= 120 for one in arrivals)
    assert texts[0] == texts[1]


def test_only_days_that_nobody_trained_on_are_played(data: Path) -> None:
    """A set that is split by time plays days after its split, one that is split by series held-out ones."""
    for seed in range(1, 6):
        for family in ("wikipedia", "crane", "bursts"):
            for service in draw_world(data, family, seed).services:
                day = int(service.source.rpartition(" ")[2])
                assert day >= (8 if family == "wikipedia" else 7) * DAY


def test_rows_of_the_test_split_are_never_read(data: Path) -> None:
    """Where a file holds them, what is read ends before."""
    path = data / "traffic" / SETS["clarknet"]
    table = pl.read_parquet(path)
    late = pl.col("t_s") >= 12 * DAY
    table.with_columns(
        pl.when(late).then(pl.lit("test")).otherwise(pl.col("split")).alias("split")
    ).write_parquet(path)

    (course,) = read_set(data, "clarknet")

    assert course.end_seconds == 12 * DAY


def test_a_history_ends_where_the_day_begins_at_the_same_hour(data: Path, tmp_path: Path) -> None:
    """A week in steps of five minutes that count back from the start; its last day looks like the played one."""
    world = draw_world(data, "crane", 1)
    write_world(world, tmp_path)
    table = pl.read_csv(tmp_path / HISTORY)
    service = world.services[0]
    rows = table.filter(pl.col("series") == f"service/default/{service.name}").sort("t_s")

    assert rows["t_s"].to_list() == list(range(-7 * DAY, 0, 300))
    yesterday = rows["value"].to_numpy()[-STEPS_A_DAY:]
    assert yesterday == pytest.approx(service.day.reshape(-1, 5).mean(axis=1), rel=0.02)
    assert read_history(tmp_path)[f"default/{service.name}"][-STEPS_A_DAY:] == pytest.approx(
        yesterday
    )


def test_steps_that_were_not_measured_have_no_history(data: Path, tmp_path: Path) -> None:
    """A hole in the set is a hole in the table, and no zero."""
    path = data / "traffic" / SETS["wikipedia"]
    table = pl.read_parquet(path)
    hole = (pl.col("t_s") >= 6 * DAY) & (pl.col("t_s") < 6 * DAY + 4 * 3_600)
    table.with_columns(
        pl.when(hole).then(None).otherwise(pl.col("requests_per_min")).alias("requests_per_min")
    ).write_parquet(path)
    world = draw_world(data, "wikipedia", 1)
    write_world(world, tmp_path)

    counts = pl.read_csv(tmp_path / HISTORY).group_by("series").len()["len"]

    assert counts.min() == 7 * STEPS_A_DAY - 48


def test_an_outage_and_a_holiday_are_unlike_what_was(data: Path) -> None:
    """The one has a hole in its history, the other a day with far fewer requests."""
    for service in draw_world(data, "outage", 1).services:
        lowest, usual = np.nanmin(service.history), np.nanmin(service.day)
        assert lowest < 0.2 * usual
    for service in draw_world(data, "holiday", 1).services:
        assert service.day.max() < 0.6 * np.nanmax(service.history)


def test_a_world_that_begins_later_knows_the_hours_before(data: Path) -> None:
    """Its history ends where it begins, its rates are those of that hour, its replicas those of its first minutes."""
    whole = draw_world(data, "opening", 1)
    late = from_minute(whole, 588, 60)

    assert start_seconds(late) - start_seconds(whole) == 588 * 60
    for before, service in zip(whole.services, late.services, strict=True):
        assert service.history[-588:] == pytest.approx(before.day[:588])
        assert service.day == pytest.approx(before.day[588:648])
        assert service.replicas >= service.replicas_for(service.day[:5]).mean()
        assert len(service.history) == len(before.history)


def test_the_command_writes_a_world_and_refuses_what_it_cannot_use(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that the twin takes; a bad hour, or more minutes than the day has left, is one line and exit code 2."""
    monkeypatch.setenv("FORESAIL_DATA", str(data))
    out = ["--out", str(tmp_path / "world")]

    assert main(["opening", "1", "--from", "09:48", "--minutes", "60", *out]) == 0
    workload = open_workload(str(tmp_path / "world" / "world.jsonl"), nodes=1, seed=1)
    assert len(list(workload.arrivals)) >= 10
    for bad in (["--from", "9h"], ["--from", "23:30", "--minutes", "60"]):
        assert main(["opening", "1", *bad, *out]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_crane_repeats_a_day_and_forecasts_nothing_without_one() -> None:
    """A daily course is forecast with at most the largest margin, noise is not forecast at all."""
    times = np.arange(7 * STEPS_A_DAY)
    course = LEVEL - SWING * np.cos(2 * math.pi * times / STEPS_A_DAY)
    rng = Random(1)
    noise = np.array([rng.gauss(100.0, 20.0) for _ in times])

    repeated = forecast_period(course, rng)

    assert repeated is not None
    assert repeated == pytest.approx(course[-STEPS_A_DAY:], rel=0.25)
    assert forecast_period(noise, rng) is None


def test_the_truth_is_the_highest_minute_to_come() -> None:
    """Rates of the window count, those behind it do not; shuffled hours come from the same day."""
    traffic = read_traffic("recorded rates=0:10,600:50,1200:90")
    assert isinstance(traffic, Recorded)
    truth = Truth(traffic, start=0.0)

    assert truth.highest(0.0, 300.0) == pytest.approx(10.0)
    assert truth.highest(0.0, 660.0) == pytest.approx(50.0)
    hours = Shuffled(truth, Random(3))
    assert {hours.highest(3_600.0 * hour, 300.0) for hour in range(24)} == {10.0, 90.0}


def _engine(data: Path, folder: Path) -> Engine:
    world = draw_world(data, "crane", 2)
    path = write_world(world, folder)
    played = open_workload(str(path), nodes=1, seed=1)
    engine = Engine(TwinConfig(start_time=start_seconds(world)), 1)
    engine.add_nodes(played.nodes)
    engine.load(played.arrivals)
    return engine


def test_replicas_are_there_before_the_rise(data: Path, tmp_path: Path) -> None:
    """Who knows the future has as many replicas as the highest rate of its window needs."""
    engine = _engine(data, tmp_path)
    ScalesAhead(engine, ScalingAhead(forecast="truth", window_seconds=6 * 3_600), {}, 1)
    engine.advance(engine.now + 120.0)
    world = draw_world(data, "crane", 2)

    for service in world.services:
        deployment = engine.store.find("deployments", "default", service.name)
        assert isinstance(deployment, ObjectRecord)
        used = service.request_millicores / 1_000.0 * 0.7
        needed = math.ceil(service.day[:362].max() * service.cpu_seconds / used)
        assert abs(deployment.body["spec"]["replicas"] - needed) <= 1


def test_a_forecast_raises_the_fewest_replicas_of_an_hpa_and_no_more(
    data: Path, tmp_path: Path
) -> None:
    """Beside an HPA the replicas stay the HPA's; its bounds are kept."""
    engine = _engine(data, tmp_path)
    engine.advance(engine.now + 20.0)
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web-00"}
    spec = horizontal_spec(Autoscaling(least_ratio=0.1, most_ratio=1.5), 4, target)
    engine.store.create(
        "horizontalpodautoscalers", "default", {"metadata": {"name": "web-00"}, "spec": spec}
    )
    ScalesAhead(
        engine,
        ScalingAhead(forecast="crane", window_seconds=12 * 3_600.0),
        read_history(tmp_path),
        1,
    )
    engine.advance(engine.now + 60.0)

    hpa = engine.store.find("horizontalpodautoscalers", "default", "web-00")
    assert isinstance(hpa, ObjectRecord)
    assert hpa.body["spec"]["minReplicas"] == spec["maxReplicas"] == 6


def test_an_arm_takes_forecasts_that_there_are_alone() -> None:
    """Another name is refused."""
    with pytest.raises(ValueError, match="forecast"):
        Arm.model_validate({"name": "a", "ahead": {"forecast": "guess"}})


def test_a_family_s_day_may_be_played_from_an_hour_on(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hours before belong to the history, and no other workload has such an hour."""
    monkeypatch.setenv("FORESAIL_DATA", str(data))
    late = Workload(name="late", family="crane", begins="09:48")
    with with_files(Trial(World(), late, Arm(name="none"), 1)) as played:
        assert played.workload.start_time is not None
        assert played.workload.start_time.strftime("%H:%M") == "09:48"
    with pytest.raises(ValueError, match="only the day of a family"):
        Workload(name="early", begins="09:48")
