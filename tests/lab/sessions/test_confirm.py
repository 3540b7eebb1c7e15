"""A winner is played once on the test split, and only what the gate lets pass becomes a file of settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foresail.__main__ import main
from foresail.settings import resolve
from inputs.limited_files import read_toml

pytestmark = [pytest.mark.slow, pytest.mark.nats]

WORLDS = Path("experiments/worlds").absolute()
EXPERIMENT = """
name = "blind"
[[arms]]
name = "blind"                 # to whom a minute outside the objective is worth nothing, so that it never scales
base = "karpenter+foresail"
settings = {"agents.value" = {slo_service_minute = 0.0, untouched_ratio = 0.0}}
[[arms]]
name = "none"
[world]
nodes = 6
warm_up = "2m"
length = "10m"
[[workloads]]
name = "ripples"
plays = "WORLDS/ripples.csv"
[[workloads]]
name = "others"
plays = "WORLDS/ripples-others.csv"
split = "test"
[seeds]
count = SEEDS
[hypothesis]
arm = "blind"
against = "none"
"""


def write_files(folder: Path, values: list[float], seeds: int) -> None:
    """Write the experiment, and a search over what a minute is worth."""
    text = EXPERIMENT.replace("WORLDS", str(WORLDS)).replace("SEEDS", str(seeds))
    (folder / "blind.toml").write_text(text)
    search = {
        "study": "worth", "trials": 1, "fixed": {"arm": "blind"},
        "payload": {"kind": "experiment", "file": str(folder / "blind.toml"), "seeds": 1},
        "space": [{"name": "agents.value.slo_service_minute", "choices": values}],
        "objectives": [{"figure": "score_dollars_per_hour"}],
    }  # fmt: skip
    (folder / "search.yaml").write_text(json.dumps(search))


def tuned(folder: Path) -> list[str]:
    """Return the command that searches and confirms."""
    return [
        *("tune", str(folder / "search.yaml"), "--state", str(folder / "state")),
        *("--confirm", str(folder / "blind.toml"), "--profile-out", str(folder / "tuned.toml")),
    ]


def test_a_winner_that_the_gate_lets_pass_becomes_a_profile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its file holds the arm's settings and the evidence, `up` takes it, and the test split is not asked again."""
    write_files(tmp_path, [0.05], seeds=6)

    assert main(tuned(tmp_path)) == 0

    path = tmp_path / "tuned.toml"
    assert read_toml(path)["agents"] == {
        "profile": "foresail",
        "value": {"slo_service_minute": 0.05, "untouched_ratio": 0.0},
    }
    assert "# tuned against blind on score_dollars_per_hour: +" in path.read_text()
    kept = json.loads((tmp_path / "state/sessions/tune-worth/confirmed.json").read_text())
    assert (kept["passes"], kept["settings"]) == (True, {"agents.value.slo_service_minute": 0.05})
    assert resolve(path, {}, {}).agents.value.slo_service_minute == 0.05
    capsys.readouterr()

    path.unlink()
    assert main(tuned(tmp_path)) == 2
    assert "the test split is looked at once" in capsys.readouterr().err
    assert not path.exists()


def test_a_winner_that_gains_nothing_becomes_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The search's best is the arm itself: the gate says so, and no file is written."""
    write_files(tmp_path, [0.0], seeds=2)

    assert main(tuned(tmp_path)) == 1

    assert "every world came out the same" in capsys.readouterr().out
    assert not (tmp_path / "tuned.toml").exists()
