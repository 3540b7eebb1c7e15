"""`foresail twin`: sources are listed, files are judged whole, start states come from recordings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from foresail.__main__ import main
from foresail.settings import resolve
from foresail.stack.virtual import run_virtual_stack
from tests.architecture.source_tree import ROOT
from twin.port.settings import WEATHERS
from twin.port.workloads import FITTED, open_workload

CSV = (
    "record,name,cpu_millicores,memory_bytes,time_seconds,kind,cpu_request_millicores,"
    "memory_request_bytes\n"
)


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    """Run one action with --json and return what it says."""
    capsys.readouterr()
    assert main(["twin", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_sources_name_licence_and_size(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Every shipped model is listed with licence, attribution and the rows it was fitted from."""
    monkeypatch.delenv("FORESAIL_DATA", raising=False)
    every = run_json(capsys, "workloads")
    listed = [line for line in every if "rows" in line]

    assert tuple(line["name"] for line in listed) == FITTED
    assert all(line["licence"] and line["attribution"] and line["rows"] > 1000 for line in listed)
    assert not any(line["real"] for line in listed)
    (tmp_path / "replay").mkdir()
    (tmp_path / "replay" / "philly_gpu_jobs.parquet").touch()
    content = run_json(capsys, "workloads", "--data", str(tmp_path))
    assert [line["name"] for line in content if line.get("real")] == ["philly"]


def test_the_weather_is_listed_with_its_studies(capsys: pytest.CaptureFixture[str]) -> None:
    """Each level has its line; those in which something happens say whose figures they are."""
    levels = [line for line in run_json(capsys, "workloads") if line["kind"] == "weather"]

    assert tuple(line["level"] for line in levels) == WEATHERS
    assert all(line["licence"] for line in levels)
    assert all("Ford et al." in line["attribution"] for line in levels[1:])


def test_all_that_can_be_played_is_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    """Workloads, traffic and weather, one line each, not wrapped, all with licence and source."""
    assert main(["twin", "workloads"]) == 0
    head, *lines = capsys.readouterr().out.split("\n\n")[0].splitlines()
    places = [head.index(name) for name in ("kind", "name", "what", "licence", "source")]
    rows = [
        [line[first:last].strip() for first, last in zip(places, [*places[1:], None], strict=True)]
        for line in lines
    ]

    assert [row[1] for row in rows[: len(FITTED)]] == list(FITTED)
    kinds = {row[0] for row in rows}
    assert kinds == {"workload", "traffic", "machines", "weather", "scenario"}
    assert all(cell for row in rows for cell in row)
    assert {row[1] for row in rows if row[0] == "weather"} == set(WEATHERS)


def test_own_files_stand_in_the_same_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Workload, rate, machine and scenario files say what they hold, and whose they are where a comment says it."""
    rates = tmp_path / "mine.csv"
    text = (
        "# Source: our gateway, May\n# licence: CC0\ntime_seconds,requests_per_second\n0,5\n9,7\n"
    )
    rates.write_text(text, encoding="utf-8")
    names = (
        "shop.csv",
        "scenarios/rush.yaml",
        "scenarios/rough-weather.yaml",
        "workload.jsonl",
        "machines.yaml",
    )
    files = [str(rates), *(str(ROOT / "examples" / name) for name in names)]
    own = {line["name"]: line for line in run_json(capsys, "workloads", *files) if line.get("own")}

    assert own["mine.csv"] == {
        "own": True, "kind": "traffic", "name": "mine.csv", "licence": "CC0",
        "source": "our gateway, May",
        "title": "requests of a Service: 2 recorded rates, 5 to 7 a second",
    }  # fmt: skip
    assert "traffic of 1 services: shop 7 recorded rates, 40 to 240" in own["shop.csv"]["title"]
    assert "all Services as before x 3, shop 4 recorded rates" in own["rush.yaml"]["title"]
    assert "weather rough" in own["rough-weather.yaml"]["title"]
    machines = own["machines.yaml"]
    assert machines["kind"] == "machines"
    assert machines["title"] == "for --machines: 1 machine type, 1 node group"
    assert machines["source"] == "Foresail's own example, prices as in `foresail twin machines`"
    assert own["workload.jsonl"]["source"].startswith("not said; add a line")
    assert main(["twin", "workloads", *files]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in own)


def test_a_bad_own_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line that names file, line and remedy, exit code 2."""
    path = tmp_path / "mine.csv"
    path.write_text("time_seconds,requests_per_second\n0,-5\n", encoding="utf-8")
    assert main(["twin", "workloads", str(path)]) == 2
    assert "mine.csv line 2: requests_per_second = -5: give a number" in capsys.readouterr().err
    path = tmp_path / "mine.yaml"
    path.write_text(
        "machines:\n- {name: m, cpu_cores: -1, memory_gib: 4, price_per_hour: 1}\n",
        encoding="utf-8",
    )
    assert main(["twin", "workloads", str(path)]) == 2
    message = capsys.readouterr().err
    assert "mine.yaml line 2: machines[0].cpu_cores = -1: input should be greater than 0" in message
    assert message.count("\n") == 1


def test_validation_lists_every_bad_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All bad rows of all files at once; good files are said to be good."""
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text(f"{CSV}arrival,a,,,0,task,100,100\n", encoding="utf-8")
    bad.write_text(
        f"{CSV}arrival,a,,,-1,task,100,100\narrival,b,,,0,task,100,100\n"
        "arrival,c,,,0,task,99000,100\n",
        encoding="utf-8",
    )
    first, second = run_json(capsys, "validate", str(good), str(bad), code=2)

    assert (first["ok"], first["holds"]) == (True, "0 nodes, 1 arrival")
    assert [error["field"] for error in second["errors"]] == [
        "bad.csv line 2: time_seconds",
        "bad.csv line 4: cpu_request_millicores",
    ]
    assert main(["twin", "validate", str(bad)]) == 2
    assert capsys.readouterr().err.count("\n") == 2


def test_validation_reads_scenarios(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A good scenario is said to be one."""
    path = tmp_path / "quiet.yaml"
    path.write_text(
        "faults:\n  - fault: node_death\n    nodes: {pick: 1}\n    at_seconds: 60\n",
        encoding="utf-8",
    )
    assert run_json(capsys, "validate", str(path))[0]["ok"]
    assert run_json(capsys, "scenario", str(path), "--check")["ok"]


def test_validation_reads_machine_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a file of machines holds, or every bad value with its line, though its suffix is a scenario's."""
    path = tmp_path / "machines.yaml"
    path.write_text("groups: [{name: g, machine: m5.large, max: 3}]", encoding="utf-8")
    assert run_json(capsys, "validate", str(path))[0]["holds"] == "11 machine types, 1 node group"
    path.write_text("cloud: {quota_cores: 8}", encoding="utf-8")
    (result,) = run_json(capsys, "validate", str(path))
    assert result["holds"] == "the built-in machine types, 0 node groups"
    path.write_text("machines: []\ncloud:\n  quota_cores: -1\n  refuse: 3\n", encoding="utf-8")
    (result,) = run_json(capsys, "validate", str(path), code=2)
    assert [error["field"] for error in result["errors"]] == [
        "machines.yaml line 3: cloud.quota_cores",
        "machines.yaml line 4: cloud.refuse",
    ]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record some cycles in virtual time."""
    path = tmp_path_factory.mktemp("run") / "run.fslog"
    given = {
        "run.virtual_time": True,
        "run.for_seconds": 60.0,
        "run.nodes": 10,
        "run.workload": "google2011",
        "run.record": str(path),
    }
    run_virtual_stack(resolve(None, {}, given), quiet=True)
    return path


def test_a_recording_becomes_a_start_state(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The newest snapshot's nodes and pods are a workload that opens, pods on their nodes."""
    out = tmp_path / "start.jsonl"
    content = run_json(capsys, "export", "--from", str(recording), "--output", str(out),
                "--task-seconds", "10m")  # fmt: skip
    workload = open_workload(str(out), nodes=1, seed=1)
    arrivals = list(workload.arrivals)

    assert content["nodes"] == len(workload.nodes) == 10
    assert content["workloads"] == len(arrivals) > 20
    assert "recording" in content["notes"][0]
    names = {node.name for node in workload.nodes}
    assert all(set(entry.start_nodes) <= names for entry in arrivals)
    assert sum(len(entry.start_nodes) for entry in arrivals) > 20
    assert {entry.duration_seconds for entry in arrivals if entry.kind == "task"} == {600.0}


def test_exports_are_never_written_over(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that is there stays as it is."""
    out = tmp_path / "start.jsonl"
    out.write_text("mine", encoding="utf-8")
    assert main(["twin", "export", "--from", str(recording), "--output", str(out)]) == 2
    assert "give a new file name" in capsys.readouterr().err
    assert out.read_text(encoding="utf-8") == "mine"


def test_machines_are_listed_with_price_power_and_source(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The table says for each machine what it costs, what it draws, from whom and of when; so does a
    file of one's own, and one that is wrong is refused.
    """
    listed = run_json(capsys, "machines")
    assert len(listed) > 10
    for machine in listed:
        assert 0.0 < machine["spot_price_per_hour"] < machine["price_per_hour"]
        assert 0.0 < machine["idle_watts"] < machine["full_watts"]
        assert "20" in machine["source"]
    own = tmp_path / "own.yaml"
    row = "{name: big, cpu_cores: 9, memory_gib: 5, price_per_hour: 7.5}"
    own.write_text(f"machines: [{row}]", encoding="utf-8")
    capsys.readouterr()
    assert main(["twin", "machines", "--machines", str(own)]) == 0
    head, line = capsys.readouterr().out.splitlines()
    assert head.split()[:2] == ["machine", "cores"]
    assert line.split()[:3] == ["big", "9", "5"]
    own.write_text("machines: []\ngroups: [{name: g, machine: big, max: 2}]", encoding="utf-8")
    assert main(["twin", "machines", "--machines", str(own)]) == 2
    assert "own.yaml line 2: groups[0].machine" in capsys.readouterr().err
