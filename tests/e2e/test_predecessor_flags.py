"""docs/predecessor-flags.md: each flag of the predecessors does here what its row says."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bus.exit_codes import ExitCode
from bus.recording import open_recording
from tests.e2e.conftest import Cli, wait_until
from tests.served_prometheus import served_prometheus

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
CALIBRATION = {
    "idle_watts": 111.0,
    "cpu_full_scale_watts": 0.0,
    "mem_full_scale_watts": 0.0,
    "source": "a meter of the test",
}
CYCLES, PHASE_CYCLES = 40, 4


@dataclass(frozen=True)
class Run:
    """One run that took the flags: what it printed and what it recorded."""

    printed: str
    header: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    """Subject and data, oldest first."""

    def of(self, word: str) -> list[dict[str, Any]]:
        """Return the data of all events whose subject has a word, oldest first."""
        return [data for subject, data in self.events if word in subject.split(".")]


def _cli(folder: Path) -> Cli:
    folder.mkdir(exist_ok=True)
    return Cli(folder)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Play once in virtual time with the flags that need no second cluster."""
    folder = tmp_path_factory.mktemp("flags")
    (folder / "power.json").write_text(json.dumps(CALIBRATION), encoding="utf-8")
    (folder / "fast.toml").write_text("[inference]\nshadow_models = []\n", encoding="utf-8")
    cli = _cli(folder)
    done = cli.run(
        *("up", "--virtual-time", "--nodes", "4", "--workload", "idle", "--interval", "10s"),
        *("--for", "140s", "--namespaces", "foresail-ex,test-"),
        *("--power-calibration", "power.json", "--record", "run.fslog", "--untouched", "off"),
        *("--exercise", "--exercise-cycles", str(PHASE_CYCLES), "--exercise-randomise"),
        *("--exercise-seed", "9", "--config", "fast.toml"),
    )
    cli.stop()
    assert done.returncode == ExitCode.GOOD, done.stderr
    recording = open_recording(folder / "run.fslog")
    events = [(one.subject, json.loads(one.data)) for one in recording]
    return Run(done.stdout, dict(recording.header), events)


def test_cycles_are_as_far_apart_as_asked(run: Run) -> None:
    """--interval-seconds: --interval."""
    seen = run.of("observation")
    assert {one["interval_seconds"] for one in seen} == {10.0}
    times = [one["cluster_time_seconds"] for one in seen]
    assert all(9.0 <= later - earlier <= 11.0 for earlier, later in itertools.pairwise(times))


def test_namespaces_are_prefixes_of_what_counts(run: Run) -> None:
    """--namespace-prefixes: --namespaces."""
    assert {tuple(one["namespaces"]) for one in run.of("observation")} == {("foresail-ex", "test-")}


def test_a_calibration_file_says_what_machines_draw(run: Run) -> None:
    """--power-calibration: the same names in the file."""
    first = run.of("observation")[0]
    assert first["totals"]["energy_watts"] == 4 * 111.0  # later, machines sleep


def test_phases_of_the_exerciser_last_as_long_as_asked_and_are_drawn(run: Run) -> None:
    """--exercise-interval-iterations, -randomize, -seed: --exercise-cycles, -randomise, -seed."""
    applied = [one for one in run.of("stimulus") if one["status"] == "applied"]
    cycles = [one["cycle"] for one in applied]
    assert [later - earlier for earlier, later in itertools.pairwise(cycles)] == [PHASE_CYCLES] * (
        len(cycles) - 1
    )
    assert len(cycles) >= 3
    assert all(one["randomised"] for one in applied)
    (said,) = [data for subject, data in run.events if subject.endswith("config.exerciser")][-1:]
    assert '"seed":9' in json.dumps(said).replace(" ", "")


def test_what_is_off_is_printed_with_where_it_was_given(run: Run) -> None:
    """MODE=fast: each part that is off is named, with who turned it off; no run without us was played."""
    lines = run.printed.splitlines()
    assert any("shadow_models" in line and "fast.toml" in line for line in lines), run.printed
    assert any("untouched" in line and "--untouched" in line for line in lines), run.printed
    assert not run.of("untouched")
    assert not run.of("shadow")


def test_a_recording_says_what_it_was_made_with(run: Run) -> None:
    """run_manifest.json: settings, code and packages in the header, the same settings in the log."""
    text = json.dumps(run.header)
    for word in ("settings", "packages", "version"):
        assert word in text, text[:2_000]
    assert [data for subject, data in run.events if subject.endswith("config.stack")]


@pytest.fixture
def mirrors(tmp_path: Path) -> Iterator[list[Path]]:
    """Serve two further clusters."""
    with ExitStack() as stack:
        found = []
        for name in ("left", "right"):
            folder = str(tmp_path / name)
            options = ("--nodes", "3", "--workload", "idle", "--kubeconfig-dir", folder)
            command = [sys.executable, "-m", "twin", *options]
            process = stack.enter_context(
                subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            )
            stack.callback(process.terminate)
            assert process.stdout is not None
            found.append(Path(json.loads(process.stdout.readline())["admin_kubeconfig"]))
        yield found


def test_further_clusters_are_exercised_at_the_same_moment(
    tmp_path: Path, mirrors: list[Path]
) -> None:
    """--mirror-exercise-kubeconfig, --prometheus-base-url, --max-iterations, the single writer: one stack with two
    mirrors, usage by a Prometheus, its end after so many cycles, and a second stack that is refused meanwhile.
    """
    cli = _cli(tmp_path / "work")
    with served_prometheus() as prometheus:
        prometheus.values = {"node_cpu": {"node-0": "0.25"}}
        flags = [word for one in mirrors for word in ("--mirror-exercise", str(one))]
        try:
            stack = cli.start(
                *("up", "--nodes", "3", "--workload", "idle", "--interval", "1", "--exercise"),
                *("--exercise-cycles", "3", "--prometheus", prometheus.url, *flags),
                *("--dashboard-port", "0", "--json", "--max-cycles", str(CYCLES)),
            )
            wait_until(lambda: cli.newest_decided_cycle() > 0, 240, "a decision")
            second = cli.run("up", "--nodes", "3", "--for", "5s")
            assert second.returncode == ExitCode.BAD_INPUT, second.stdout
            assert "status" in second.stderr or "--state" in second.stderr, second.stderr
            assert len(second.stderr.strip().splitlines()) == 1
            wait_until(lambda: _applied(cli), 240, "a phase on every cluster")
            told = _applied(cli)[0]["mirrors"]
            assert [one.split(",")[0] for one in told] == ["mirror 1: applied", "mirror 2: applied"]
            assert any(form["query"] != "time()" for form in prometheus.forms)
            output, _ = stack.communicate(timeout=240)
            assert stack.returncode == ExitCode.GOOD, output[-2_000:]
            assert CYCLES <= json.loads(output)["cycles"] <= CYCLES + 2, output[-2_000:]
        finally:
            cli.stop()


def _applied(cli: Cli) -> list[dict[str, Any]]:
    found = [one for one in cli.stored("stimulus") if one["status"] == "applied"]
    return [one for one in found if len(one["mirrors"]) == 2]
