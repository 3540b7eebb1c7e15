"""What runs inside the guest of `test_real_cgroup.py`: the agent's own reading and writing, on a real cgroup v2.

    python tests/node_agent/in_a_kernel.py FOLDER

FOLDER/cg is the mounted cgroup v2; results are written to FOLDER/result.json.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from schemas.node_annotations import NodeLimit
from schemas.node_limits import limit_annotations
from services.node_agent.host import Host
from services.node_agent.kept import Kept, of_this_boot
from services.node_agent.machine import CPU_MAX
from services.node_agent.settings import NodeAgentSettings
from services.node_agent.steps import Write, plan_step, settle
from services.node_agent.wishes import read_wishes

NOW = 1_767_225_600.0
BURN_SECONDS = 1.5


def main(folder: Path) -> None:
    """Cap a busy process of the kubelet's cgroup, and give everything back."""
    group = folder / "cg" / "foresail"
    pods = group / "kubepods"
    settings = NodeAgentSettings(
        cpu_folder=str(folder / "cpu"), cgroup_folder=str(group), state_folder=str(folder / "state")
    )
    result: dict[str, Any] = {"before": cpu_max(group)}
    burning = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    (pods / "cgroup.procs").write_text(str(burning.pid))
    try:
        with Host(settings) as host:
            machine = host.read_machine()
            result["can"] = [limit.word for limit in machine.can]
            kept = Kept(boot=machine.boot)
            result["throttled_before"] = throttled_during(pods)
            kept = step(host, settings, kept, cap(0.5))
            result |= {"capped": cpu_max(group), "kubepods": cpu_max(pods)}
            result["throttled"] = throttled_during(pods)
            result["too_low"] = host.write([Write(CPU_MAX, "500 100000")])
            (pods / "cpu.max").write_text("80000 100000")  # a pod's limit above the cap
            result["kubepods_above"] = cpu_max(pods)
            # As after kill -9: what is on disk gives it back.
            found, _ = host.read_kept()
            step(host, settings, of_this_boot(found, machine.boot), {})
            result["given_back"] = cpu_max(group)
            result["throttled_after"] = throttled_during(pods, ("80000 100000",))
    finally:
        burning.kill()
    (folder / "result.json").write_text(json.dumps(result))


def step(host: Host, settings: NodeAgentSettings, kept: Kept, notes: dict[str, str]) -> Kept:
    """Do what the agent does at one look."""
    machine = host.read_machine()
    wishes = read_wishes(notes, machine, settings, now_seconds=NOW, allocatable_cores=1.0)
    planned = plan_step(kept, wishes, machine)
    host.save_kept(planned.before)
    failed = host.write(planned.writes)
    return settle(kept, planned, failed, host.read_machine())


def cap(ratio: float) -> dict[str, str]:
    """Return the annotations of a CPU cap."""
    return limit_annotations(NodeLimit.CPU_CAP, ratio, "d", NOW + 600.0)


def cpu_max(group: Path) -> str:
    """Return what cpu.max shows."""
    return (group / "cpu.max").read_text().strip()


def throttled_during(pods: Path, own: tuple[str, ...] = ()) -> int:
    """Return in how many periods of a while the kernel held the cap above the pods back."""
    if own:
        (pods / "cpu.max").write_text("max 100000")
    before = throttled(pods.parent)
    time.sleep(BURN_SECONDS)
    return throttled(pods.parent) - before


def throttled(group: Path) -> int:
    """Return nr_throttled of a cgroup."""
    rows = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return int(rows["nr_throttled"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    os.sync()
