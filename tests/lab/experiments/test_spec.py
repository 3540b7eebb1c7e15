"""Experiment files: what they mean, and every mistake in a line of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from bus.errors import InputError
from foresail.experiment.trial import idle_services
from lab.experiments.arms import BUILT_IN, Arm, arm_of
from lab.experiments.spec import Experiment, read_experiment
from services.agents.profiles import PROFILES

EXPERIMENTS = Path(__file__).parents[3] / "experiments"
GOOD = """
name = "short"
arms = ["none", "hpa", {name = "patient", base = "baseline-rules", settings = {"executor.cool_down_seconds" = 900}}]
[world]
warm_up = "10m"
length = "2h"
[[workloads]]
name = "openb"
[[workloads]]
name = "held-out"
plays = "surf"
split = "test"
[seeds]
count = 3
[hypothesis]
arm = "patient"
against = "none"
metric = "waiting_pod_hours"
"""


def _read(folder: Path, text: str) -> Experiment:
    path = folder / "experiment.toml"
    path.write_text(text, encoding="utf-8")
    return read_experiment(path)


def test_a_file_means_its_trials_seed_by_seed(tmp_path: Path) -> None:
    """Every arm meets every workload of the split with every seed, and early results pair."""
    experiment = _read(tmp_path, GOOD)
    trials = list(experiment.trials("development"))
    assert [(trial.seed, trial.workload.name, trial.arm.name) for trial in trials[:4]] == [
        (1, "openb", "none"),
        (1, "openb", "hpa"),
        (1, "openb", "patient"),
        (2, "openb", "none"),
    ]
    assert len(trials) == 9
    assert experiment.world.length == 7_200.0
    assert experiment.arm("patient").settings == {
        "agents.profile": "baseline-rules",
        "executor.cool_down_seconds": 900,
    }


def test_the_splits_share_neither_workloads_nor_seeds(tmp_path: Path) -> None:
    """What is tuned on one split has never seen a world of the other."""
    experiment = _read(tmp_path, GOOD)
    seen = [set(), set()]  # type: list[set[object]]
    for place, split in enumerate(("development", "test")):
        for trial in experiment.trials(split):
            seen[place] |= {trial.seed, trial.workload.name}
    assert seen[0]
    assert seen[1]
    assert not seen[0] & seen[1]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (('length = "2h"', "length = 7200"), "world.length = 7200: write a duration as 15s, 30m, 6h or 1d"),
        (('arm = "patient"', 'arm = "patent"'), "hypothesis.arm: 'patent' is no arm; use one of none, hpa, patient"),
        (('against = "none"', 'against = "patient"'), "hypothesis: an arm cannot be compared with itself"),
        (('"waiting_pod_hours"', '"waiting"'), "metric: 'waiting' is unknown; use one of"),
        (('"waiting_pod_hours"', '"forecast_skill"'), "metric: 'forecast_skill' is of an arm by itself; use one of"),
        (('["none", ', '["nobody", '), "arms.0"),
        (('"hpa"', '"none"'), "arms: none stands twice"),
        (('"baseline-rules"', '"base"'), "base: 'base' is no built-in arm; use one of none,"),
        (('"executor.cool_down_seconds"', '"run.nodes"'), "settings.run.nodes: an arm changes settings of"),
        (("count = 3", "count = 1"), "seeds.count = 1"),
        (("[seeds]", "[sedes]"), "sedes"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place_and_remedy(
    tmp_path: Path, change: tuple[str, str], complaint: str
) -> None:
    """One line says file, field, value and what to write instead."""
    assert change[0] in GOOD
    with pytest.raises(InputError) as caught:
        _read(tmp_path, GOOD.replace(*change))
    assert complaint in str(caught.value)
    assert all(line.startswith(str(tmp_path)) for line in str(caught.value).splitlines())


def test_every_mistake_has_a_line(tmp_path: Path) -> None:
    """Two mistakes are told at once, so that nobody corrects a file one error at a time."""
    text = GOOD.replace('warm_up = "10m"', 'warm_up = "soon"').replace("count = 3", "count = 0")
    with pytest.raises(InputError) as caught:
        _read(tmp_path, text)
    assert len(str(caught.value).splitlines()) == 2


def test_files_beside_the_experiment_are_found(tmp_path: Path) -> None:
    """Names of files in it are meant from where it stands, wherever the command is given."""
    (tmp_path / "mine.csv").write_text("", encoding="utf-8")
    experiment = _read(tmp_path, GOOD.replace('plays = "surf"', 'plays = "mine.csv"'))
    assert experiment.workloads[1].plays == str(tmp_path / "mine.csv")


def test_a_result_belongs_to_everything_that_determines_it(tmp_path: Path) -> None:
    """Another seed, arm, world, file or code gives another name; the same gives the same."""
    (tmp_path / "mine.csv").write_text("a", encoding="utf-8")
    text = GOOD.replace('name = "openb"', 'name = "openb"\nplays = "mine.csv"')
    trials = list(_read(tmp_path, text).trials("development"))
    names = {trial.fingerprint("code") for trial in trials}
    assert len(names) == len(trials)
    assert names == {
        trial.fingerprint("code") for trial in _read(tmp_path, text).trials("development")
    }
    longer = text.replace('"2h"', '"3h"')
    others = {trial.fingerprint("code") for trial in _read(tmp_path, longer).trials("development")}
    (tmp_path / "mine.csv").write_text("b", encoding="utf-8")
    other_file = {
        trial.fingerprint("code") for trial in _read(tmp_path, text).trials("development")
    }
    other_code = {trial.fingerprint("newer") for trial in trials}
    assert not names & (others | other_file | other_code)


def test_no_arm_can_make_its_world_easier() -> None:
    """Machines, length, workload and seed belong to the world: an arm that names one is refused."""
    for setting in (
        "run.nodes",
        "run.seed",
        "run.for_seconds",
        "exerciser.seed",
        "score.node_hour",
        "collector.speed",
    ):
        with pytest.raises(ValueError, match="an arm changes settings of agents"):
            Arm(name="x", acts=True, settings={setting: 1})


@pytest.mark.parametrize(
    ("name", "why"),
    [("ppo", "no trained policy is shipped")],
)
def test_an_arm_that_cannot_be_run_yet_says_why(tmp_path: Path, name: str, why: str) -> None:
    """What people ask for and is not there is one line with the reason, not a list of other names."""
    with pytest.raises(InputError) as caught:
        _read(tmp_path, GOOD.replace('"hpa"', f'"{name}"'))
    line = str(caught.value).splitlines()[0]
    assert f"{name!r} cannot be run yet: " in line
    assert why in line


def test_a_refused_arm_is_one_line(tmp_path: Path) -> None:
    """That a list is short of what was refused goes without saying."""
    text = GOOD.replace('"none", "hpa", ', '"ppo", ').replace('"none"', '"ppo"')
    with pytest.raises(InputError) as caught:
        _read(tmp_path, text)
    assert [" arms.0 = " in line for line in str(caught.value).splitlines()] == [True]


def test_every_profile_of_the_agents_is_an_arm_by_its_name() -> None:
    """A profile that is added can be compared without another word."""
    for profile in PROFILES:
        arm = Arm.model_validate(arm_of(profile))
        assert arm.acts
        assert arm.settings.get("agents.profile", "baseline-rules") == profile


def test_without_prediction_nothing_predicts(tmp_path: Path) -> None:
    """The ablation leaves out inference alone; an arm that does not act cannot ask for it."""
    trial = next(
        trial
        for trial in _read(tmp_path, GOOD.replace('"hpa"', '"without-prediction"')).trials(
            "development"
        )
        if trial.arm.name == "without-prediction"
    )
    assert idle_services(trial) == ("inference",)
    with pytest.raises(ValueError, match="predicts: this arm does not act"):
        Arm(name="x", predicts=False)


def test_every_built_in_arm_is_one() -> None:
    """The table of arms holds together, and only arms of Foresail act."""
    arms = {name: Arm.model_validate(arm_of(name)) for name in BUILT_IN}
    assert not arms["none"].acts
    assert arms["baseline-rules"].acts
    assert {name for name, arm in arms.items() if arm.provisioner == "karpenter"} == {
        "hpa+karpenter",
        "hpa+karpenter+foresail",
        "karpenter+foresail",
        "karpenter",
        "vpa+karpenter",
    }


def test_the_day_long_headline_is_the_headline_but_for_its_length() -> None:
    """Who has a Ray cluster asks the same question over a whole day, with reports until its end."""
    short, day = (
        read_experiment(EXPERIMENTS / name) for name in ("headline.toml", "headline-24h.toml")
    )
    assert (short.world.length, day.world.length) == (6 * 3_600.0, 24 * 3_600.0)
    length = {"length": short.world.length}
    assert day.world.model_copy(update=length) == short.world
    beside = {"name", "world", "workloads"}
    assert day.model_dump(exclude=beside) == short.model_dump(exclude=beside)
    assert [one.name for one in day.workloads] == [one.name for one in short.workloads]
    last = max(
        float(line.split(",")[4])
        for line in (EXPERIMENTS / "worlds" / "web-day.csv").read_text().splitlines()
        if line.startswith("arrival")
    )
    assert last > 23 * 3_600.0


def test_the_other_question_about_the_headline_is_about_its_trials() -> None:
    """What has been played for one answers the other: not a trial more, and none is left out."""
    one, other = (
        {
            trial.fingerprint("code")
            for split in ("development", "test")
            for trial in read_experiment(EXPERIMENTS / name).trials(split)
        }
        for name in ("headline.toml", "headline-beside.toml")
    )
    assert one == other
