"""Random small worlds: what is drawn, and what is counted of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from foresail.__main__ import main
from foresail.experiment import worlds_action
from foresail.experiment.world_run import WorldTask, play_world
from lab.experiments.code_version import code_version
from lab.random_worlds.draw import draw_world
from lab.random_worlds.results import WorldResult, find_result, keep_result, worst_of
from twin.port.files import read_scenario
from twin.port.workloads import open_workload


def result(seed: int, gain: float, cost: float = 10.0) -> WorldResult:
    """Return what came of a world."""
    return WorldResult(
        seed=seed,
        profile="foresail",
        code=code_version(),
        gain=gain,
        untouched_cost=cost,
        executed=1,
        refused=0,
    )


@pytest.mark.parametrize("first", range(1, 81, 20))
def test_every_world_can_be_played(first: int, tmp_path: Path) -> None:
    """The twin takes machines, arrivals and faults of every seed; the same seed gives the same world."""
    for seed in range(first, first + 20):
        world = draw_world(seed)
        assert world == draw_world(seed)
        (tmp_path / "world.jsonl").write_text(world.workload_text(), encoding="utf-8")
        open_workload(str(tmp_path / "world.jsonl"), nodes=4, seed=seed)
        if world.faults:
            (tmp_path / "script.yaml").write_text(world.scenario_text(), encoding="utf-8")
            read_scenario(tmp_path / "script.yaml")


def test_worlds_differ() -> None:
    """Idle and crowded, with and without Services, autoscalers and faults."""
    worlds = [draw_world(seed) for seed in range(200)]
    kinds = {fault["fault"] for world in worlds for fault in world.faults}
    services = {sum("traffic" in row for row in world.rows) for world in worlds}

    assert {
        "autoscaler",
        "node_death",
        "slow_node",
        "metrics_gap",
        "api_errors",
        "traffic",
    } <= kinds
    assert services == set(range(6))
    assert any(not world.faults for world in worlds)


def test_a_world_is_played_beside_itself_untouched() -> None:
    """Eight minutes of a world: its cost is what the untouched world bore, and both runs agree."""
    task = WorldTask(seed=1, profile="foresail", seconds=480.0)
    played = play_world(task)

    assert played == play_world(task)
    assert played.executed > 0
    assert played.gain != 0.0
    assert played.untouched_cost > abs(played.gain)


def test_the_worst_worlds_come_first() -> None:
    """By their loss as a share of what the world costs left alone."""
    results = [result(1, 1.0), result(2, -0.3), result(3, -0.5, cost=100.0), result(4, 0.0)]

    assert [2, 3, 4, 1] == [one.seed for one in worst_of(results)]
    assert [2] == [one.seed for one in worst_of(results, 1)]


@pytest.mark.parametrize(("gain", "code"), [(0.5, 0), (-0.15, 0), (-0.25, 1)])
def test_harm_beyond_two_percent_is_said_by_the_exit_code(
    gain: float, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kept results of today's code are not played again."""
    for seed in (1, 2):
        keep_result(tmp_path, result(seed, gain if seed == 2 else 1.0))

    assert main(["experiment", "worlds", "--count", "2", "--dir", str(tmp_path)]) == code
    assert f"made {code} worse" in " ".join(capsys.readouterr().out.split())


def test_missing_worlds_are_not_taken_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A time limit leaves worlds unplayed; results of other code do not count."""
    keep_result(tmp_path, result(1, 1.0).model_copy(update={"code": "other"}))
    assert find_result(tmp_path, "foresail", 1, code_version()) is None
    monkeypatch.setattr(worlds_action, "run_local", lambda *_: iter(()))

    assert main(["experiment", "worlds", "--count", "1", "--dir", str(tmp_path)]) == 5


def test_no_seed_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing to play is a mistake."""
    assert main(["experiment", "worlds", "--count", "0"]) == 2
    assert "--count = 0: give 1 or more" in capsys.readouterr().err
