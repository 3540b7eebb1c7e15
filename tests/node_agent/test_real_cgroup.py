"""CPU caps on a real kernel: cgroup v2 of user-mode Linux, which runs as a process (Debian: user-mode-linux).

A machine whose cgroup v2 has no CPU controller, or that may not be changed, cannot show it; a kernel of one's own can.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BOOT_SECONDS = 240
INIT = """#!/bin/sh
mount -t proc proc /proc
mount -t cgroup2 none {folder}/cg
echo +cpu > {folder}/cg/cgroup.subtree_control
mkdir {folder}/cg/foresail
echo +cpu > {folder}/cg/foresail/cgroup.subtree_control
mkdir {folder}/cg/foresail/kubepods
cd {root}
PYTHONPATH={root} {python} tests/node_agent/in_a_kernel.py {folder} > {folder}/said 2>&1
echo o > /proc/sysrq-trigger
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Boot a kernel, let the agent's code cap a busy process in it, and return what it saw."""
    linux = shutil.which("linux.uml")
    if linux is None:
        pytest.skip("no kernel of one's own here: no linux.uml on PATH (Debian: user-mode-linux)")
    folder = tmp_path_factory.mktemp("kernel")
    for name in ("cg", "cpu", "state"):
        (folder / name).mkdir()
    init = folder / "init"
    init.write_text(INIT.format(folder=folder, root=ROOT, python=sys.executable))
    init.chmod(0o755)
    flags = ("mem=512M", "rootfstype=hostfs", "rw", "hostfs=/", f"init={init}", "quiet")
    consoles = ("con=null", "con0=null,fd:1")
    done = subprocess.run(
        [linux, *flags, *consoles],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=BOOT_SECONDS,
        check=False,
    )
    said = folder / "said"
    found = folder / "result.json"
    assert found.exists(), said.read_text() if said.exists() else done.stdout[-2_000:]
    seen: dict[str, Any] = json.loads(found.read_text())
    return seen


@pytest.mark.slow
def test_a_cap_slows_what_runs_below_and_touches_nothing_of_it(result: dict[str, Any]) -> None:
    """Half of one core by the cgroup above; the kubelet's own is as it made it."""
    assert result["can"] == ["cpu-cap"]
    assert result["before"] == "max 100000"
    assert result["throttled_before"] == 0
    assert result["capped"] == "50000 100000"
    assert result["throttled"] > 0
    assert result["kubepods"] == "max 100000"


@pytest.mark.slow
def test_the_kernel_bounds_quotas_as_the_agent_believes(result: dict[str, Any]) -> None:
    """Less than a millisecond is refused with the kernel's words; a pod's own limit may lie above the cap."""
    assert result["too_low"] == {"cgroup/cpu.max": "cgroup/cpu.max = 500 100000: Invalid argument"}
    assert result["kubepods_above"] == "80000 100000"


@pytest.mark.slow
def test_what_is_kept_on_disk_gives_the_kernels_own_value_back(result: dict[str, Any]) -> None:
    """As after kill -9: no quota, and nothing is held back any more."""
    assert result["given_back"] == "max 100000"
    assert result["throttled_after"] == 0
