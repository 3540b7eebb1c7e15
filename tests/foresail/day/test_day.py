"""A day is sampled as it was, drawn on one axis of time, and its picture in docs is up to date."""

from __future__ import annotations

import asyncio
import math
import re
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from itertools import pairwise
from pathlib import Path as FilePath
from xml.etree import ElementTree as ET

import pytest
from matplotlib.path import Path

from bus.errors import InputError
from docs.make_day import PICTURE, TITLE, example_day
from foresail.day.day import Day, Moment
from foresail.day.pages import day_page, day_picture, figures_of
from foresail.day.plots import draw_day
from foresail.day.samples import play_day
from foresail.day.terminal import day_lines
from foresail.twin import show
from twin.port.engine import Engine
from twin.port.files import read_scenario
from twin.port.workloads import NodeShape

GIB = 2**30


@pytest.fixture(scope="module")
def example() -> Day:
    """The day of the picture in docs."""
    return example_day()


@pytest.fixture
def small(tmp_path: FilePath) -> Day:
    """Two hours on two nodes of 4 cores: a pod of 1 core, one that fits nowhere, a machine that dies."""
    engine = Engine(seed=1)
    engine.add_nodes([NodeShape(f"n{index}", 4_000, 8 * GIB, 0, {}) for index in range(2)])
    for name, cpu in (("fits", "1"), ("waits", "5")):
        resources = {"requests": {"cpu": cpu, "memory": "1Gi"}}
        container = {"name": "c", "image": "i:1", "resources": resources}
        spec = {"containers": [container]}
        engine.store.create("pods", "default", {"metadata": {"name": name}, "spec": spec})
    scenario = tmp_path / "s.yaml"
    scenario.write_text(
        "faults: [{fault: node_death, at_seconds: 3600, duration_seconds: 1800, nodes: {names: [n0]}}]\n"
        "name: s\n"
    )
    engine.faults.play(read_scenario(scenario))
    return play_day(engine, 7_200.0, lambda _: None)


@pytest.mark.slow
def test_the_picture_in_docs_is_up_to_date(example: Day) -> None:
    """docs/twin/day.svg is what `python -m docs.make_day` writes, in any process: equal seeds, equal days."""
    assert PICTURE.read_text(encoding="utf-8") == day_picture(example, TITLE)


def test_amounts_are_those_of_the_cluster(small: Day) -> None:
    """Capacity falls with the machine that dies, the pod that fits nowhere is pending, requests are counted."""
    by_time = {moment.at_seconds: moment for moment in small.moments}
    before = by_time[min(by_time, key=lambda at: abs(at - 3_500.0))]
    during = by_time[min(by_time, key=lambda at: abs(at - 4_500.0))]

    assert (before.capacity_cores, before.requested_cores, before.pending) == (8.0, 1.0, 1)
    assert (during.capacity_cores, sum(during.machines.values())) == (4.0, 1)
    assert 0.0 < before.used_cores < 1.0
    assert small.moments[-1].at_seconds == 7_200.0


def test_faults_and_nodes_that_are_not_ready_are_spans(small: Day) -> None:
    """A fault lasts as long as it was played; its node is not ready soon after, and until it is back."""
    (fault,) = [span for span in small.spans if span.lane == "faults played"]
    (node,) = [span for span in small.spans if span.lane == "nodes not ready"]

    assert (fault.name, node.name) == ("node death", "n0")
    assert (round(fault.begin, -2), round(fault.end, -2)) == (3_600.0, 5_400.0)
    assert 3_630.0 <= node.begin <= 3_660.0
    assert 5_400.0 <= node.end <= 5_500.0


@pytest.mark.slow
def test_everything_is_on_one_axis(example: Day) -> None:
    """Panels stand below each other, each from the first to the last second, which the lowest one names."""
    places = [axes.get_position() for axes in draw_day(example).axes]
    lowest = draw_day(example).axes[-1]

    assert {axes.get_xlim() for axes in draw_day(example).axes} == {(0.0, example.seconds)}
    assert len({(place.x0, place.x1) for place in places}) == 1
    assert all(above.y0 > below.y1 for above, below in pairwise(places))
    assert [text.get_text() for text in lowest.get_xticklabels()][::6] == [
        "00:00",
        "12:00",
        "00:00",
    ]


@pytest.mark.slow
def test_every_line_stays_in_its_panel(example: Day) -> None:
    """No value is drawn above or below its axis, the latency's logarithm included."""
    for axes in draw_day(example).axes[:-1]:
        values = [float(v) for patch in axes.patches for v in patch.get_data().values]
        low, high = axes.get_ylim()
        assert low <= min(values) <= max(values) <= high, axes.get_title("left")


@pytest.mark.slow
def test_a_time_without_requests_leaves_a_gap(example: Day) -> None:
    """Where nothing was served the latency's line is interrupted, not drawn at 0."""
    moments = list(example.moments)
    moments[100] = replace(moments[100], latency_p95_seconds=math.nan)
    day = Day(example.start_time, example.seconds, moments)
    (axes,) = [axes for axes in draw_day(day).axes if axes.get_title("left") == "Latency, ms"]
    (line,) = axes.patches

    assert list(line.get_path().codes).count(Path.MOVETO) == 2


@pytest.mark.slow
def test_the_page_loads_nothing(example: Day) -> None:
    """The page is one file: well-formed picture, both schemes, no address in it, names escaped."""
    text = day_page(example, "a <b> day", "about & so on")
    (svg,) = re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)

    assert ET.fromstring(svg).tag == "svg"
    assert "prefers-color-scheme: dark" in text
    assert not re.findall(r"https?://|src=|@import|url\((?!#)", text.replace('href="#', ""))
    assert "a &lt;b&gt; day" in text
    assert "about &amp; so on" in text


def test_figures_add_up() -> None:
    """Shares are of what there was, requests are rates times time."""
    day = Day(0.0, 120.0)
    for at, rate, failed in ((60.0, 10.0, 0.5), (120.0, 30.0, 0.0)):
        day.moments.append(
            Moment(at, 10.0, 5.0, 2.0, 3, {"a": 2}, 1.0, rate, 0.25, failed, {"oom": 1})
        )
    day.dollars = 0.03
    figures = dict(figures_of(day))

    assert figures == {
        "of the CPU requested": "50%",
        "of the CPU used": "20%",
        "requests": "2,400",
        "failed or lost": "12.5%",
        "ms, the worst p95": "250",
        "pods pending at most": "3",
        "machine hours": "0.0667",
        "dollars for machines": "0.03",
        "evictions": "0",
        "out-of-memory kills": "2",
        "restarts": "0",
    }


@pytest.mark.slow
def test_the_terminal_shows_every_series_on_one_axis(example: Day) -> None:
    """Bars of one width, CPU on one scale, hours below, spans and counts."""
    lines = list(day_lines(example, 150))
    bars = {line[:26].strip(): line[26:122] for line in lines if not line.startswith(" ")}

    assert "up to 64 cores" in next(line for line in lines if line.startswith("CPU allocatable"))
    assert max(bars["CPU used"]) < max(bars["CPU allocatable"])
    assert bars["faults played"].count("█") == 5 + 3 + 7  # an hour, 30 and 90 minutes in 96 columns
    assert bars["weather"].count("█") == 33
    assert any("00:00" in line and "21:00" in line for line in lines)
    assert lines[-1].startswith("49.3% of the CPU requested")


def _arguments(*flags: str) -> Namespace:
    parser = ArgumentParser()
    show.add_arguments(parser)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(flags)


def test_the_command_writes_a_page(tmp_path: FilePath, capsys: pytest.CaptureFixture[str]) -> None:
    """`--out` writes one file and says so; nothing else is left behind."""
    out = tmp_path / "day.html"
    flags = ("--workload", "idle", "--nodes", "2", "--for", "10m", "--out", str(out))
    code = asyncio.run(show.run(_arguments(*flags)))

    assert int(code) == 0
    assert "<svg" in out.read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["day.html"]
    assert "written: " in capsys.readouterr().out


def test_a_workload_that_does_not_exist_is_refused() -> None:
    """The error names the field and what would do."""
    with pytest.raises(InputError, match="workload"):
        asyncio.run(show.run(_arguments("--workload", "nothing-of-the-kind")))
