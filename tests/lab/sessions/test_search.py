"""A search is declared once, cannot deceive itself, and shows every trial that fails."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bus.errors import InputError
from foresail.__main__ import main
from foresail.session.confirming import confirming_experiment, profile_of
from lab.experiments.gate import GateResult
from lab.experiments.spec import read_experiment
from lab.sessions.arm_settings import arm_settings
from lab.sessions.attempts import JobStart
from lab.sessions.limits import Limits
from lab.sessions.presets import PRESETS, preset
from lab.sessions.search import Search, read_search
from lab.sessions.study import Best, StudyRunner, StudyState, TooManyFailed
from schemas.session import EndedTrial
from tests.lab.sessions.conftest import open_local

SCRIPT = (
    "import json,sys; c=json.loads(sys.argv[1]); sys.exit('no') if c['x'] < c.get('fails_below', -1) else 0; "
    "json.dump({'status':'success','metrics':{'score':-(c['x']-3)**2,'cost':c['x'],'served':10-c['x']}},"
    "open(sys.argv[2],'w'))"
)
COMMAND = {"kind": "command", "argv": ["{python}", "-c", SCRIPT, "{config}", "{output_json}"]}
SPACE = [{"name": "x", "low": 0.0, "high": 10.0}]
GOOD: dict[str, Any] = {
    "study": "s", "payload": COMMAND, "space": SPACE, "fixed": {"x": 9.0},
    "objectives": [{"figure": "score"}], "trials": 6,
}  # fmt: skip
WHAT_IF = {"kind": "what-if", "recording": "r.fslog"}
WEIGHT = [{"name": "scoreboard.alpha", "low": 0.5, "high": 2.5}]
EXPERIMENT = {"kind": "experiment", "file": "e.toml"}


async def searched(
    tmp_path: Path, history: list[EndedTrial] | None = None, **more: Any
) -> StudyState:
    """Run a study to its end; `history` takes its trials as they are told."""
    search = Search.model_validate({**GOOD, **more})
    told = [] if history is None else history

    async def on_change(state: StudyState) -> None:
        told.extend(state.history)

    async with open_local("s", tmp_path / "session") as engine:
        runner = StudyRunner(
            search, engine, JobStart(sys.executable), Limits(2), tmp_path / "trials",
            f"sqlite:///{tmp_path / 'study.db'}", on_change,
        )  # fmt: skip
        return await runner.run()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"space": []}, "space"),
        ({"space": SPACE * 2}, "stands twice"),
        ({"space": [{"name": "x", "low": 2, "high": 1}]}, "low below its high"),
        ({"space": [{"name": "x", "low": 0.0, "high": 1.0, "log": True}]}, "above 0"),
        ({"space": [{"name": "x", "low": 0, "high": 1, "choices": [1]}]}, "or choices"),
        ({"objectives": [{"figure": "config.x"}]}, "not what was tried"),
        ({"objectives": [{"figure": "1 +"}]}, "1 +"),
        ({"objectives": [{"figure": "a"}] * 2, "sampler": "cma-es"}, "one objective"),
        ({"payload": WHAT_IF, "fixed": {}, "space": WEIGHT}, "part of the reward"),
        ({"payload": WHAT_IF, "fixed": {}}, "x: "),
        ({"payload": {**EXPERIMENT, "split": "test"}, "fixed": {}, "space": [
            {"name": "executor.cool_down_seconds", "low": 1.0, "high": 9.0}]}, "development split"),
        ({"rungs": [1, 2]}, "only an experiment"),
        ({"sampler": "grid"}, "choices alone"),
        ({"sampler": "grid", "space": [{"name": "x", "choices": [1, 2]}]}, "2 combinations"),
        ({"payload": {"kind": "policy"}, "fixed": {}, "space": [
            {"name": "beta", "low": 0.1, "high": 2.0}]}, "part of the reward"),
        ({"trials": 0}, "trials"),
    ],
)  # fmt: skip
def test_a_search_that_deceives_itself_is_refused(
    change: dict[str, Any], why: str, tmp_path: Path
) -> None:
    """One line says what, and why."""
    path = tmp_path / "search.yaml"
    path.write_text(json.dumps({**GOOD, **change}))

    with pytest.raises(InputError) as refused:
        read_search(path)
    assert why in str(refused.value)


@pytest.mark.slow
async def test_a_study_finds_what_is_better_and_goes_on(tmp_path: Path) -> None:
    """Its best beats the baseline, holds the constraint, and more trials are added to those that there are."""
    first = await searched(tmp_path, constraints=["served >= baseline.served"])
    told: list[EndedTrial] = []
    second = await searched(tmp_path, told, constraints=["served >= baseline.served"], trials=8)

    assert (first.completed, second.completed, second.failed) == (6, 8, 0)
    assert [(one.run_trial, one.state) for one in told] == [(1, "complete"), (2, "complete")]
    assert {one.trial for one in told} == {6, 7}  # two run at a time, and either may end first
    (best,) = second.best
    assert best.values[0] > -36.0
    assert best.parameters["x"] <= 9.0


@pytest.mark.slow
async def test_no_winner_breaks_a_constraint(tmp_path: Path) -> None:
    """Where nothing holds it, there is none."""
    state = await searched(tmp_path, constraints=["served > 100"])

    assert (state.completed, state.best) == (6, [])


@pytest.mark.slow
async def test_failing_trials_are_counted_and_end_the_study(tmp_path: Path) -> None:
    """Each says why, and a share above the limit is the end, not a quiet result."""
    few = await searched(
        tmp_path / "few", fixed={"x": 9.0, "fails_below": 6.0}, most_failed_ratio=1.0
    )
    assert few.failed > 0
    assert few.failed + few.completed == 6
    assert set(few.errors) == {"no"}

    fixed = {"x": 9.9, "fails_below": 9.8}
    with pytest.raises(TooManyFailed, match="no"):
        await searched(tmp_path / "many", fixed=fixed, trials=40)


@pytest.mark.slow
async def test_two_objectives_give_a_front(tmp_path: Path) -> None:
    """NSGA-II: none of its winners beats another one in both."""
    objectives = [{"figure": "score"}, {"figure": "cost", "direction": "minimize"}]
    state = await searched(tmp_path, objectives=objectives, sampler="nsga-ii", trials=15)

    values = sorted(best.values for best in state.best)
    assert values
    assert all(a[1] <= b[1] for a, b in pairwise(values))


@pytest.mark.slow
async def test_a_grid_plays_each_combination_once(tmp_path: Path) -> None:
    """Six combinations in two runs, four trials and then the rest."""
    grid = {"sampler": "grid", "space": [
        {"name": "x", "choices": [1.0, 3.0, 5.0]}, {"name": "y", "choices": [True, False]}]}  # fmt: skip
    told: list[EndedTrial] = []
    await searched(tmp_path, told, **grid, trials=4)

    state = await searched(tmp_path, told, **grid)

    assert state.completed == 6
    assert len({tuple(sorted(one.params.items())) for one in told}) == 6
    assert state.best[0].parameters["x"] == 3.0


@pytest.mark.slow
async def test_another_search_of_that_name_is_refused(tmp_path: Path) -> None:
    """Trials of other spaces say nothing of this one."""
    await searched(tmp_path)

    with pytest.raises(InputError, match="another search"):
        await searched(tmp_path, space=[{"name": "x", "low": 0.0, "high": 99.0}])


@pytest.mark.slow
@pytest.mark.nats
def test_the_predecessors_reward_search_shows_that_it_is_circular(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It runs, says why it is no evidence, and is never confirmed."""
    words = ["tune", "--preset", "reward-search", "--recording", "tests/golden/v2.fslog"]
    place = ["--trials", "2", "--state", str(tmp_path / "state")]

    assert main([*words, *place]) == 0
    assert "circular: " in capsys.readouterr().out
    assert main(["session", "status", "--state", str(tmp_path / "state")]) == 0
    assert "reward-search complete: 2 of 2 trials\nbest so far: trial " in capsys.readouterr().out
    confirm = ["--confirm", "experiments/short.toml", "--profile-out", str(tmp_path / "p.toml")]
    assert main([*words, *place, *confirm]) == 2


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_declared_and_says_why_it_is_circular(name: str) -> None:
    """What it is searched on has to be given, and nothing else."""
    needed = {"reward-search": ("r.fslog", None), "booster-profiles": (None, "made")}
    search = preset(name, *needed.get(name, (None, None)))

    assert Search.model_validate(search.model_dump()) == search
    assert search.circular
    for wrong in {("r.fslog", "made"), (None, None)} - {needed.get(name, (None, None))}:
        with pytest.raises(InputError, match=name):
            preset(name, *wrong)


def test_the_winner_meets_the_arm_that_it_came_from_on_the_test_split() -> None:
    """Both arms differ in the settings alone, and the profile says where it comes from."""
    experiment = read_experiment(Path("experiments/headline-market.toml"))
    search = Search.model_validate(
        {**GOOD, "fixed": {}, "payload": {**EXPERIMENT}, "space": [
            {"name": "executor.cool_down_seconds", "low": 1.0, "high": 900.0}]}
    )  # fmt: skip
    best = Best(7, (1.0,), {"executor.cool_down_seconds": 42.0})

    confirming = confirming_experiment(experiment, search, best)

    base, tuned = confirming.arms
    assert tuned.settings == {**base.settings, "executor.cool_down_seconds": 42.0}
    assert (confirming.hypothesis.arm, confirming.hypothesis.against) == ("tuned", base.name)
    assert confirming.guards == experiment.guards
    text = profile_of(search, best, tuned, GateResult(True, (), ("gain 1",)), "abc")
    assert '[agents]\nprofile = "foresail"' in text
    assert "[executor]\ncool_down_seconds = 42.0" in text
    assert "# gain 1" in text


def test_without_the_extra_it_says_how_to_get_it(tmp_path: Path) -> None:
    """Exit code 2 and the command, no traceback."""
    program = (
        "import sys; sys.modules['optuna'] = None; from foresail.__main__ import main; "
        f"sys.exit(main(['tune', 'x.yaml', '--state', {str(tmp_path)!r}]))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert ended.returncode == 2
    assert "pip install 'foresail[tune]'" in ended.stderr


def test_thresholds_of_agents_become_those_of_an_arm() -> None:
    """An arm takes a table for each agent; what the arm had in it stays."""
    base = {"agents.profile": "baseline-rules", "agents.safety": {"migrate_risk_ratio": 0.7}}
    given = {"agents.safety.replicate_risk_ratio": 0.9, "executor.cool_down_seconds": 5.0}

    assert arm_settings(given, base) == {
        "agents.profile": "baseline-rules",
        "agents.safety": {"migrate_risk_ratio": 0.7, "replicate_risk_ratio": 0.9},
        "executor.cool_down_seconds": 5.0,
    }


@pytest.mark.slow
@pytest.mark.nats
def test_an_experiments_trials_play_the_arm_with_the_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The baseline and each trial are played in the development worlds, and the best has an outcome score."""
    world = Path("tests/lab/experiments/mixed_world.csv").absolute()
    (tmp_path / "tiny.toml").write_text(TINY.replace("WORLD", str(world)))
    search = {
        "study": "tiny", "payload": {"kind": "experiment", "file": str(tmp_path / "tiny.toml"), "seeds": 1},
        "fixed": {"arm": "baseline-rules"}, "trials": 1,
        "space": [{"name": "agents.safety.replicate_risk_ratio", "low": 0.75, "high": 0.95}],
        "objectives": [{"figure": "score_dollars_per_hour"}],
    }  # fmt: skip
    (tmp_path / "search.yaml").write_text(json.dumps(search))

    code = main(
        ["tune", str(tmp_path / "search.yaml"), "--json", "--state", str(tmp_path / "state")]
    )

    state = json.loads(capsys.readouterr().out)
    assert (code, state["completed"], state["failed"]) == (0, 1, 0)
    assert "score_dollars_per_hour" in state["baseline"]


TINY = """
name = "tiny"
arms = ["none", "baseline-rules"]
[world]
nodes = 6
warm_up = "1m"
length = "5m"
[[workloads]]
name = "mixed"
plays = "WORLD"
[hypothesis]
arm = "baseline-rules"
against = "none"
"""
