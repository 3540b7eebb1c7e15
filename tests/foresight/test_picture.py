"""The picture of a foreseen rise, drawn from a recording's events."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from docs.make_foresight import PICTURE, main, picture_of
from projections.figures import number
from projections.times import clock
from tests.foresight.opening import foresight, opening
from tests.timeline.scripted import play_incident


def texts(picture: str) -> list[str]:
    """Return what is written in it."""
    return [
        (one.text or "").strip()
        for one in ET.fromstring(picture).iter()
        if one.tag.endswith("text")
    ]


def test_it_says_what_the_events_say() -> None:
    """The Service with the most to tell, its moments, and both worlds' failed requests."""
    picture = picture_of(opening())
    assert picture is not None
    one = max(
        foresight(), key=lambda each: (each.outcome.spared or 0.0, each.rise.first.decided_seconds)
    )
    written = texts(picture)
    assert one.outcome.there is not None
    assert one.outcome.rise_seconds is not None
    assert f"requests a second of {one.rise.service}" in written
    assert f"without us: {number(one.outcome.there.failed)}" in written
    assert f"with us: {number(one.outcome.here.failed)}" in written
    assert f"foreseen, {clock(one.rise.first.spoke_seconds)[:5]}" in written
    assert f"the rise, {clock(one.outcome.rise_seconds)[:5]}" in written


def test_the_same_recording_gives_the_same_bytes_and_loads_nothing() -> None:
    """Drawn twice, it is one picture; it names no address but that of SVG."""
    first, second = picture_of(opening()), picture_of(opening())
    assert first == second
    assert first is not None
    assert set(re.findall(r"https?://[^\"]+", first)) == {"http://www.w3.org/2000/svg"}


def test_the_picture_of_the_docs_is_drawn_by_it() -> None:
    """It has all that the picture of a run has, if other figures."""
    names = [
        name for name in texts(PICTURE.read_text(encoding="utf-8")) if not re.search(r"\d", name)
    ]
    drawn = picture_of(opening())
    assert drawn is not None
    assert set(names) == {name for name in texts(drawn) if not re.search(r"\d", name)}


def test_of_a_log_without_foresight_nothing_is_drawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The picture of the docs stays, and one line says why."""
    before = PICTURE.read_bytes()
    recording = play_incident("node-failure").recording
    monkeypatch.setattr("sys.argv", ["make_foresight", str(recording)])
    assert main() == 1
    assert "nothing in it was foreseen" in capsys.readouterr().err
    assert PICTURE.read_bytes() == before
