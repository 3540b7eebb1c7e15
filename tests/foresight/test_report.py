"""`foresail report`: how often foresight was right and what it was worth, in one sentence, from a real run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from statistics import median

import pytest

from foresail.__main__ import main
from projections.foresight.log import READS, ForesightLog
from projections.foresight.totals import ForesightTotals, Verdict, totals_of, totals_sentence
from tests.foresight.opening import events_of, foresight, opening
from tests.timeline.scripted import play_incident


def reported(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Return what the verb prints."""
    capsys.readouterr()
    assert main(["report", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_one_sentence_says_how_often_and_what_for(capsys: pytest.CaptureFixture[str]) -> None:
    """The counts, the median lead and the money are those of the rises that were acted on."""
    content = json.loads(reported(capsys, "--recording", opening(), "--json"))["foresight"]
    done = [one for one in foresight() if one.rise.carried_out]
    leads = [lead for one in done if (lead := one.outcome.lead_seconds(one.rise)) is not None]
    acted = sum(one.rise.carried_out for one in done)
    assert content["acted"] == acted > content["rises"] == len(done)
    assert content["ahead"] == len([lead for lead in leads if lead > 0.0]) > 0
    assert content["median_lead_seconds"] == median(lead for lead in leads if lead > 0.0)
    assert content["worth"] == pytest.approx(sum(one.outcome.worth or 0.0 for one in done))

    text = " ".join(reported(capsys, "--recording", opening()).split())
    minutes = f"{content['median_lead_seconds'] / 60.0:.3g}"
    assert f"Foresight acted {acted} times, before {len(done)} rises: " in text
    assert f"{content['ahead']} of them came, a median {minutes} min after it had acted" in text
    assert f"than in the world without us (+{content['worth']:.3g} USD)" in text
    assert "Rises that were foreseen" in text
    scored = [
        one.data.action for one in events_of(opening(), "outcome.forecast") if one.data.action
    ]
    assert content["value"] == pytest.approx(sum(one.value for one in scored))
    assert scored
    assert "USD against judging without it" in text


def test_parts_of_a_log_count_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Two overlapping parts of one log have the totals of the whole."""
    whole = tmp_path / "whole.fslog"
    shutil.copy(opening(), whole)
    parts = tmp_path / "parts"
    parts.mkdir()
    for name, cycles in (("early", "..60"), ("late", "50..")):
        cut = ["recording", "cut", "--cycle", cycles, str(whole), str(parts / f"{name}.fslog")]
        assert main(cut) == 0
    by_parts = json.loads(reported(capsys, "--recording", parts, "--json"))["foresight"]
    assert by_parts == json.loads(reported(capsys, "--recording", whole, "--json"))["foresight"]


def totals_until(at_seconds: float) -> ForesightTotals:
    """Return the totals of the morning's log up to a cluster time."""
    log = ForesightLog()
    for event in events_of(opening(), *READS):
        if log.seen_seconds >= at_seconds:
            break
        log = log.after(event)
    totals = totals_of((one, log.seen_seconds) for one in log.outcomes())
    assert totals is not None
    return totals


def test_of_a_log_that_ends_early_nothing_is_held_against_the_forecast() -> None:
    """Before the rise its actions are not due; with it they were ahead, and no verdict is lost."""
    rises = [one.outcome.rise_seconds for one in foresight() if one.outcome.rise_seconds]
    early, late = totals_until(min(rises) - 60.0), totals_until(max(rises) + 120.0)
    assert set(early.verdicts) == {Verdict.OPEN}
    assert f"0 of them came ({len(early.verdicts)} not due yet)" in totals_sentence(early)
    assert Verdict.AHEAD in late.verdicts
    assert late.verdicts.count(Verdict.OPEN) < len(early.verdicts)
    assert late.actions >= early.actions


def test_a_log_without_forecasts_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """A run by the old rules has no sentence and no table."""
    recording = play_incident("node-failure").recording
    assert json.loads(reported(capsys, "--recording", recording, "--json"))["foresight"] is None
    assert "Foresight" not in reported(capsys, "--recording", recording)
