"""Folders that look to the agent like a machine's: cpufreq policies, and a cgroup v2 above the kubelet's.

The files have the kernel's names, numbers and line ends; what the kernel would refuse or round they take as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from services.node_agent.settings import NodeAgentSettings

LEAST_KHZ, MOST_KHZ = 800_000, 3_200_000


@dataclass(frozen=True, slots=True)
class MachineTree:
    """One machine below a folder."""

    root: Path

    @property
    def cpu(self) -> Path:
        """As /sys/devices/system/cpu."""
        return self.root / "cpu"

    @property
    def group(self) -> Path:
        """As /sys/fs/cgroup/foresail.slice."""
        return self.root / "foresail.slice"

    @property
    def state(self) -> Path:
        """What the agent keeps."""
        return self.root / "state"

    def settings(self, **more: float) -> NodeAgentSettings:
        """Return the settings of an agent on this machine, which looks often."""
        return NodeAgentSettings(
            cpu_folder=str(self.cpu),
            cgroup_folder=str(self.group),
            state_folder=str(self.state),
            **{"check_seconds": 0.2, **more},
        )

    def limits(self) -> list[int]:
        """Return scaling_max_freq of each policy; 0 for one that is being written, which a kernel's never shows."""
        found = sorted(self.cpu.glob("cpufreq/policy*/scaling_max_freq"))
        return [int(path.read_text() or 0) for path in found]

    def set_limit(self, policy: int, khz: int) -> None:
        """Write scaling_max_freq as somebody else."""
        path = self.cpu / f"cpufreq/policy{policy}/scaling_max_freq"
        path.write_text(f"{khz}\n")

    @property
    def cpu_max(self) -> str:
        """What cpu.max shows."""
        return (self.group / "cpu.max").read_text().strip()


def make_machine(root: Path, policies: int = 2) -> MachineTree:
    """Make a machine with so many policies and the kubelet's cgroup below ours."""
    tree = MachineTree(root)
    tree.cpu.mkdir(parents=True)
    for number in range(policies):
        folder = tree.cpu / "cpufreq" / f"policy{number}"
        folder.mkdir(parents=True)
        shown = {
            "affected_cpus": number,
            "cpuinfo_min_freq": LEAST_KHZ,
            "cpuinfo_max_freq": MOST_KHZ,
            "scaling_min_freq": LEAST_KHZ,
            "scaling_max_freq": MOST_KHZ,
        }
        for name, value in shown.items():
            (folder / name).write_text(f"{value}\n")
    for folder in (tree.group, tree.group / "foresail-kubepods.slice"):
        folder.mkdir()
        (folder / "cgroup.controllers").write_text("cpuset cpu io memory hugetlb pids\n")
        (folder / "cpu.max").write_text("max 100000\n")
    return tree
