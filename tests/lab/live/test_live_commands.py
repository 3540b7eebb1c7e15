"""`foresail experiment live` and `baseline-cluster` as people run them: refusals, and two clusters over HTTP."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bus.clock import LoopClock
from bus.errors import Temporary
from bus.virtual_loop import run_virtual
from foresail.__main__ import main
from lab.live import baseline_cluster as preset
from services.twin_transport import TwinTransport
from twin.port.api import InProcessTwin
from twin.port.workloads import open_workload

LIVE = ["experiment", "live"]
SETUP = ["experiment", "baseline-cluster", "up"]
NAMED = ["--mode", "active", "--namespaces", "foresail-exercise"]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Two files that look like kubeconfigs from afar."""
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    return [str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*LIVE], "give two clusters, or --dir"),
        ([*LIVE, "--kubeconfig", "A"], "give it twice"),
        ([*LIVE, "--kubeconfig", "A", "--kubeconfig", "A"], "give different ones"),
        ([*LIVE, "--kubeconfig", "A", "--kubeconfig", "none"], "give a file that exists"),
        ([*LIVE, "--kubeconfig", "A", "--kubeconfig", "B", "--name", "A B"], "--name = A B"),
        ([*LIVE, "--kubeconfig", "A", "--kubeconfig", "B", "--every", "2m"], "--every"),
        ([*LIVE, "--kubeconfig", "A", "--kubeconfig", "B", "--rounds", "0"], "--rounds = 0"),
        ([*LIVE, "--kubeconfig", "A", "--kubeconfig", "B", "--mode", "active"], "name the one that"),
        (
            [*LIVE, "--kubeconfig", "A", "--kubeconfig", "B", "--mode", "active", "--namespaces", "kube-system"],
            "Kubernetes' own",
        ),
        ([*LIVE, "--kubeconfig", "A", "--kubeconfig", "B", *NAMED], "name a new folder"),
        ([*LIVE, "--kubeconfig", "A", "--kubeconfig", "B", *NAMED, "--dir", "."], "give a new folder"),
        ([*LIVE, "--kubeconfig", "A", "--kubeconfig", "B"], "kubeconfig"),
        ([*LIVE, "--dir", "."], "give a folder with the two"),
        ([*SETUP], "give at least one"),
        ([*SETUP, "--kubeconfig", "A", "--mode", "active", "--namespaces", "a,b"], "one namespace"),
        ([*SETUP, "--kubeconfig", "A", "--replicas", "-1"], "--replicas = -1"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_one_line(
    arguments: list[str], words: str, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and one line with the flag; nothing is written without a namespace by its name."""
    given = [{"A": files[0], "B": files[1]}.get(word, word) for word in arguments]
    assert main(given) == 2
    error = capsys.readouterr().err.strip()
    assert words in error
    assert len(error.splitlines()) == 1


@pytest.fixture
def served(tmp_path: Path) -> Iterator[list[str]]:
    """Two simulated clusters of two machines over HTTP; the kubeconfigs of their administrators."""
    processes = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        options = ("--nodes", "2", "--workload", "idle", "--kubeconfig-dir", str(tmp_path / name))
        command = [sys.executable, "-m", "twin", *options]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    try:
        ready = [json.loads(one.stdout.readline()) for one in processes if one.stdout is not None]
        yield [one["admin_kubeconfig"] for one in ready]
    finally:
        for process in processes:
            process.terminate()
            process.wait(60)
            if process.stdout is not None:
                process.stdout.close()


@pytest.mark.twin
def test_two_served_clusters_are_compared(
    served: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Shadow mode writes nothing; active mode compares, and the report can be made again from the two logs."""
    given = [*LIVE, "--kubeconfig", served[0], "--kubeconfig", served[1], "--phases", "6", "--json"]
    assert main(given) == 0
    (stimulus,) = json.loads(capsys.readouterr().out)["stimuli"]
    assert stimulus["text"] == "12 pods that fit nowhere"

    folder = str(tmp_path / "live")
    times = ["--hold", "2s", "--rest", "0s", "--every", "1s", "--dir", folder]
    assert main([*given, *NAMED, *times]) == 0
    played = json.loads(capsys.readouterr().out)
    (window,) = played["windows"]
    assert [side["card"]["most_pending"] for side in window["sides"]] == [12.0, 12.0]
    assert main([*LIVE, "--dir", folder, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == played
    for name in ("comparison.md", "comparison.html"):
        assert "admission-queue" in (tmp_path / "live" / name).read_text(encoding="utf-8")


def _state(twin: InProcessTwin) -> dict[str, int]:
    """Return replicas by Deployment, with the autoscaler's bounds."""
    base = f"/namespaces/{preset.NAMESPACE}"
    _, deployments = twin.request("GET", f"/apis/apps/v1{base}/deployments", {}, b"")
    _, scalers = twin.request(
        "GET", f"/apis/autoscaling/v2{base}/horizontalpodautoscalers", {}, b""
    )
    found = {
        one["metadata"]["name"]: one["spec"]["replicas"] for one in json.loads(deployments)["items"]
    }
    (scaler,) = json.loads(scalers)["items"]
    return {**found, "most": scaler["spec"]["maxReplicas"]}


def test_the_preset_begins_anew_in_every_cluster() -> None:
    """Up, surge and reset reach both clusters alike; what is somebody else's in the namespace stays."""
    begun = {preset.WEB: 1, preset.LOAD: 2, preset.SURGE: 0, "most": 24}
    seen: list[Any] = []

    async def play() -> None:
        clock = LoopClock(0)
        twins = [
            InProcessTwin.of(open_workload("idle", nodes=2, seed=1), seed=1, speed=1.0, clock=clock)
            for _ in range(2)
        ]
        transports = [TwinTransport(twin) for twin in twins]
        await preset.create(transports, preset.NAMESPACE)
        await preset.create(transports, preset.NAMESPACE)  # what is there stays
        text = json.dumps(preset.baseline_objects(preset.NAMESPACE)[0])
        others = json.loads(text.replace(preset.WEB, "others").replace(preset.PART_OF_VALUE, "x"))
        path = f"/apis/apps/v1/namespaces/{preset.NAMESPACE}/deployments"
        await transports[0].request("POST", path, body=others)
        seen.append([_state(twin) for twin in twins])
        await preset.surge(transports, preset.NAMESPACE, 8)
        await clock.sleep(30.0)
        seen.append([_state(twin)[preset.SURGE] for twin in twins])
        try:
            await preset.remove(transports, preset.NAMESPACE, clock, 0.0)
        except Temporary as error:
            seen.append("pods are still in" in str(error))
        await preset.reset(transports, preset.NAMESPACE, clock, 120.0)
        seen.append([_state(twin) for twin in twins])

    run_virtual(play)
    assert seen == [
        [begun | {"others": 1}, begun],
        [8, 8],
        True,
        [begun | {"others": 1}, begun],
    ]
