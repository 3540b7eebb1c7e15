"""Small experiments through the command line, with the product's own stack in every trial."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bus.exit_codes import ExitCode
from foresail.__main__ import main
from foresail.experiment.trial import run_task
from lab.experiments.engine import Task, run_local
from lab.experiments.results import TrialResult
from lab.experiments.spec import read_experiment

WORLD = """
name = "small"
arms = ["none", {name = "none-again", base = "none"}, "hpa+ca", "baseline-rules"]
[world]
nodes = 5
warm_up = "2m"
length = "8m"
weather = "off"
[[workloads]]
name = "google2011"
[seeds]
count = 2
[hypothesis]
arm = "baseline-rules"
against = "none"
metric = "waiting_pod_hours"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an experiment that was run in two parts."""
    folder = tmp_path_factory.mktemp("experiment")
    (folder / "small.toml").write_text(WORLD, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def results(folder: Path) -> dict[tuple[str, int], TrialResult]:
    """Return the result of every trial, by arm and seed."""
    trials = read_experiment(folder / "small.toml").trials("development")
    played = {}
    for number, trial in enumerate(trial for trial in trials if trial.seed == 1):
        recording = str(folder / f"{number}.fslog")
        done = run_task(Task(trial, f"{number}", recording))
        assert done.cost.cpu_seconds > done.cost.controller_cpu_seconds
        assert (done.cost.controller_cpu_seconds > 0.0) is trial.arm.acts
        played[trial.arm.name, trial.seed] = done.result
    return played


def _metrics(results: dict[tuple[str, int], TrialResult], arm: str) -> dict[str, float]:
    return results[arm, 1].metrics


def test_two_copies_of_an_arm_differ_by_nothing(
    results: dict[tuple[str, int], TrialResult],
) -> None:
    """The same arm under another name ends in the same state with the same figures, to the last digit."""
    one, other = results["none", 1], results["none-again", 1]
    assert one.metrics == other.metrics
    assert one.components == other.components != {}
    assert one.digest == other.digest


def test_other_processes_give_the_same_bytes(
    folder: Path, results: dict[tuple[str, int], TrialResult]
) -> None:
    """Trials of the product's own stack, played by workers, have the results that they have here."""
    trials = read_experiment(folder / "small.toml").trials("development")
    tasks = [
        Task(trial, results[trial.arm.name, 1].fingerprint, None)
        for trial in trials
        if trial.seed == 1 and trial.arm.name in ("none", "baseline-rules")
    ]
    for played in run_local(run_task, tasks, 2, lambda: False):
        here = results[played.result.arm, 1].model_copy(update={"recording": None})
        assert played.result.model_dump_json() == here.model_dump_json()


def test_arms_live_in_the_same_world_and_change_it(
    results: dict[tuple[str, int], TrialResult],
) -> None:
    """What HPA and machines on demand do shows in the figures; who looks on writes nothing."""
    assert _metrics(results, "none")["writes"] == 0.0
    assert _metrics(results, "none")["price_dollars"] == 0.0
    assert _metrics(results, "baseline-rules")["writes"] > 0.0
    digests = {result.digest for (arm, _), result in results.items() if arm != "none-again"}
    assert len(digests) == 3


def test_every_figure_has_its_sealed_log(
    folder: Path, results: dict[tuple[str, int], TrialResult], capsys: pytest.CaptureFixture[str]
) -> None:
    """The recording of a trial is whole, and its decisions follow from it."""
    del results
    recording = str(folder / "3.fslog")
    assert main(["recording", "check", recording]) == ExitCode.GOOD
    assert main(["verify", recording]) == ExitCode.GOOD
    capsys.readouterr()


def test_a_run_is_cut_off_and_resumed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A time limit ends with its own exit code and says how far it got; `list` counts the same."""
    command = ["experiment", "run", str(folder / "small.toml"), "--jobs", "1", "--json"]
    code, answer = _run(capsys, *command, "--time-limit", "0s")
    assert (code, answer["finished"], answer["trials"]) == (ExitCode.CUT_OFF, 0, 8)
    code, answer = _run(capsys, "experiment", "list", str(folder / "small.toml"), "--json")
    assert (code, answer["finished"], answer["trials"]) == (ExitCode.GOOD, 0, 8)


def _run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = main(list(words))
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, answer


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (('"google2011"', '"nowhere.csv"'), "nowhere.csv"),
        (
            (
                'base = "none"}',
                'base = "baseline-rules", settings = {"executor.cool_down" = 1}}',
            ),
            "executor.cool_down",
        ),
        (('nodes = 5', 'nodes = 0'), "world.nodes = 0"),
        (('weather = "off"', 'machines = "gone.yaml"'), "gone.yaml"),
    ],
)  # fmt: skip
def test_a_bad_experiment_is_refused_before_anything_runs(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: tuple[str, str],
    complaint: str,
) -> None:
    """A workload, setting or file that there is not costs one clear line and nothing else."""
    assert change[0] in WORLD
    path = tmp_path / "bad.toml"
    path.write_text(WORLD.replace(*change), encoding="utf-8")
    assert main(["experiment", "run", str(path), "--jobs", "1", "--json"]) == ExitCode.BAD_INPUT
    error = capsys.readouterr().err
    assert complaint in error
    assert "Traceback" not in error
    assert not (tmp_path / "bad.results").exists()


def test_the_score_says_what_acting_cost(results: dict[tuple[str, int], TrialResult]) -> None:
    """Every arm has one score in money an hour, which is the sum of its components."""
    for result in results.values():
        total = sum(result.components.values())
        assert result.metrics["score_dollars_per_hour"] == pytest.approx(total, abs=1e-3)
