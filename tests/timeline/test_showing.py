"""The verb, the list and the page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from foresail.__main__ import main
from foresail.timeline.html import page_of
from foresail.timeline.terminal import duration_text, lag
from tests.timeline.scripted import play_incident

Timeline = Callable[..., str]


@pytest.fixture
def timeline(capsys: pytest.CaptureFixture[str]) -> Timeline:
    """Run `foresail timeline` over the recording of the failing node."""
    file = play_incident("node-failure").recording
    capsys.readouterr()  # what the play itself said, if this test is the first to want it

    def run(*arguments: str, code: int = 0) -> str:
        assert main(["timeline", *arguments, "--recording", str(file)]) == code
        output = capsys.readouterr()
        return output.out if code == 0 else output.err

    return run


@pytest.mark.parametrize(
    "expected", [(), ("rack-2",), ("search",), ("--incident", "last"), ("--incident", "1")]
)
def test_an_incident_is_named_by_place_or_number(
    timeline: Timeline, expected: tuple[str, ...]
) -> None:
    """A node, a workload's name, its number, or nothing for the newest."""
    assert timeline(*expected).startswith("incident 1: node failure")


@pytest.mark.parametrize(
    ("expected", "expected_text"),
    [
        (("rack-9",), "those that had one: default/Deployment/search"),
        (("--incident", "7"), "give `last` or one of 1"),
    ],
)
def test_what_did_not_happen_is_one_line(
    timeline: Timeline, expected: tuple[str, ...], expected_text: str
) -> None:
    """Exit code 2, with what there was."""
    assert expected_text in timeline(*expected, code=2)


def test_the_list_and_json(timeline: Timeline) -> None:
    """One row for each incident; JSON holds the whole chain with seconds."""
    assert "node failure" in timeline("--list")
    assert [load["kind"] for load in json.loads(timeline("--list", "--json"))] == ["node_failure"]
    content = json.loads(timeline("--json"))
    assert {"steps", "waits", "alarms", "spans", "curves"} <= set(content)


def test_a_log_without_incidents_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 0: nothing happened."""
    quiet = str(tmp_path / "quiet.fslog")
    flags = ("--virtual-time", "--for", "20s", "--workload", "idle", "--nodes", "2")
    state = ("--state", str(tmp_path / "state"))
    assert main(["up", *flags, "--record", quiet, *state, "--json"]) == 0
    capsys.readouterr()
    assert main(["timeline", "--recording", quiet]) == 0
    assert "no incident" in capsys.readouterr().out


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.marks = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.links += [str(given[name]) for name in ("src", "href", "srcset") if name in given]
        self.marks += given.get("class") == "mark"
        if tag not in ("meta", "line", "circle", "rect", "polyline", "polygon"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            while self.open.pop() != tag:
                pass


@pytest.mark.parametrize("name", ["hpa-lag", "node-failure", "unschedulable-burst"])
def test_the_page_stands_alone(name: str) -> None:
    """It loads nothing, forbids itself to, and holds a mark and a row for every step."""
    incident = play_incident(name).incident
    text = page_of(incident)
    page = Page(text)

    assert page.links == []
    assert "default-src 'none'" in text
    assert re.findall(r"https?://(?!www\.w3\.org)", text) == []
    assert page.marks == len(incident.steps) == text.count('<tr id="row-')
    assert page.open == []


def test_names_cannot_become_markup() -> None:
    """Names come from a cluster, so they are escaped everywhere."""
    incident = play_incident("hpa-lag").incident
    step = incident.steps[0].model_copy(update={"text": "<script>alert(1)</script>"})
    curve = incident.curves[0].model_copy(update={"name": "\"><img src=x onerror='x'>"})
    hostile = incident.model_copy(
        update={"steps": (step,), "curves": (curve,), "workloads": ("<b>x</b>",)}
    )
    text = page_of(hostile)
    assert "<script>alert" not in text
    assert "<img" not in text
    assert "<b>x" not in text


def test_a_page_is_written_whole(timeline: Timeline, tmp_path: Path) -> None:
    """The file is there afterwards and no part of it beside it; no folder is one line."""
    timeline("--html", str(tmp_path / "one.html"))
    assert [path.name for path in tmp_path.iterdir()] == ["one.html"]
    assert "name a file that can be written" in timeline("--html", "/no/such/one.html", code=2)


@pytest.mark.parametrize(
    ("seconds", "words", "sign"),
    [
        (0.0, "0 s", "+0:00"),
        (3.25, "3.25 s", "+0:03"),
        (119.0, "119 s", "+1:59"),
        (365.0, "6 min 05 s", "+6:05"),
        (-365.0, "6 min 05 s", "-6:05"),
        (7380.0, "2 h 03 min", "+2:03:00"),
    ],
)
def test_durations_read_well(seconds: float, words: str, sign: str) -> None:
    """Words for how long, a clock for how far from the beginning."""
    assert (duration_text(seconds), lag(seconds)) == (words, sign)
