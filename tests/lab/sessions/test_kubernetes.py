"""Jobs on a cluster: what is created, what goes wrong there, and that nothing stays."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client, config

from bus.clock import SystemClock
from lab.sessions.attempts import JobStart, attempt_of
from lab.sessions.engines.job_manifest import JobTemplate, job_manifest
from lab.sessions.engines.kubernetes import KubernetesEngine
from lab.sessions.engines.pod_reading import read_message, result_in_log, result_in_message
from lab.sessions.engines.pod_script import main as run_in_pod
from lab.sessions.engines.port import RESULT_BYTES, Ending, NoResult
from lab.sessions.jobs_file import write_jobs_file
from lab.sessions.limits import Limits
from services.cluster import ClusterRefused
from services.official_client import OfficialClientTransport
from tests.lab.sessions.clusters import serving_real_cluster, serving_twin, until_nothing_left
from tests.lab.sessions.conftest import on_cluster
from tests.lab.sessions.harness import Harness, payload_of, states

pytestmark = [pytest.mark.slow, pytest.mark.twin]


@pytest.fixture(scope="module", params=[serving_twin, serving_real_cluster], ids=["twin", "real"])
def kubeconfig(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """Serve one cluster for all tests of this file, simulated and, where there is one, real."""
    with request.param(tmp_path_factory.mktemp("cluster")) as path:
        yield path


def harness_for(kubeconfig: Path, folder: Path, name: str) -> Harness:
    """Run sessions on that cluster."""
    return Harness(
        "kubernetes", folder, on_cluster(kubeconfig), python="python", session=name, prefix=name
    )


def test_the_manifest_is_that_of_the_guide_with_its_mistakes_mended() -> None:
    """Names, labels, annotations, deadline, limits and variables; each label's value is one that Kubernetes takes."""
    (job,) = Harness("none", Path("/tmp"), None).jobs([{"do": "$(HOME) $$"}])  # type: ignore[arg-type]
    job = job.model_copy(update={"job_id": "sess001_0001"})
    attempt = attempt_of(job, 1, payload_of("{python}"), JobStart("python"), Limits())

    manifest = job_manifest(attempt, "sess_001", JobTemplate(queue="team"), 1_790_000_000)

    metadata, spec = manifest["metadata"], manifest["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert metadata["name"] == "sess001-0001"
    assert metadata["labels"]["created-at"] == "1790000000"
    assert metadata["labels"]["job-id"] == "sess001-0001"
    assert metadata["labels"]["kueue.x-k8s.io/queue-name"] == "team"
    assert metadata["annotations"]["job-id"] == "sess001_0001"
    assert json.loads(metadata["annotations"]["config"]) == job.config
    assert (spec["backoffLimit"], spec["ttlSecondsAfterFinished"]) == (0, 3_600)
    assert (spec["activeDeadlineSeconds"], spec["suspend"]) == (300, True)
    assert (pod["restartPolicy"], pod["serviceAccountName"]) == ("Never", "default")
    assert (container["name"], container["imagePullPolicy"]) == ("tuning-runner", "IfNotPresent")
    assert container["resources"] == {
        "requests": {"cpu": "500m", "memory": "512Mi"},
        "limits": {"cpu": "2000m", "memory": "2Gi"},
    }
    variables = {one["name"]: one["value"] for one in container["env"]}
    assert (variables["JOB_ID"], variables["PYTHONUNBUFFERED"]) == ("sess001_0001", "1")
    assert "$$(HOME) $$$$" in container["args"][3]  # else Kubernetes would fill it in


async def test_nothing_of_a_session_stays_in_the_cluster(kubeconfig: Path, tmp_path: Path) -> None:
    """Neither Jobs nor pods, whatever became of them."""
    harness = harness_for(kubeconfig, tmp_path, "nothing-stays")
    does = ["succeed", "fail", "hang"]

    state, _ = await harness.run(
        harness.jobs({"do": do} for do in does), timeout_per_job_seconds=6.0
    )

    assert list(states(state).values()) == ["succeeded", "failed", "timed-out"]
    await asyncio.to_thread(until_nothing_left, kubeconfig, "nothing-stays")


class PodDeletingEngine(KubernetesEngine):
    """Somebody deletes each pod once its Job has ended, before anything of it is read."""

    async def _read_ending(self, submitted: Any) -> Ending:
        path = f"{self._pods}/{submitted.pod.pod}"
        await self._transport.request("DELETE", path, {"gracePeriodSeconds": "0"})
        with suppress(ClusterRefused):  # until it is gone
            while await self._transport.request("GET", path):
                await asyncio.sleep(0.1)
        return await super()._read_ending(submitted)


@pytest.mark.parametrize("do", ["succeed", "megabyte"])
async def test_a_result_comes_home_from_a_pod_that_is_gone(
    do: str, kubeconfig: Path, tmp_path: Path
) -> None:
    """A small one was in its status, and a large one was taken from its log while it was printed; the hash is right."""

    @asynccontextmanager
    async def open_engine(session: str, folder: Path) -> AsyncIterator[PodDeletingEngine]:
        transport = OfficialClientTransport(kubeconfig)
        engine = PodDeletingEngine(transport, session, folder, JobTemplate(), SystemClock())
        await engine.open()
        yield engine
        await engine.close()

    harness = Harness(
        "kubernetes", tmp_path, open_engine, python="python", session=f"gone-{do}", prefix=f"gone-{do}"
    )  # fmt: skip
    (job,) = harness.jobs([{"do": do, "seconds": 2}])

    state, code = await harness.run([job])

    assert (code, state.counts["succeeded"]) == (0, 1), state.failures()
    data = await asyncio.to_thread(Path(job.output_json).read_bytes)
    assert hashlib.sha256(data).hexdigest() == state.jobs[job.job_id].sha256


async def test_an_image_that_cannot_be_pulled_fails_its_job_by_name(
    kubeconfig: Path, tmp_path: Path
) -> None:
    """The reason is the cluster's own, and the Job does not wait for its deadline."""
    template = JobTemplate(image="registry.invalid/none:1")
    open_engine = on_cluster(kubeconfig, template)
    harness = Harness("kubernetes", tmp_path, open_engine, session="no-image", prefix="no-image")

    state, code = await asyncio.wait_for(
        harness.run(harness.jobs([{}]), timeout_per_job_seconds=40.0), 120
    )

    (change,) = state.jobs.values()
    assert change.state in {"failed", "timed-out"}
    assert code == 1


async def test_what_a_quota_forbids_is_said_and_the_rest_runs(
    kubeconfig: Path, tmp_path: Path
) -> None:
    """A Job too many is unsubmitted with the quota's own words."""
    api = config.new_client_from_config(str(kubeconfig))
    core = client.CoreV1Api(api)
    quota = {"metadata": {"name": "few"}, "spec": {"hard": {"count/jobs.batch": "1"}}}
    core.create_namespaced_resource_quota("default", quota)
    try:
        await asyncio.sleep(1.0)
        harness = harness_for(kubeconfig, tmp_path, "quota")
        jobs = harness.jobs([{"do": "sleep", "seconds": 3}] * 2)

        state, code = await harness.run(jobs, max_parallel=2)
    finally:
        core.delete_namespaced_resource_quota("few", "default")
        api.rest_client.close()

    assert sorted(states(state).values()) == ["succeeded", "unsubmitted"]
    (refused,) = state.failures()
    assert "exceeded quota: few" in refused.why
    assert code == 1


def run_command(folder: Path, kubeconfig: Path, name: str, *more: str) -> list[str]:
    """Return the command that runs a session on the cluster."""
    return [
        *(sys.executable, "-m", "foresail", "session", "run", "--json", "--session", name),
        *("--jobs-file", str(folder / "jobs.jsonl"), "--state", str(folder / "state")),
        *("--engine", "kubernetes", "--kubeconfig", str(kubeconfig)),
        *("--max-parallel", "6", "--timeout-per-job", "15s", *more),
    ]


@pytest.fixture
def counted(tmp_path: Path) -> Iterator[tuple[Path, list[int]]]:
    """Give a kubeconfig of a server that counts connections and answers none."""
    connections: list[int] = []
    with closing(socket.create_server(("127.0.0.1", 0))) as server:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    connections.append(1)
                    connection.close()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        content: dict[str, Any] = {
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.getsockname()[1]}"}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        }  # fmt: skip
        path = tmp_path / "counting.yaml"
        path.write_text(yaml.safe_dump(content))
        yield path, connections
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


def test_a_dry_run_reaches_no_server(counted: tuple[Path, list[int]], tmp_path: Path) -> None:
    """It prints the Jobs and connects nowhere; the run itself does, and says that nobody answers."""
    path, connections = counted
    harness = harness_for(path, tmp_path, "dry")
    write_jobs_file(tmp_path / "jobs.jsonl", payload_of("{python}"), harness.jobs([{}, {}]))

    shown = subprocess.run(
        run_command(tmp_path, path, "dry", "--dry-run"), capture_output=True, text=True, check=False
    )
    assert (shown.returncode, len(connections)) == (0, 0)
    assert [json.loads(line)["kind"] for line in shown.stdout.splitlines()] == ["Job", "Job"]
    assert not (tmp_path / "state").exists()

    real = subprocess.run(
        run_command(tmp_path, path, "dry"), capture_output=True, text=True, check=False
    )
    assert real.returncode == 2
    assert len(connections) > 0
    assert real.stderr.startswith("error: --kubeconfig")


def test_without_a_cluster_it_is_said_at_once(tmp_path: Path) -> None:
    """A kubeconfig that is not there is an input error: nothing is waited for, nothing pretended."""
    harness = harness_for(tmp_path, tmp_path, "none")
    write_jobs_file(tmp_path / "jobs.jsonl", payload_of("{python}"), harness.jobs([{}]))

    ended = subprocess.run(
        run_command(tmp_path, tmp_path / "none.yaml", "none"), capture_output=True, text=True, check=False
    )  # fmt: skip

    assert ended.returncode == 2
    assert "kubeconfig" in ended.stderr


@pytest.mark.parametrize("size", [10, 3_000, 400_000])
def test_a_result_comes_back_as_it_was(
    size: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What fits travels in the termination message, the rest in the log, and damage is noticed."""
    words = [sys.executable, "-c", WRITE, str(tmp_path / "r.json"), str(size)]
    environment = {
        "FORESAIL_OUTPUT": str(tmp_path / "r.json"), "FORESAIL_MESSAGE": str(tmp_path / "m"),
        "FORESAIL_RESULT_BYTES": str(RESULT_BYTES),
    }  # fmt: skip
    assert run_in_pod(words, environment) == 0
    log, data = capfd.readouterr().out, (tmp_path / "r.json").read_bytes()
    told = read_message((tmp_path / "m").read_text())

    assert len((tmp_path / "m").read_bytes()) <= 4_096
    if "gzip" in told:
        assert result_in_message(told) == data
        return
    assert result_in_log(told, f"noise\n{log}") == data
    with pytest.raises(NoResult, match="pieces"):
        result_in_log(told, log.split("\n", 1)[1])
    with pytest.raises(NoResult):
        result_in_log(told, log.replace("A", "B"))


WRITE = """
import json, random, sys
text = "".join(random.Random(1).choices("abcdefghij", k=int(sys.argv[2])))
open(sys.argv[1], "w").write(json.dumps({"status": "success", "text": text}))
"""
