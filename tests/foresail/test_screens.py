"""What each verb prints for people: numbers of a length that is read, times with their clock."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from foresail.__main__ import main
from foresail.verbs import verbs
from tests.architecture.source_tree import ROOT
from tests.foresail.readable_numbers import unreadable_numbers
from tests.timeline.scripted import play_incident

CSV = ROOT / "examples" / "workload.csv"
SCREENS: dict[str, tuple[str, ...]] = {
    "explain": ("explain last --recording {run}", "explain 3 --recording {run}"),
    "explain-node": ("explain node rack-1 --recording {run}",),
    "timeline": ("timeline --recording {run}", "timeline --list --recording {run}"),
    "tap": tuple(
        f"tap {layer} --limit 40 --recording {{run}}"
        for layer in ("snapshot.nodes", "observation", "prediction", "proposal", "decision", "outcome")
    ),
    "tap-node": ("tap --node rack-1 --recording {run}",),
    "recording": (
        "recording info {run}", "recording check {run}", "recording cut {run} cut.fslog --cycle 2..4",
        "recording redact {run} redacted.fslog", "recording to-parquet {run} tables",
    ),
    "verify": ("verify {run}",),
    "what-if": ("what-if {run} --set agents.safety.replicate=0.9",),
    "sweep": ("sweep {run} --param agents.safety.replicate=0.7..0.9:3 --jobs 1",),
    "diff": ("diff {run} {run}",),
    "switchback": ("switchback --recording {run}",),
    "effects": ("effects --recording {run}",),
    "report": ("report --recording {run}",),
    "doctor": ("doctor",),
    "run-trace": ("run-trace {trace} episode.fslog",),
    "rbac": ("rbac --actions replicate --namespaces shop --json",),
    "twin": ("twin workloads", "twin validate {csv}"),
    "forecast": ("forecast inspect --model {model}",),
    "experiment": ("experiment list",),
    "up": ("up --virtual-time --for 20s --nodes 5 --workload openb",),
}  # fmt: skip
"""Screens of verbs that need no running stack; those of a stack are in `tests/e2e/test_first_hour.py`."""
OF_A_STACK = {"status", "kill", "pause", "resume", "undo", "rearm", "reset", "replay", "trace"}
OF_SESSIONS = {"session", "tune"}
"""They begin processes of their own; `tests/lab/sessions` reads what they print."""
OF_QUEUES = {"learn", "queue"}
"""They train, or ask a cluster; `tests/lab/learning` and `tests/lab/queue` read what they print."""
NO_NUMBERS = {"completion", "architecture", "dashboard"}

Print = Callable[[str], str]


@pytest.fixture
def printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Print:
    """Run a verb in an empty folder; give what it printed."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(play_incident("node-failure").recording, tmp_path / "run.fslog")
    names = {
        "run": "run.fslog",
        "csv": CSV,
        "trace": ROOT / "examples/predecessor/trace.jsonl",
        "model": ROOT / "services/inference/shipped/small-risk",
    }

    def run(command: str) -> str:
        main(command.format(**names).split())
        printed = capsys.readouterr()
        assert printed.out.strip(), printed.err
        return printed.out

    return run


def test_every_verb_has_its_screens() -> None:
    """A new verb is read here, too."""
    covered = {
        name.split("-")[0] if name.startswith(("explain", "tap")) else name for name in SCREENS
    }
    assert covered | OF_A_STACK | OF_SESSIONS | OF_QUEUES | NO_NUMBERS == set(verbs())


@pytest.mark.slow
@pytest.mark.parametrize("command", [one for all_ in SCREENS.values() for one in all_])
def test_numbers_are_of_a_length_that_is_read(printed: Print, command: str) -> None:
    """Three digits, two decimals for scores, no exponents; more only beside a limit."""
    screen = printed(command)
    assert unreadable_numbers(screen) == []


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("peak 1e-09 pods", 1), ("took 11.8722 s", 1), ("0.12345 of it", 1), ("8.5e+10 bytes", 1),
        ("took 11.9 s", 0), ("score 0.95, reward +10.40", 0), ("risk 0.649999 < 0.65", 0),
        ("version 1.2.3 at 00:00:05", 0), ("1,234,567 rows", 0), ("on 127.0.0.1:8765", 0),
        ("12345.67 watts", 1), ("0.000512", 0),
    ],
)  # fmt: skip
def test_an_unreadable_number_is_recognised(line: str, count: int) -> None:
    """Addresses, versions and times are no numbers."""
    assert len(unreadable_numbers(line)) == count


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "label"),
    [
        ("explain last --recording {run}", "all in cluster time: 2026-01-01"),
        ("explain node rack-1 --recording {run}", "cluster time, as are all times here"),
        ("timeline --list --recording {run}", "from (cluster time)"),
        ("tap decision --recording {run}", "seq cluster time subject"),
        ("recording info {run}", "of recorded time"),
        ("up --virtual-time --for 20s --nodes 5 --workload openb", "wall time: p50"),
    ],
)
def test_a_time_says_of_which_clock_it_is(printed: Print, command: str, label: str) -> None:
    """Cluster time, wall time or recorded time, on whatever line."""
    assert label in " ".join(printed(command).split())
