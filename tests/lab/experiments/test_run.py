"""Running trials: kept one by one, resumed, spread, and the same whatever the order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lab.experiments.engine import Task
from lab.experiments.results import PlayedTrial, ResultFolder, TrialCost, TrialResult
from lab.experiments.run import Plan, run
from lab.experiments.spec import Experiment
from lab.experiments.split_uses import count_use, read_uses

EXPERIMENT = Experiment.model_validate(
    {
        "name": "toy",
        "arms": [{"name": "a"}, {"name": "b"}],
        "workloads": [{"name": "openb"}, {"name": "surf", "split": "test"}],
        "seeds": {"count": 3},
        "hypothesis": {"arm": "a", "against": "b", "metric": "node_hours"},
    }
)


def play(task: Task) -> PlayedTrial:
    """Stand for a trial: a result that depends on it alone, and a cost that never comes twice."""
    trial = task.trial
    result = TrialResult(
        fingerprint=task.fingerprint,
        workload=trial.workload.name,
        arm=trial.arm.name,
        seed=trial.seed,
        metrics={"node_hours": trial.seed + len(trial.arm.name)},
    )
    return PlayedTrial(result, TrialCost(cpu_seconds=time.perf_counter()))


def _plan(folder: Path) -> Plan:
    return Plan(EXPERIMENT, "development", folder, "code", recordings="none")


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "trials").glob("*.json")}


def _never() -> bool:
    return False


def test_what_was_finished_is_not_played_again(tmp_path: Path) -> None:
    """A run that was cut off goes on where it stopped, and yields all results, old and new."""
    played: list[str] = []

    def counted(task: Task) -> PlayedTrial:
        played.append(task.fingerprint)
        return play(task)

    stop = iter([False, False, True])
    first = list(run(_plan(tmp_path), counted, lambda: next(stop)))
    assert len(first) == 2
    second = list(run(_plan(tmp_path), counted, _never))
    assert len(second) == 6
    assert len(played) == len(set(played)) == 6


def test_a_result_that_was_half_written_is_played_again(tmp_path: Path) -> None:
    """A file that a crash left behind in part is no result."""
    plan = _plan(tmp_path)
    list(run(plan, play, _never))
    path = ResultFolder(tmp_path).path_of(plan.tasks[0].fingerprint)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert ResultFolder(tmp_path).find(plan.tasks[0].fingerprint) is None
    list(run(plan, play, _never))
    assert path.read_bytes() == whole


def play_with_ray(plan: Plan) -> Iterator[None]:
    """Play a plan on a Ray cluster of this machine, where Ray is installed."""
    pytest.importorskip("ray", reason="needs Ray: pip install 'foresail[ray]'")
    yield from _play(replace(plan, engine="ray"))


def play_in_two_processes(plan: Plan) -> Iterator[None]:
    """Play a plan in two processes beside this one."""
    yield from _play(replace(plan, jobs=2))


def play_in_pieces(plan: Plan) -> Iterator[None]:
    """Play a plan from its end, one trial a run, after a crash that left half a file behind."""
    backwards = plan.tasks[::-1]
    path = ResultFolder(plan.folder).path_of(backwards[0].fingerprint)
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"fingerprint": "')
    for task in backwards:
        played = play(task)
        ResultFolder(plan.folder).write(played.result, played.cost)
        yield
    yield from _play(plan)


def _play(plan: Plan) -> Iterator[None]:
    for _ in run(plan, play, _never):
        yield


@pytest.mark.parametrize("engine", [play_in_two_processes, play_in_pieces, play_with_ray])
def test_engine_order_and_restarts_change_no_byte_of_a_result(
    tmp_path: Path, engine: Callable[[Plan], Iterator[None]]
) -> None:
    """The contract of engines: whoever plays a trial, when and after what, its result's file is the same."""
    alone, other = tmp_path / "alone", tmp_path / "other"
    list(_play(_plan(alone)))
    list(engine(_plan(other)))
    assert _files(alone) == _files(other)
    assert len(_files(alone)) == 6
    costs = [
        sorted(path.read_bytes() for path in (folder / "costs").iterdir())
        for folder in (alone, other)
    ]
    assert len(costs[0]) == len(costs[1]) == 6
    assert costs[0] != costs[1]  # what differs is kept, but elsewhere


def test_newer_code_takes_no_older_result(tmp_path: Path) -> None:
    """Results of other code stay in the folder and count for nothing."""
    list(run(_plan(tmp_path), play, _never))
    newer = replace(_plan(tmp_path), code="newer")
    results = ResultFolder(tmp_path)
    assert results.read(task.fingerprint for task in newer.tasks) == []
    list(run(newer, play, _never))
    assert len(_files(tmp_path)) == 12


def test_every_look_at_the_test_split_is_counted(tmp_path: Path) -> None:
    """The same code may go on with an interrupted run; other code is another use, and so is every gate or report."""
    plan = replace(_plan(tmp_path), split="test")
    list(run(_plan(tmp_path), play, _never))
    assert read_uses(tmp_path) == {}
    stop = iter([False, True])
    list(run(plan, play, lambda: next(stop)))
    list(run(plan, play, _never))
    assert read_uses(tmp_path) == {"run": 1}
    list(run(replace(plan, code="newer"), play, _never))
    for look in ("report", "gate", "report"):
        count_use(tmp_path, EXPERIMENT, "newer", look)
    assert read_uses(tmp_path) == {"run": 2, "gate": 1, "report": 2}


def test_a_failing_trial_loses_no_other(tmp_path: Path) -> None:
    """What was finished before an error is kept."""

    def fails(task: Task) -> PlayedTrial:
        if task.trial.seed == 2:
            raise RuntimeError("no luck")
        return play(task)

    with pytest.raises(RuntimeError):
        list(run(_plan(tmp_path), fails, _never))
    assert len(_files(tmp_path)) == 2


def test_a_result_under_another_name_is_none(tmp_path: Path) -> None:
    """A file that was copied over another trial's is not taken for it."""
    plan = _plan(tmp_path)
    list(run(plan, play, _never))
    results = ResultFolder(tmp_path)
    first, second = (results.path_of(task.fingerprint) for task in plan.tasks[:2])
    second.write_bytes(first.read_bytes())
    assert results.find(plan.tasks[0].fingerprint) is not None
    assert results.find(plan.tasks[1].fingerprint) is None
