"""What the log says of a session's Ray cluster, and of what was trained there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foresail.__main__ import main
from lab.sessions.jobs_file import write_jobs_file
from tests.lab.sessions.harness import Harness, payload_of

pytestmark = [pytest.mark.slow, pytest.mark.nats]


def test_a_session_on_ray_tells_of_its_cluster_and_its_trainings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The fields of the predecessors' `ray`: status, iterations, mean reward and checkpoint of the best one."""
    pytest.importorskip("ray", reason="needs Ray: pip install 'foresail[ray]'")
    harness = Harness("ray", tmp_path, None)  # type: ignore[arg-type]
    trainings = [
        {"train_iters": 3, "reward_mean": reward, "checkpoint": f"{reward}.zip"}
        for reward in (-2.0, -1.0)
    ]
    jobs = harness.jobs([*({"training": one} for one in trainings), {"training": {"bad": 1}}])
    write_jobs_file(tmp_path / "jobs.jsonl", payload_of("{python}"), jobs)
    place = ["--state", str(tmp_path / "state")]
    words = ["--engine", "ray", "--jobs-file", str(tmp_path / "jobs.jsonl")]

    assert main(["session", "run", *words, *place]) == 0
    capsys.readouterr()
    assert main(["session", "status", *place]) == 0

    told = capsys.readouterr().out
    assert "Ray complete: 1 node, " in told
    assert "6 iterations, best mean reward -1 (-1.0.zip)" in told


def test_what_an_engine_other_than_ray_trains_is_told_by_its_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The change of the job names it; there is no cluster to speak of."""
    harness = Harness("local", tmp_path, None)  # type: ignore[arg-type]
    training = {"train_iters": 3, "reward_mean": 1.5, "checkpoint": "best.zip"}
    jobs = harness.jobs([{"training": training}])
    write_jobs_file(tmp_path / "jobs.jsonl", payload_of("{python}"), jobs)
    place = ["--state", str(tmp_path / "state")]

    assert main(["session", "run", "--jobs-file", str(tmp_path / "jobs.jsonl"), *place]) == 0
    capsys.readouterr()
    assert main(["session", "status", *place, "--json"]) == 0

    told = json.loads(capsys.readouterr().out)
    assert told["trainings"] == {jobs[0].job_id: training}
