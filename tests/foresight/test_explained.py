"""`foresail explain CYCLE` of an action that rests on a forecast: the band as text, and what came."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from foresail.__main__ import main
from foresail.explanation.foresight import BAR_COLUMNS, MOST_DRAWN
from projections.figures import number
from projections.foresight.log import Settled
from projections.foresight.text import minutes_text
from projections.times import clock
from tests.foresight.opening import foresight, opening


def explained(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Return what the verb prints."""
    capsys.readouterr()
    assert main(["explain", *map(str, arguments), "--recording", str(opening())]) == 0
    return capsys.readouterr().out


def drawn(text: str, service: str) -> list[str]:
    """Return the lines of one action's section."""
    sections = re.split(r"^(?=\S)", text, flags=re.MULTILINE)
    (own,) = (one for one in sections if one.startswith("FORESEEN") and f" {service} by " in one)
    return [line.strip() for line in own.removeprefix("FORESEEN").splitlines()]


def cycle_with_several() -> tuple[int, list[tuple[Settled, int]]]:
    """Return the cycle with the most drawn actions that rest on a forecast, and each with its place in its rise."""
    counts = Counter(each.cycle for one in foresight() for each in one.rise.actions)
    cycles = {cycle: count for cycle, count in counts.items() if count <= MOST_DRAWN}
    cycle = max(cycles, key=lambda one: (cycles[one], -one))
    return cycle, [(one, place) for one in foresight() for place in one.rise.places(cycle)]


def test_each_action_has_its_band_its_moment_and_what_came(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A line a horizon with 10 %, middle, 90 % and what came, the model, the moment, and both worlds' losses."""
    cycle, found = cycle_with_several()
    text = explained(capsys, cycle)
    assert len(found) > 1
    for one, place in found:
        action = one.rise.actions[place]
        lines = drawn(text, action.service)
        section = " ".join(lines)
        assert action.ground.model in lines[0]
        rise = one.outcome.rise_seconds
        assert rise is not None
        spoke = one.rise.first.spoke_seconds
        ahead = minutes_text(rise - spoke)
        assert f"first foreseen {clock(spoke)}, {ahead} the rise" in section
        for band, came in zip(action.bands, one.outcome.came[place], strict=True):
            row = re.compile(
                rf"{number(band.horizon_seconds / 60.0)} min\s+{re.escape(number(band.low))}\s+"
                rf"{re.escape(number(band.middle))}\s+{re.escape(number(band.high))}\s+"
                rf"{'-' if came is None else re.escape(number(came))}(\s|$)"
            )
            assert any(row.search(line) for line in lines), (row.pattern, lines)
        assert one.outcome.there is not None
        assert f"{number(one.outcome.there.failed)} in the world without us" in section


def test_the_bar_marks_where_the_band_passes_what_replicas_bear(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`=` stands right of `:`, which is what the replicas of before bear, and `#` right of `|`."""
    action = foresight()[0].rise.first
    lines = drawn(explained(capsys, action.cycle), action.service)
    bars = [line for line in lines if re.match(r">? *\d+ min ", line)]
    assert len(bars) == len(action.bands)
    assert sum(line.startswith(">") for line in bars) == 1
    for line in bars:
        bar = re.split(r" min(?: +\S+){4}  ", line)[1]
        assert len(bar) <= BAR_COLUMNS
        for mark, edge in (("=", ":"), ("#", "|")):
            if mark in bar and edge in bar:
                assert bar.index(mark) > bar.index(edge)
        if "-" in bar and ":" in bar:
            assert bar.rindex("-") < bar.index(":")
    assert any("#" in line or "=" in line for line in bars)


def test_json_has_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """`--json` lists every such action with its bands and both worlds' counts; other decisions have none."""
    cycle, found = cycle_with_several()
    content = json.loads(explained(capsys, cycle, "--json"))["foresight"]
    assert [said["service"] for said in content] == [one.rise.service for one, _ in found]
    for said, (one, place) in zip(content, found, strict=True):
        assert said["bands"][0]["came"] == one.outcome.came[place][0]
        assert said["failed"] == one.outcome.here.failed
        assert one.outcome.there is not None
        assert said["untouched_failed"] == one.outcome.there.failed
        assert said["replicas_without"] == one.rise.actions[place].ground.without_replicas
    assert json.loads(explained(capsys, 2, "--json"))["foresight"] == []
    assert "FORESEEN" not in explained(capsys, 2)
