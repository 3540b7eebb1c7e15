"""`foresail sweep`: every combination once, interrupted or not, on any number of processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from bus.errors import ConfigError, InputError
from foresail.__main__ import main
from lab.rerun.sweep import Parameter, Sweep, pareto, read_parameter, run
from lab.rerun.what_if import WINDOW_SECONDS, what_if

REPLICATE = "agents.safety.replicate_risk_ratio"
SLEEP = "agents.efficiency.sleep_demand_ratio"


EVERYTHING_COMPUTED = {"compared": 26, "unreadable": 0, "damage": ""}


def sweep_of(path: Path, *parameters: Parameter) -> Sweep:
    """Return a sweep without other changes."""
    return Sweep(path, parameters, {}, None, WINDOW_SECONDS)


def test_parameters_are_ranges_or_lists() -> None:
    """`a..b:n` are n values from a to b; a list is taken as it is; names may be short."""
    assert read_parameter("agents.safety.replicate=0.7..0.95:6") == Parameter(
        REPLICATE, (0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
    )
    assert read_parameter("agents.admission.hold=2,8") == Parameter(
        "agents.admission.hold_queue_length", (2, 8)
    )
    assert read_parameter("agents.admission.hold=2..8:3").values == (2, 5, 8)
    for wrong in ("agents.safety.replicate", "nothing=1..2:2", "agents.safety.replicate=1..2:1"):
        with pytest.raises(ConfigError):
            read_parameter(wrong)


def test_a_sweep_finds_what_single_runs_find_and_goes_on_where_it_stopped(
    recorded_run: Path, tmp_path: Path
) -> None:
    """Stopped after one point and begun again, nothing is computed twice and nothing is missing."""
    sweep = sweep_of(recorded_run, Parameter(REPLICATE, (0.75, 0.9)), Parameter(SLEEP, (0.05, 0.5)))
    results = tmp_path / "results.jsonl"

    begun = run(sweep, results, 1)
    first, left = next(begun)
    assert left == 3
    begun.close()
    with results.open("a", encoding="utf-8") as file:
        file.write('{"point": {"agents')  # killed while it wrote
    counted = [(row, left) for row, left in run(sweep, results, 1)]

    assert [left for _, left in counted] == [3, 2, 1, 0]
    assert counted[0][0] == first
    points = [row["point"] for row, _ in counted]
    assert points == list(sweep.points)
    alone = json.loads(json.dumps(what_if(recorded_run, dict(sweep.points[0])).names()))
    assert first == {"point": dict(sweep.points[0]), **alone} | EVERYTHING_COMPUTED
    assert "refused" in counted[1][0]  # sleep 0.5 lies above dvfs 0.3
    assert [row for row, _ in run(sweep, results, 1)] == [row for row, _ in counted]


def test_results_of_another_sweep_are_not_taken(recorded_run: Path, tmp_path: Path) -> None:
    """A results file belongs to one recording and one set of held changes."""
    results = tmp_path / "results.jsonl"
    sweep = Sweep(recorded_run, (Parameter(SLEEP, (0.1,)),), {REPLICATE: 0.9}, None, WINDOW_SECONDS)
    list(run(sweep, results, 1))

    with pytest.raises(InputError, match="another sweep"):
        next(run(sweep_of(recorded_run, Parameter(SLEEP, (0.1,))), results, 1))


def test_the_front_holds_what_nothing_else_beats() -> None:
    """A row that is worse in one goal and better in none is not on the Pareto front."""
    rows: list[dict[str, Any]] = [
        {"churn": 1, "reward": 5.0},
        {"churn": 2, "reward": 9.0},
        {"churn": 2, "reward": 5.0},
        {"churn": 1, "reward": 5.0},
        {"refused": "no"},
    ]

    front = pareto(rows, [("churn", False), ("reward", True)])

    assert front == [rows[0], rows[1], rows[3]]


def test_the_command_prints_a_table_and_draws_the_same_plot_each_time(
    recorded_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One table with the recording's own row, the front drawn in characters and as SVG; two processes."""
    command = [
        "sweep",
        str(recorded_run),
        *("--param", "agents.safety.replicate=0.72,0.99"),
        *("--jobs", "2", "--out", str(tmp_path / "out.jsonl")),
    ]

    assert 0 == main([*command, "--svg", str(tmp_path / "a.svg")])
    output = capsys.readouterr().out
    assert "open-loop" in output
    assert "o Pareto front" not in output  # churn is 0 everywhere: the table has said it all
    assert 0 == main([*command, "--goals", "changed,reward"])
    assert "o Pareto front" in capsys.readouterr().out
    assert 0 == main([*command, "--svg", str(tmp_path / "b.svg"), "--json"])

    assert 2 == len(json.loads(capsys.readouterr().out)["rows"])
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert ET.parse(tmp_path / "a.svg").getroot().tag.endswith("svg")
