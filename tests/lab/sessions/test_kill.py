"""A runner that is killed at any moment loses nothing: the same command goes on, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from random import Random

import pytest

from lab.sessions.jobs_file import write_jobs_file
from tests.lab.sessions.clusters import serving_real_cluster, serving_twin, until_nothing_left
from tests.lab.sessions.conftest import on_cluster, on_ray, open_local, two_ray_nodes
from tests.lab.sessions.harness import Harness, alive, payload_of, until_nobody

pytestmark = [pytest.mark.slow, pytest.mark.nats]

FAILING, HANGING = 10, 20
"""One in so many."""


def run_command(folder: Path, *more: str) -> list[str]:
    """Return the command that runs the session to its end, wherever it stands."""
    return [
        *(sys.executable, "-m", "foresail", "session", "run", "--json"),
        *("--jobs-file", str(folder / "jobs.jsonl"), "--state", str(folder / "state")),
        *("--max-parallel", "6", "--timeout-per-job", "3s", *more),
    ]


def planned(harness: Harness, count: int) -> Harness:
    """Write jobs of which some fail and some hang."""
    does = [
        "fail" if number % FAILING == 3 else "hang" if number % HANGING == 7 else "succeed"
        for number in range(count)
    ]
    jobs = harness.jobs({"do": do} for do in does)
    write_jobs_file(harness.folder / "jobs.jsonl", payload_of("{python}"), jobs)
    return harness


def on_this_machine(folder: Path, count: int) -> Harness:
    """Write such jobs for processes."""
    return planned(Harness("local", folder, open_local), count)


def wait_for_supervisor(folder: Path) -> None:
    """Wait until the supervisor of a killed runner has ended its jobs, as the next runner does."""
    for path in folder.rglob("supervisor.lock"):
        with path.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)


def check_killed_often(harness: Harness, command: list[str], jobs: int, kills: int) -> None:
    """Kill the runner at random moments, then let it end: every job is counted once, none runs after its success.

    SESSION_JOBS and SESSION_KILLS ask for more; 200 and 20 are what docs/sessions.md tells of.
    """
    jobs = int(os.environ.get("SESSION_JOBS", jobs))
    kills = int(os.environ.get("SESSION_KILLS", kills))
    planned(harness, jobs)
    random = Random(7)
    begun: dict[str, int] = {}
    for _ in range(kills):
        runner = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while (
            not harness.begun() and runner.poll() is None
        ):  # for the first time it has just started
            time.sleep(0.05)
        time.sleep(random.uniform(0.3, 4.0))
        runner.send_signal(signal.SIGKILL)
        runner.wait()
        wait_for_supervisor(harness.folder)
        for job in harness.ended_well():
            begun.setdefault(job, harness.begun()[job])

    last = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (last.returncode, last.stdout[:1]) == (1, "{"), last.stderr
    summary = json.loads(last.stdout)
    hanging, failing = jobs // HANGING, jobs // FAILING
    assert summary["exit_code"] == 1
    assert summary["states"] == {
        "succeeded": jobs - hanging - failing, "failed": failing, "timed-out": hanging,
        "invalid": 0, "cancelled": 0, "unsubmitted": 0,
    }  # fmt: skip
    assert summary["success_jobs"] + summary["error_jobs"] + summary["skipped_jobs"] == jobs
    assert begun
    assert {job: harness.begun()[job] for job in begun} == begun
    assert all(harness.begun()[job] for job in harness.ended_well())


def test_a_session_that_is_killed_many_times_counts_every_job_once(tmp_path: Path) -> None:
    """No process of any runner is left either."""
    harness = Harness("local", tmp_path, open_local)

    check_killed_often(harness, run_command(tmp_path), jobs=60, kills=6)

    assert alive(str(tmp_path)) == []


def test_on_a_ray_cluster_too(tmp_path: Path) -> None:
    """Of two nodes; what a killed runner began ends with it, and every CPU of the cluster is free again."""
    with two_ray_nodes() as address:
        import ray

        harness = Harness("ray", tmp_path, on_ray(address))
        command = run_command(tmp_path, "--engine", "ray", "--ray-address", address)
        check_killed_often(harness, command, jobs=40, kills=3)

        until_nobody(str(harness.diary))
        ray.init(address, log_to_driver=False, configure_logging=False)
        try:
            assert ray.available_resources()["CPU"] == ray.cluster_resources()["CPU"]
        finally:
            ray.shutdown()


@pytest.mark.twin
@pytest.mark.parametrize("serve", [serving_twin, serving_real_cluster], ids=["twin", "real"])
def test_on_kubernetes_too(
    serve: Callable[[Path], AbstractContextManager[Path]], tmp_path: Path
) -> None:
    """Jobs go on in the cluster while nobody runs the session; none begins twice, and neither Job nor pod is left."""
    with serve(tmp_path / "cluster") as kubeconfig:
        harness = Harness(
            "kubernetes", tmp_path, on_cluster(kubeconfig), python="python", session="killed"
        )
        more = ("--engine", "kubernetes", "--kubeconfig", str(kubeconfig), "--session", "killed")
        command = run_command(tmp_path, *more, "--timeout-per-job", "15s")
        check_killed_often(harness, command, jobs=40, kills=4)

        assert set(harness.begun().values()) == {1}
        until_nothing_left(kubeconfig, "killed")
        until_nobody(str(harness.diary))


def test_of_two_runners_one_works_and_the_other_leaves(tmp_path: Path) -> None:
    """The second says who has the session, does nothing, and ends with 3."""
    harness = Harness("local", tmp_path, open_local)
    path = tmp_path / "jobs.jsonl"
    write_jobs_file(path, payload_of("{python}"), harness.jobs([{"do": "hang"}]))
    command = run_command(tmp_path, "--timeout-per-job", "5m")
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        while not harness.lines():
            time.sleep(0.05)
        second = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        first.send_signal(signal.SIGINT)
        first.wait()

    assert second.returncode == 3
    assert f"process {first.pid}" in second.stderr
    assert harness.begun().total() == 1


async def test_a_runner_whose_session_was_taken_stops(tmp_path: Path) -> None:
    """Two runners on one log: the later claim wins, and the earlier runner ends with all that it ran."""
    from bus.errors import AnotherWriter

    harness = Harness("local", tmp_path, open_local)
    jobs = harness.jobs({"do": "sleep", "seconds": 1.0} for _ in range(4))
    first = asyncio.create_task(harness.run(jobs, max_parallel=2))
    while len(harness.lines()) < 2:
        await asyncio.sleep(0.02)
    async with harness.log("r2") as log:
        await log.claim("local", "there", {})

    with pytest.raises(AnotherWriter):
        await first

    assert alive(str(harness.diary)) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a disk of 64 KiB where results belong."""
    small = tmp_path / "out"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(small)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a small disk")
    yield small
    subprocess.run(["umount", str(small)], check=True)


async def test_a_full_disk_fails_the_job_that_meets_it(tmp_path: Path, small_disk: Path) -> None:
    """The one whose result does not fit says so, and those with room go on."""
    harness = Harness("local", tmp_path, open_local)
    full, other = harness.jobs([{"do": "megabyte"}, {"do": "succeed"}])
    assert Path(full.output_json).parent == small_disk
    other = other.model_copy(update={"output_json": str(tmp_path / "elsewhere.json")})

    state, code = await harness.run([full, other])

    first, second = state.jobs.values()
    assert (first.state, second.state, code) == ("failed", "succeeded", 1)
    assert "No space left" in first.why


def test_ctrl_c_keeps_what_was_done(tmp_path: Path) -> None:
    """An interrupted run ends with 130, says so in its log, and `status` shows it without a runner."""
    on_this_machine(tmp_path, 40)
    runner = subprocess.Popen(run_command(tmp_path), stdout=subprocess.DEVNULL)
    while not (tmp_path / "diary").exists():
        time.sleep(0.05)
    runner.send_signal(signal.SIGINT)
    assert runner.wait() == 130

    shown = subprocess.run(
        [sys.executable, "-m", "foresail", "session", "status", "--json", "--state", str(tmp_path / "state")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    status = json.loads(shown.stdout)
    assert (status["status"], status["running"], status["total"]) == ("interrupted", False, 40)
    assert sum(status["states"].values()) == 40
    assert alive(str(tmp_path)) == []
