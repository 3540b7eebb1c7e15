"""The phases on a real control plane, where its programs are at hand.

Real: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, and the whole stack of `foresail up`. Played:
kubelets (`lab.fidelity.real.node_keeper`), so nothing runs in the pods, and the metrics server that measures them.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bus.events import read_entry
from bus.recording import open_recording
from lab.fidelity.real.processes import CONTROL_PLANE
from services.exerciser.phases import PHASES
from tests.architecture.source_tree import ROOT
from tests.e2e.conftest import wait_until
from tests.exerciser.real_plane import LABEL, SPACE, real_plane
from tests.exerciser.test_nine_phases import phases_of
from tests.patience import HANGS_SECONDS
from tests.real_api_server import ASSETS

pytestmark = pytest.mark.slow
SETTINGS = {
    "FORESAIL_EXERCISER__ROUNDS": "1",
    "FORESAIL_EXECUTOR__WRITABLE_NODES": f"{LABEL}=yes",
    "FORESAIL_EXECUTOR__SETTLE_SECONDS": "0",  # the settling time has tests of its own
    "FORESAIL_EXECUTOR__USAGE_SECONDS": "2",  # a phase lasts seconds here
}


@pytest.fixture
def binaries() -> Path:
    """Return the folder of the real programs; skip where one is missing."""
    folder = os.environ.get(ASSETS) or os.environ["PATH"]
    missing = [name for name in CONTROL_PLANE if not shutil.which(name, path=folder)]
    if missing:
        pytest.skip(f"no real control plane: no {', '.join(missing)} in {ASSETS} or on PATH")
    return Path(folder)


def test_the_phases_happen_on_a_real_control_plane(binaries: Path, tmp_path: Path) -> None:
    """All nine are decided, executed, verified and given back; nothing that was done in between stays either."""
    record = tmp_path / "run.fslog"
    with real_plane(binaries, tmp_path / "plane", nodes=6) as kubeconfig:
        options = ["--kubeconfig", str(kubeconfig), "--state", str(tmp_path / "state")]
        words = ["--profile", "baseline-rules", "--mode", "active", "--namespaces", SPACE]
        timing = ["--interval", "2s", "--dashboard-port", "0", "--record", str(record), "--json"]
        stack = subprocess.Popen(
            [sys.executable, "-m", "foresail", "up", *options, *words, "--exercise", *timing],
            cwd=tmp_path,
            env={**os.environ, **SETTINGS, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
        )
        try:
            wait_until(lambda: _ended(record) or stack.poll() is not None, "the last phase's end")
            stack.send_signal(signal.SIGINT)
            assert stack.wait(HANGS_SECONDS) == 0
        finally:
            stack.kill()
            stack.wait()
    events = [read_entry(message).event for message in open_recording(record)]
    seen = phases_of(event for event in events if event is not None)
    assert list(seen) == list(range(9))
    for index, phase in seen.items():
        name = PHASES[index].name
        assert phase.decided, name
        assert phase.executed, name
        assert phase.verified, name
        assert phase.given_back == phase.executed, name
        assert not phase.others_left, name


def _ended(record: Path) -> bool:
    """Say whether the ninth phase was cleaned up."""
    if not record.exists():
        return False
    events = (read_entry(message).event for message in open_recording(record))
    told = [event.data for event in events if event is not None and "stimulus" in event.type]
    return any(one.status == "cleaned_up" and one.phase == len(PHASES) - 1 for one in told)
