"""The fifteen mistakes of the predecessors' runners, one test each, on every engine where they can be made; the
seventh, jobs that find neither code nor data on a cluster, in `tests/docs/test_tuning_guide.py`.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from kubernetes.client import V1Job

from bus.errors import InputError
from foresail.__main__ import main
from lab.sessions.aggregate import Wanted, rank, read_results
from lab.sessions.attempts import JobStart, attempt_of
from lab.sessions.engines.job_manifest import JobTemplate, job_manifest
from lab.sessions.engines.port import Attempt
from lab.sessions.jobs_file import read_jobs_file, write_jobs_file
from lab.sessions.limits import Limits
from lab.sessions.payloads import BACKTEST
from lab.sessions.planner import plan_jobs
from lab.sessions.session_file import read_session_file
from projections.session_state import runner_counts
from schemas.session import PlannedJob
from tests.lab.sessions.harness import Harness, alive, payload_of, states

EXAMPLE = Path("examples/spread_backtest")
LABEL = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
SESSION_FILE = """
data_file: data/sample_arbitrage_prices.csv
min_spread_bps: 0
taker_fee_a_bps: 0
taker_fee_b_bps: 5
slippage_bps: 0
max_position_usd: 1000
grids: [{name: slippage_bps, values: [0, 1, 2, 3]}, {name: min_spread_bps, values: [0, 10, 20, 30]}]
max_jobs: 4
choose: sobol
tag_prefix: d39
"""


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """Return a copy of the example, in which its commands are typed."""
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder)
    return folder


def typed(folder: Path, module: str, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run one of the guide's commands in a folder."""
    environment = {**os.environ, "PYTHONPATH": "."}
    command = [sys.executable, "-m", f"scripts.{module}", *words]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
async def test_01_a_session_whose_time_is_over_is_no_success(harness: Harness) -> None:
    """Of three jobs two ran and one waited: all are counted, nothing runs on, and the exit code is 1."""
    jobs = harness.jobs([{"do": "hang"}] * 3)

    state, code = await harness.run(jobs, max_parallel=2, timeout_session_seconds=8.0)

    assert list(states(state).values()) == ["timed-out", "timed-out", "unsubmitted"]
    assert code == 1
    for _ in range(100):
        if not alive(str(harness.diary)):
            break
        await asyncio.sleep(0.1)
    assert alive(str(harness.diary)) == []


@pytest.mark.slow
async def test_02_jobs_of_one_name_do_not_vanish(harness: Harness) -> None:
    """Three jobs with one id, and one whose id is the same name: one runs, three are invalid, four are counted."""
    (job,) = harness.jobs([{"do": "succeed"}])
    alike = job.model_copy(update={"job_id": job.job_id.replace("_", "-"), "output_json": "x.json"})
    others = [job.model_copy(update={"output_json": f"{number}.json"}) for number in (1, 2)]

    state, code = await harness.run([job, *others, alike])

    assert state.total == 4
    assert (state.counts["succeeded"], state.counts["invalid"], code) == (1, 3, 1)


@pytest.mark.slow
async def test_03_invalid_jobs_are_errors(harness: Harness) -> None:
    """Two good and three bad jobs end with 1; only bad ones with 2; an empty file is an input error."""
    good = harness.jobs([{"do": "succeed"}] * 2)
    bad = tuple(
        PlannedJob(job_id=f"bad-{number}", config={}, output_json="", refused="no JSON")
        for number in range(3)
    )

    state, code = await harness.run([*good, *bad])

    counts = runner_counts(state.jobs)
    assert (counts.success_jobs, counts.error_jobs, counts.skipped_jobs, code) == (2, 3, 0, 1)
    assert runner_counts({job.job_id: state.jobs[job.job_id] for job in bad}).exit_code == 2
    (harness.folder / "empty.jsonl").write_text("")
    with pytest.raises(InputError):
        read_jobs_file(harness.folder / "empty.jsonl")


@pytest.mark.slow
async def test_04_a_retry_submits_again(harness: Harness) -> None:
    """Two jobs that fail at first both succeed at their second attempt."""
    state, code = await harness.run(harness.jobs([{"do": "fail-once"}] * 2), retries=1)

    assert [(one.state, one.attempt) for one in state.jobs.values()] == [("succeeded", 2)] * 2
    assert set(harness.begun().values()) == {2}
    assert code == 0


@pytest.mark.slow
@pytest.mark.nats
def test_05_no_wait_does_not_wait(tmp_path: Path) -> None:
    """Three jobs of two seconds in one slot: the command returns while they run, and they all run."""
    harness = Harness("local", tmp_path, None)  # type: ignore[arg-type]
    jobs = harness.jobs({"do": "sleep", "seconds": 2.0} for _ in range(3))
    write_jobs_file(tmp_path / "jobs.jsonl", payload_of("{python}"), jobs)
    place = ["--state", str(tmp_path / "state")]
    command = [sys.executable, "-m", "foresail", "session"]
    run = ["run", "--jobs-file", str(tmp_path / "jobs.jsonl"), "--max-parallel", "1", *place]

    ended = subprocess.run([*command, *run, "--no-wait", "--json"], capture_output=True, check=True)

    assert sum(line.endswith("done") for line in harness.lines()) < 3
    pid = json.loads(ended.stdout)["pid"]
    while Path(f"/proc/{pid}").exists():
        time.sleep(0.1)
    shown = subprocess.run([*command, "status", "--json", *place], capture_output=True, check=True)
    assert json.loads(shown.stdout)["states"]["succeeded"] == 3


def test_06_a_dry_run_is_dry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Jobs are shown and none begins; tests/lab/sessions/test_kubernetes.py counts the connections."""
    harness = Harness("local", tmp_path, None)  # type: ignore[arg-type]
    write_jobs_file(tmp_path / "jobs.jsonl", payload_of("{python}"), harness.jobs([{}, {}]))

    code = main(["session", "run", "--jobs-file", str(tmp_path / "jobs.jsonl"), "--dry-run"])

    assert (code, len(capsys.readouterr().out.splitlines())) == (0, 2)
    assert harness.lines() == []


def test_08_the_manifest_is_one_that_the_client_takes() -> None:
    """It travels as JSON; the official client's own model reads it, too."""
    manifest = job_manifest(_attempt(), "s", JobTemplate(), 1)

    assert V1Job.from_dict(manifest).spec.template.spec.restart_policy == "Never"


def test_09_without_a_client_nothing_is_pretended(tmp_path: Path) -> None:
    """A cluster that cannot be reached ends the run at once with 2, and no job has any end."""
    harness = Harness("local", tmp_path, None)  # type: ignore[arg-type]
    write_jobs_file(tmp_path / "jobs.jsonl", payload_of("{python}"), harness.jobs([{}]))
    words = ["--jobs-file", str(tmp_path / "jobs.jsonl"), "--state", str(tmp_path / "state")]

    code = main(
        ["session", "run", *words, "--engine", "kubernetes", "--kubeconfig", str(tmp_path / "none")]
    )

    assert code == 2


def test_10_every_label_is_one_that_kubernetes_takes() -> None:
    """Letters, digits, dashes, dots and underscores, 63 at most, the time included."""
    manifest = job_manifest(
        _attempt("É:/ x" * 30), "a session: of mine", JobTemplate(), 1_790_000_000
    )

    for labels in (
        manifest["metadata"]["labels"],
        manifest["spec"]["template"]["metadata"]["labels"],
    ):
        assert all(LABEL.fullmatch(value) and len(value) <= 63 for value in labels.values())
    assert len(manifest["metadata"]["name"]) <= 63


@pytest.mark.slow
async def test_11_results_come_home_and_are_found(harness: Harness) -> None:
    """Each job's result stands in a file of its own, where the aggregator reads it."""
    await harness.run(harness.jobs({"do": "succeed", "score": score} for score in (3, 1, 2)))

    found = rank(read_results(harness.folder / "out"), Wanted()).results
    assert [one.value for one in found] == [3.0, 2.0, 1.0]


@pytest.mark.slow
async def test_12_time_outs_delete_and_limits_are_checked(harness: Harness) -> None:
    """A job whose time is over is ended there and then, and a limit under which nothing runs is refused."""
    began = time.monotonic()
    state, _ = await harness.run(harness.jobs([{"do": "hang"}]), timeout_per_job_seconds=3.0)

    assert list(states(state).values()) == ["timed-out"]
    assert time.monotonic() - began < 60.0
    for wrong in ({"max_parallel": 0}, {"timeout_session_seconds": 0.0}, {"retries": -1}):
        with pytest.raises(InputError):
            Limits(**wrong).check()  # type: ignore[arg-type]


def test_13_the_planner_keeps_zeros_checks_names_and_chooses(tmp_path: Path) -> None:
    """A fixed 0 stays, an unknown name is refused, the tag is passed, and a cut grid is covered."""
    path = tmp_path / "s.yaml"
    path.write_text(SESSION_FILE)

    jobs = plan_jobs(read_session_file(path))

    assert {job.config["taker_fee_a_bps"] for job in jobs} == {0}
    assert {job.config["tag"] for job in jobs} == {"d39"}
    assert len({job.config["slippage_bps"] for job in jobs}) == 4
    path.write_text(SESSION_FILE.replace("name: slippage_bps", "name: slipage_bps"))
    with pytest.raises(InputError, match="slippage_bps"):
        plan_jobs(read_session_file(path))


def test_14_the_aggregator_knows_its_jobs_and_not_itself(tmp_path: Path) -> None:
    """Ids are there, its own summary is no result, and any figure can rank."""
    for number in (1, 2):
        metrics = {"realized_pnl_usd": number, "win_rate": -number}
        result = {"status": "success", "config": {"tag": "t"}, "metrics": metrics}
        (tmp_path / f"sess_{number}.json").write_text(json.dumps(result))
    words = ["session", "aggregate", "--results-dir", str(tmp_path)]
    for _ in range(2):
        assert main([*words, "--output-json", str(tmp_path / "summary.json")]) == 0

    summary = json.loads((tmp_path / "summary.json").read_text())

    assert summary["total_jobs"] == 2
    assert [(one["job_id"], one["tag"]) for one in summary["top_by_pnl"]] == [
        ("sess_2", "t"), ("sess_1", "t"),
    ]  # fmt: skip
    by_wins = rank(read_results(tmp_path), Wanted(rank_by="win_rate")).results
    assert [one.job_id for one in by_wins] == ["sess_1", "sess_2"]


def test_15_exit_codes_are_those_of_the_document(example: Path) -> None:
    """A data file that is missing is 1 for a back-test; a jobs file that is missing is 2 for a runner."""
    values = ["--min-spread-bps", "1", "--taker-fee-a-bps", "0", "--taker-fee-b-bps", "0"]
    more = ["--slippage-bps", "0", "--max-position-usd", "100", "--data-file"]
    data = "data/sample_arbitrage_prices.csv"

    assert typed(example, "run_arbitrage_tuning", [*values, *more, data]).returncode == 0
    assert typed(example, "run_arbitrage_tuning", [*values, *more, "none.csv"]).returncode == 1
    missing = typed(example, "run_tuning_session_local", ["--jobs-file", "none.jsonl"])
    assert missing.returncode == 2


def _planned(example: Path) -> Path:
    jobs = example / "outputs/tuning/session001_jobs.jsonl"
    words = ["--session-file", "configs/tuning/session001.yaml", "--output-jobs-file", str(jobs)]
    planned = typed(example, "plan_tuning_session", words)
    assert planned.returncode == 0, planned.stderr
    return jobs


def _attempt(job_id: str = "a_1") -> Attempt:
    job = PlannedJob(job_id=job_id, config={"min_spread_bps": 1}, output_json="o.json")
    return attempt_of(job, 1, BACKTEST, JobStart("python"), Limits())
