"""What the agent sees of its machine, and the few values that it may change; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from schemas.node_annotations import NodeLimit

NO_QUOTA = "max"
LEAST_QUOTA_MICROSECONDS = 1_000
"""The kernel takes none below a millisecond."""
CPU_MAX = "cgroup/cpu.max"
"""The knob of the CPU cap."""
KUBEPODS = re.compile(r"(.+-)?kubepods(\.slice)?")
"""The kubelet's cgroup: `kubepods` by its driver cgroupfs, `foresail-kubepods.slice` by its driver systemd."""
_POLICY_KNOB = "cpufreq/{name}/scaling_max_freq"


@dataclass(frozen=True, slots=True)
class Policy:
    """CPUs that share a clock: a folder of cpufreq."""

    name: str
    """Such as `policy0`."""
    least_khz: int
    """cpuinfo_min_freq."""
    most_khz: int
    """cpuinfo_max_freq."""
    limit_khz: int
    """scaling_max_freq: the lowest of all limits, ours among them."""

    @property
    def knob(self) -> str:
        """What is written, below the folder of CPUs."""
        return _POLICY_KNOB.format(name=self.name)


@dataclass(frozen=True, slots=True)
class CpuGroup:
    """The cgroup above the kubelet's."""

    quota_microseconds: int | None
    """CPU time in a period; None: as much as there is."""
    period_microseconds: int

    @property
    def text(self) -> str:
        """As `cpu.max` shows it."""
        quota = NO_QUOTA if self.quota_microseconds is None else self.quota_microseconds
        return f"{quota} {self.period_microseconds}"

    @property
    def cores(self) -> float:
        """CPU time in cores; without a quota more than there can be."""
        quota = self.quota_microseconds
        return float("inf") if quota is None else quota / self.period_microseconds


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine at one moment."""

    boot: str
    """The kernel's id of this boot: what it shows is as before after another one."""
    policies: tuple[Policy, ...]
    """None where the machine has no cpufreq, as most virtual ones."""
    group: CpuGroup | None
    why_no_group: str = ""
    """What is wrong with the cgroup, in a sentence with a remedy."""

    @property
    def can(self) -> tuple[NodeLimit, ...]:
        """Limits that it has the means for."""
        clock = (NodeLimit.CLOCK_SCALE,) if self.policies else ()
        return (*clock, NodeLimit.CPU_CAP) if self.group is not None else clock

    def values(self) -> dict[str, str]:
        """Return the present text of each knob."""
        found = {policy.knob: str(policy.limit_khz) for policy in self.policies}
        return found if self.group is None else {**found, CPU_MAX: self.group.text}


def limit_of(knob: str) -> NodeLimit:
    """Return the limit that a knob belongs to."""
    return NodeLimit.CPU_CAP if knob == CPU_MAX else NodeLimit.CLOCK_SCALE


def parse_group(text: str) -> CpuGroup:
    """Read `cpu.max`.

    Raises:
        ValueError: it is no quota and period.
    """
    quota, period = text.split()
    return CpuGroup(None if quota == NO_QUOTA else int(quota), int(period))


def height(knob: str, text: str) -> float:
    """Return how much a knob's text lets through: kHz, or cores.

    Raises:
        ValueError: it cannot be read.
    """
    return parse_group(text).cores if knob == CPU_MAX else float(int(text))
