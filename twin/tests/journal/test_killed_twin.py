"""kill -9 of a served twin: the next start has the same port, tokens and world, and time goes on."""

from __future__ import annotations

import base64
import json
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import yaml

from inputs.clock import SystemClock
from tests.patience import HANGS_SECONDS
from twin.__main__ import build_engine
from twin.api.journal import Journal
from twin.config import START_2026
from twin.engine import Engine
from twin.settings import TwinSettings
from twin.world_settings import world_of

pytestmark = pytest.mark.twin
WORLD = TwinSettings(seed=9, nodes=5, workload="openb", start_time_seconds=START_2026)


def start(folder: Path, port: int) -> tuple[subprocess.Popen[str], dict[str, str]]:
    """Start a twin on its journal; return the process and what it said when it was ready."""
    options = {
        "--seed": WORLD.seed,
        "--nodes": WORLD.nodes,
        "--workload": WORLD.workload,
        "--speed": 60,
        "--port": port,
        "--kubeconfig-dir": folder,
        "--journal": folder / "twin.journal",
        "--start-time": "2026-01-01T00:00:00Z",
    }
    words = [str(word) for option in options.items() for word in option]
    process = subprocess.Popen(
        [sys.executable, "-m", "twin", *words], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())


def kill(process: subprocess.Popen[str]) -> None:
    """Kill -9 and wait."""
    process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def call(ready: dict[str, str], method: str, path: str, body: object = None) -> Any:
    """Send one request with the administrator's token."""
    config = yaml.safe_load(Path(ready["admin_kubeconfig"]).read_text(encoding="utf-8"))
    headers = {
        "Authorization": f"Bearer {config['users'][0]['user']['token']}",
        "Content-Type": "application/json" if method == "POST" else "application/merge-patch+json",
    }
    data = None if body is None else json.dumps(body).encode()
    request = Request(ready["address"] + path, data, headers, method=method)
    authority = base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"])
    trust = ssl.create_default_context(cadata=authority.decode())
    with urlopen(request, timeout=HANGS_SECONDS, context=trust) as answer:
        return json.loads(answer.read())


def rerun(folder: Path, until: float) -> Engine:
    """Return the world that the journal tells of, at an engine time."""
    engine = build_engine(WORLD)
    key = world_of(WORLD)
    journal = Journal(folder / "twin.journal", key)
    journal.replay(engine, until=until)
    journal.close()
    return engine


def test_a_killed_twin_continues_its_world(tmp_path: Path) -> None:
    """Written objects, cordons, failures and the random load are there again, under the same state
    hash; neither time nor resourceVersion goes back.
    """
    maps = "/api/v1/namespaces/default/configmaps"
    process, ready = start(tmp_path, 0)
    try:
        port = int(ready["address"].rsplit(":", 1)[1])
        for life in range(3):
            node = call(ready, "GET", "/api/v1/nodes")["items"][life]["metadata"]["name"]
            call(ready, "POST", maps, {"metadata": {"name": f"life-{life}"}})
            call(ready, "PATCH", f"/api/v1/nodes/{node}", {"spec": {"unschedulable": True}})
            call(ready, "POST", f"/foresail/v1/nodes/{node}/fail", {"seconds": 30})
            with pytest.raises(HTTPError, match="409"):
                call(ready, "POST", maps, {"metadata": {"name": f"life-{life}"}})
            seen = int(call(ready, "GET", "/api/v1/pods")["metadata"]["resourceVersion"])
            before = call(ready, "GET", "/foresail/v1/state")
            kill(process)

            assert before["hash"] == rerun(tmp_path, before["now"]).state_hash()
            process, again = start(tmp_path, port)
            assert again == ready
            after = call(ready, "GET", "/foresail/v1/state")
            assert after["now"] >= before["now"]
            assert after["hash"] == rerun(tmp_path, after["now"]).state_hash()
            assert int(call(ready, "GET", maps)["metadata"]["resourceVersion"]) >= seen
            names = {item["metadata"]["name"] for item in call(ready, "GET", maps)["items"]}
            assert {f"life-{number}" for number in range(life + 1)} <= names
            assert call(ready, "GET", f"/api/v1/nodes/{node}")["spec"]["unschedulable"]
    finally:
        kill(process)


def test_a_served_twin_is_paused_stepped_and_hurried(tmp_path: Path) -> None:
    """Its administrator stops, steps and hurries time over HTTP; the state is that of a re-run of
    the journal, and the requests about time are not in it.
    """
    process, ready = start(tmp_path, 0)
    try:
        clock = "/foresail/v1/clock"
        stood = call(ready, "POST", clock, {"paused": True})["now"]
        assert stood == call(ready, "GET", clock)["now"]
        call(ready, "POST", clock, {"step_seconds": 600})
        deadline = SystemClock().monotonic() + HANGS_SECONDS
        while call(ready, "GET", clock)["now"] < stood + 600.0:
            assert SystemClock().monotonic() < deadline
        assert call(ready, "GET", clock)["now"] == pytest.approx(stood + 600.0, abs=1e-5)
        stepped = call(ready, "GET", "/foresail/v1/state")
        assert stepped["hash"] == rerun(tmp_path, stepped["now"]).state_hash()

        call(ready, "POST", clock, {"paused": False, "speed": "max"})
        while call(ready, "GET", clock)["now"] < stood + 20_000.0:
            assert SystemClock().monotonic() < deadline + 120.0
        with pytest.raises(HTTPError, match="400"):
            call(ready, "POST", clock, {"speed": -1})
        call(ready, "POST", clock, {"paused": True})
        last = call(ready, "GET", "/foresail/v1/state")
    finally:
        kill(process)
    assert last["hash"] == rerun(tmp_path, last["now"]).state_hash()
    assert b"clock" not in (tmp_path / "twin.journal").read_bytes()
