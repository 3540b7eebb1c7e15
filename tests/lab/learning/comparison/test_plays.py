"""A comparison goes on where it was stopped, and what was played otherwise does not count."""

from __future__ import annotations

from itertools import count
from math import inf
from pathlib import Path

import pytest

from foresail.__main__ import main
from lab.learning.comparison.benchmark import Arm, rule_arms
from lab.learning.comparison.compare import Comparison
from lab.learning.comparison.overall import overall
from lab.learning.comparison.plays import Plays, Round
from lab.learning.comparison.report import Report
from lab.learning.workloads.sources import SourceOptions, stream_source

RULES = [arm for arm in rule_arms(2) if arm.name in {"first-fit", "sjf+fit", "random"}]
SHORT = SourceOptions(length_seconds=600.0)


def _comparison() -> Comparison:
    streams = [stream_source("uniform", SHORT, split="test")(seed) for seed in range(3)]
    return Comparison("uniform", RULES, (), streams, streams, inf)


def _play(plays: Plays, rounds: list[Round], most: int | None = None) -> int:
    calls = count()
    return sum(
        len(list(plays.play(one, lambda: most is None or next(calls) < most))) for one in rounds
    )


def test_it_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    """Nothing is played twice, and what two processes and a stop have made judges as one process does."""
    comparison = _comparison()
    rounds = comparison.rounds()
    assert _play(Plays(tmp_path), rounds, most=5) == 5
    assert comparison.judged(Plays(tmp_path)) is None
    halves = [_play(Plays(tmp_path), rounds[part::2]) for part in range(2)]
    assert sum(halves) == 24 - 5
    assert _play(Plays(tmp_path), rounds) == 0
    whole = Plays()
    _play(whole, rounds)
    kept, fresh = comparison.judged(Plays(tmp_path)), comparison.judged(whole)
    assert kept is not None
    assert fresh is not None
    assert [(one.played.arm.name, one.mean, one.gain) for one in kept.standings] == [
        (one.played.arm.name, one.mean, one.gain) for one in fresh.standings
    ]


def test_a_line_that_was_cut_off_is_played_again(tmp_path: Path) -> None:
    """And the line that follows it is read."""
    one = _comparison().rounds()[0]
    _play(Plays(tmp_path), [one])
    (path,) = (tmp_path / "played").iterdir()
    path.write_bytes(path.read_bytes()[:-20])
    assert _play(Plays(tmp_path), [one]) == 1
    assert _play(Plays(tmp_path), [one]) == 0


@pytest.mark.parametrize("changed", ["weights", "end", "jobs"])
def test_what_was_played_otherwise_is_played_anew(tmp_path: Path, changed: str) -> None:
    """Other weights under the same name, another end, other jobs: none of them counts."""
    streams = _comparison().test
    nobody = (lambda: lambda cluster: None,)
    arm = Arm("ours", nobody, ("a",), learned=True)
    _play(Plays(tmp_path), [Round("uniform/test", arm, 0, streams, 900.0)])
    other = {
        "weights": Round("uniform/test", Arm("ours", nobody, ("b",)), 0, streams, 900.0),
        "end": Round("uniform/test", arm, 0, streams, 901.0),
        "jobs": Round("uniform/test", arm, 0, [stream_source("uniform", SHORT)(7)], 900.0),
    }[changed]
    assert len(Plays(tmp_path).missing(other)) == len(other.streams)


def test_the_command_says_how_far_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With no time left it plays nothing, writes what is missing, and ends with the code for that; then it goes on."""
    words = [
        "learn",
        "benchmark",
        "--source",
        "length_seconds=600",
        "--streams",
        "2",
        "--rule-seeds",
        "1",
    ]
    words += ["--dir", str(tmp_path)]
    assert main([*words, "--time-limit", "0s"]) == 5
    assert "uniform (0 of 68 streams)" in (tmp_path / "report.md").read_text("utf-8")
    assert main(words) == 0
    text = (tmp_path / "report.md").read_text("utf-8")
    assert "| strict-fifo |" in text
    assert "## Performance profile" in text
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.count("<figure>") == 1
    assert main([*words, "--shard", "3/2"]) == 2
    assert "--shard = 3/2" in capsys.readouterr().err


def test_streams_that_share_jobs_are_said_to() -> None:
    """Two equal streams are one: half of their jobs stand in an earlier one."""
    stream = _comparison().test[0]
    comparison = Comparison("uniform", RULES, (), [stream], [stream, stream], inf)
    plays = Plays()
    _play(plays, comparison.rounds())
    judged = comparison.judged(plays)
    assert judged is not None
    assert judged.repeated == 0.5
    assert "50% of the streams' jobs" in Report([judged], overall([judged], 0), []).markdown()


def test_without_a_folder_a_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """What is played would be lost."""
    assert main(["learn", "benchmark", "--shard", "1/2"]) == 2
    assert "give --dir" in capsys.readouterr().err
