"""Informers over restarts: a server that was killed comes back with its objects, and clients go on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.patience import HANGS_SECONDS
from twin.tests.clients.conftest import HERE
from twin.tests.contract.faces import OverHttp

pytestmark = [pytest.mark.twin, pytest.mark.slow]
MAPS = "/api/v1/namespaces/default/configmaps"


EXPIRY = """
name: forgetful
description: what has changed is forgotten, as after a compaction of etcd.
faults:
  - {fault: watch_expiry, at_seconds: 15, resources: [configmaps]}
"""
STANDING = ("--speed", "0.001")
"""Cluster time passes when the test lets it: fifteen seconds by themselves would take four hours."""


def _start(folder: Path, port: int, *more: str) -> tuple[subprocess.Popen[str], dict[str, str]]:
    options = ["--nodes", "1", "--workload", "idle", "--seed", "3", "--port", str(port)]
    kept = ["--journal", str(folder / "journal"), "--kubeconfig-dir", str(folder)]
    command = [sys.executable, "-m", "twin", *options, *kept, *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    ready: dict[str, str] = json.loads(process.stdout.readline())
    return process, ready


class Informer:
    """The program of an informer."""

    def __init__(self, kubeconfig: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "informer_program.py"), kubeconfig],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=dict(os.environ),
        )

    def ask(self) -> dict[str, Any]:
        """Return what it knows."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        told: dict[str, Any] = json.loads(self._process.stdout.readline())
        return told

    def until(self, knows: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until it knows something."""
        end = time.monotonic() + HANGS_SECONDS
        while not knows(told := self.ask()):
            assert time.monotonic() < end, told
            time.sleep(0.2)
        return told

    def close(self) -> None:
        """Stop it."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()


def _names(*names: str) -> Callable[[dict[str, Any]], bool]:
    return lambda told: [one for one in told["names"] if one in "abc"] == list(names)


def test_an_informer_goes_on_after_a_restart(tmp_path: Path) -> None:
    """What was made before and after a kill is known, and what went is gone."""
    process, ready = _start(tmp_path, 0)
    port = int(ready["address"].rpartition(":")[2])
    informer = Informer(ready["admin_kubeconfig"])
    face = OverHttp(Path(ready["admin_kubeconfig"]), "served", simulated=True)
    try:
        for name in ("a", "b"):
            assert face.ask("POST", MAPS, body={"metadata": {"name": name}}).status == 201
        informer.until(_names("a", "b"))
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
        process, _ = _start(tmp_path, port)
        face.close()
        face = OverHttp(Path(ready["admin_kubeconfig"]), "served", simulated=True)
        assert face.ask("DELETE", f"{MAPS}/a").status == 200
        assert face.ask("POST", MAPS, body={"metadata": {"name": "c"}}).status == 201
        after = informer.until(_names("b", "c"))
        assert ["DELETED", "a"] in after["heard"]
    finally:
        informer.close()
        face.close()
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_an_informer_lists_again_after_410(tmp_path: Path) -> None:
    """Its watch is cut and cannot be resumed; what came and went meanwhile is told once."""
    scenario = tmp_path / "expiry.yaml"
    scenario.write_text(EXPIRY, encoding="utf-8")
    process, ready = _start(tmp_path, 0, "--scenario", str(scenario), *STANDING)
    informer = Informer(ready["admin_kubeconfig"])
    face = OverHttp(Path(ready["admin_kubeconfig"]), "served", simulated=True)

    def resumed() -> str:
        """Return the type of what a watch from the first version says first."""
        event = face.events(MAPS, {"resourceVersion": first, "timeoutSeconds": "1"}, 1)[0]
        return str(event["object"].get("code", event["type"]))

    try:
        first = face.ask("GET", MAPS).version
        for name in ("a", "b"):
            assert face.ask("POST", MAPS, body={"metadata": {"name": name}}).status == 201
        informer.until(_names("a", "b"))
        assert resumed() == "ADDED"
        assert face.ask("POST", "/foresail/v1/clock", body={"step_seconds": 15}).status == 200
        end = time.monotonic() + HANGS_SECONDS
        while resumed() != "410":
            assert time.monotonic() < end, "nothing is forgotten"
            time.sleep(0.2)
        assert face.ask("DELETE", f"{MAPS}/a").status == 200
        assert face.ask("POST", MAPS, body={"metadata": {"name": "c"}}).status == 201
        heard = informer.until(_names("b", "c"))["heard"]
        assert heard.count(["DELETED", "a"]) == 1
        assert [heard.count(["ADDED", name]) for name in "abc"] == [1, 1, 1]
    finally:
        informer.close()
        face.close()
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
