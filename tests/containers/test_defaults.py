"""What docker-compose.yml plays by default is what `make run` plays."""

from __future__ import annotations

import json
import tomllib
from datetime import datetime
from pathlib import Path

from tests.architecture.source_tree import ROOT
from twin.port.workloads import open_workload

WORLD = Path("/world")
"""Where containers see the folder of the world."""


def defaults() -> dict[str, str]:
    """Return the variables of .env."""
    lines = (ROOT / ".env").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def test_workload_pace_and_start_are_those_of_the_first_run() -> None:
    """One place says how the site opens; the other follows it."""
    run = tomllib.loads((ROOT / "examples" / "first-run.toml").read_text(encoding="utf-8"))["run"]
    given = defaults()
    workload = Path(given["FORESAIL_WORLD"]) / Path(given["FORESAIL_WORKLOAD"]).relative_to(WORLD)

    assert (ROOT / workload) == ROOT / run["workload"]
    assert float(given["FORESAIL_SPEED"]) == run["speed"]
    assert float(given["FORESAIL_INTERVAL"]) == run["interval_seconds"]
    assert datetime.fromisoformat(given["FORESAIL_START"]) == run["start_time"]


def test_the_collector_is_given_the_tables_that_the_workload_names() -> None:
    """`foresail up` finds them by itself; containers are told, and read them without polars."""
    given = defaults()
    workload = ROOT / given["FORESAIL_WORLD"] / Path(given["FORESAIL_WORKLOAD"]).name
    named = open_workload(str(workload), nodes=1, seed=1).history_files

    assert json.loads(given["FORESAIL_HISTORY"]) == [str(WORLD / one.name) for one in named]
    assert named
    assert all(one.name.endswith((".csv", ".csv.gz")) for one in named)
