"""The predecessor's own command line, each of its flags, against a served simulated cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bus.events import event_of
from bus.exit_codes import ExitCode
from bus.recording import open_recording
from foresail.__main__ import main
from schemas.config import Config
from schemas.observation import Observation
from schemas.outcome import OutcomeExecution
from schemas.stimulus import Stimulus
from tests.patience import HANGS_SECONDS
from tests.served_prometheus import served_prometheus

POWER = {"idle_watts": 95.0, "cpu_full_scale_watts": 140.0, "mem_full_scale_watts": 40.0}
CYCLES = 5


@contextmanager
def served_twin(folder: Path) -> Iterator[str]:
    """Serve a simulated cluster of four nodes by itself; yield its administrator's kubeconfig."""
    options = ["--nodes", "4", "--workload", "idle", "--kubeconfig-dir", str(folder)]
    command = [sys.executable, "-m", "twin", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as twin:
        try:
            assert twin.stdout is not None
            yield json.loads(twin.stdout.readline())["admin_kubeconfig"]
        finally:
            twin.terminate()


def run(folder: Path, kubeconfig: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Run the command of docs/predecessors.md with further flags."""
    command = [
        *(sys.executable, "-m", "foresail", "up", "--kubeconfig", kubeconfig),
        *("--interval", "1", "--max-cycles", str(CYCLES)),
        *("--exercise", "--exercise-every", "1", "--randomize", "--exercise-seed", "31"),
        *("--exercise-namespace", "borg-orchestrator-exercise"),
        *("--trace-out", str(folder / "rows.jsonl"), "--record", str(folder / "run.fslog")),
        *("--state", str(folder / "state"), "--dashboard-port", "0"),
        *more,
    ]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=HANGS_SECONDS, check=False, env=os.environ
    )


def events_of(folder: Path, kind: type[Any]) -> list[Any]:
    """Return the data of every event of a kind in the recording."""
    events = (event_of(message) for message in open_recording(folder / "run.fslog"))
    return [event.data for event in events if isinstance(event.data, kind)]


@pytest.mark.nats
@pytest.mark.twin
def test_each_flag_means_what_it_meant(tmp_path: Path) -> None:
    """In shadow mode: so many cycles, a phase in each, sizes of the seed, watts and sources of the flags, and rows."""
    power = tmp_path / "power.json"
    power.write_text(json.dumps({**POWER, "source": "rack meter"}), encoding="utf-8")
    with served_twin(tmp_path) as kubeconfig, served_prometheus() as prometheus:
        given = ["--prometheus", prometheus.url, "--power-calibration", str(power)]
        given += ["--namespace-prefix", "borg-orchestrator-exercise,default,test-"]
        done = run(tmp_path, kubeconfig, *given)
    assert done.returncode == ExitCode.GOOD, done.stderr

    seen = events_of(tmp_path, Observation)
    assert CYCLES <= len(seen) <= CYCLES + 1
    applied = [one for one in events_of(tmp_path, Stimulus) if one.status == "applied"]
    assert [one.phase for one in applied][:4] == [0, 1, 2, 3]
    assert {one.namespace for one in applied} == {"borg-orchestrator-exercise"}
    assert all(one.randomised for one in applied)
    settings = {one.process: one.settings for one in events_of(tmp_path, Config)}
    assert settings["exerciser"]["seed"] == 31
    assert {name: settings["collector"]["power"][name] for name in POWER} == POWER
    assert settings["collector"]["namespaces"] == ["borg-orchestrator-exercise", "default", "test-"]
    assert prometheus.asked
    assert {one.mode for one in events_of(tmp_path, OutcomeExecution)} == {"shadow"}
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [row["timestamp"] for row in rows] == [one.cluster_time_seconds for one in seen]
    assert {len(row["nodes"]) for row in rows} == {4}
    assert all(set(row["p_fail_scores"]) == set(row["demand_projection"]) for row in rows)
    first = rows[0]
    cpu = sum(node["cpu_util"] for node in first["nodes"])
    memory = sum(node["mem_util"] for node in first["nodes"])
    assert first["energy_watts"] == pytest.approx(4 * 95 + 140 * cpu + 40 * memory, abs=0.01)


@pytest.mark.nats
@pytest.mark.twin
def test_prefixes_become_the_names_that_may_be_written(tmp_path: Path) -> None:
    """In active mode the run says which namespaces the prefixes matched, and writes in these alone."""
    with served_twin(tmp_path) as kubeconfig:
        given = ["--mode", "active", "--namespace-prefix", "def,borg-"]
        done = run(tmp_path, kubeconfig, *given)
        assert done.returncode == ExitCode.GOOD, done.stderr
        (tmp_path / "b").mkdir()
        other = run(tmp_path / "b", kubeconfig, "--mode", "active", "--namespace-prefix", "nobody-")

    assert (
        "It writes for real, in borg-orchestrator-exercise, default and to no node" in done.stdout
    )
    settings = {one.process: one.settings for one in events_of(tmp_path, Config)}
    assert settings["executor"]["namespaces"] == ["borg-orchestrator-exercise", "default"]
    assert settings["collector"]["namespaces"] == ["def", "borg-"]
    assert other.returncode == ExitCode.BAD_INPUT
    assert "--namespace-prefix = nobody-" in other.stderr


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "write it as a JSON object"),
        ("[1]", "write it as a JSON object"),
        ('{"idle": 80}', "idle = 80: use cpu_full_scale_watts"),
    ],
)
def test_a_wrong_calibration_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, words: str
) -> None:
    """Field, value and remedy, before anything starts."""
    power = tmp_path / "power.json"
    power.write_text(content, encoding="utf-8")

    with pytest.raises(SystemExit) as ended:
        main(["up", "--power-calibration", str(power)])
    assert ended.value.code == ExitCode.BAD_INPUT
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line


def test_both_ways_to_name_namespaces_exclude_one_another(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exact names or prefixes."""
    assert main(["up", "--namespaces", "a", "--namespace-prefix", "b"]) == ExitCode.BAD_INPUT
    assert "exclude one another" in capsys.readouterr().err
