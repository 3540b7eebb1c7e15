"""The nine phases as data: how much load, and which decision it is meant to bring about.

Load is a node's requests after the phase is applied, as shares of its allocatable CPU and memory.
The baseline's risk and demand of a calm node are `0.55 * cpu + 0.35 * memory`; the shares are chosen so
that this falls into the band of the intended action, on nodes of any size:

```
demand < 0.12 power_state   < 0.30 dvfs      < 0.45 memory_balloon
risk  >= 0.50 throttle     >= 0.70 migrate  >= 0.83 replicate
queue >= 8 queue           >= 80 deprioritize   >= 120 resource_cap
```
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal

from schemas.actions import ActionKind, AgentName
from schemas.decision import RefereeRule

CPU_WEIGHT = 0.55
MEMORY_WEIGHT = 0.35
MARGIN = 0.005
"""Distance that drawn sizes keep from every threshold."""
MEBIBYTE = 1 << 20

Spread = Literal["nothing", "every_node", "one_node", "unschedulable"]


@dataclass(frozen=True, slots=True)
class LoadShares:
    """Requests of a node as shares of its allocatable resources."""

    cpu_ratio: float
    memory_ratio: float

    @property
    def pressure(self) -> float:
        """The baseline's risk and demand of a node on which every pod is well."""
        return CPU_WEIGHT * self.cpu_ratio + MEMORY_WEIGHT * self.memory_ratio

    @property
    def fullest(self) -> float:
        """The greater of both shares."""
        return max(self.cpu_ratio, self.memory_ratio)


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase and what it intends."""

    index: int
    name: str
    spread: Spread
    agent: AgentName
    kind: ActionKind
    rule: RefereeRule
    band: tuple[float, float]
    """Pressure from (inclusive) and below which the intended action is chosen."""
    shares: LoadShares | None = None
    cpu_range: tuple[float, float] = (0.0, 0.0)
    """CPU shares to draw from; memory follows from the band."""
    queue: int = 0
    """Pods that wait while the phase is on."""
    queue_band: tuple[int, int] = (0, 0)
    """Queue length from (inclusive) and below which the intended action is chosen."""
    admission: str = ""
    """The intended word of an admission action."""
    parts: int = 1
    """Pods that share the load of one node; several may also run elsewhere, so that some can be moved and one more
    has a place."""
    job_pods: int = 0
    """Pods of each of `WAITING_JOBS` Jobs among those that wait: a Job can be held, a Deployment cannot. The others
    keep the queue within its band while they are held."""

    @property
    def intention(self) -> str:
        """The intended action, as `full_kind` names it: `dvfs`, `admission:queue`."""
        word = "sleep" if self.kind is ActionKind.POWER_STATE else self.admission
        return f"{self.kind}:{word}" if word else str(self.kind)


SLEEP_BELOW, DVFS_BELOW, BALLOON_BELOW = 0.12, 0.30, 0.45
THROTTLE_FROM, MIGRATE_FROM, REPLICATE_FROM = 0.50, 0.70, 0.83
OVERLOADED_ABOVE, OVERLOADED_SHARE = 0.85, 0.5
"""Agent C caps when so large a share of the nodes has more of its CPU or memory requested."""
MOST_MEMORY = 0.95
"""Drawn memory shares stay below; the rest is for pods that start meanwhile."""

EFFICIENCY = "efficiency"
_B, _A, _C = EFFICIENCY, "safety", "admission"
_BY_SCORE, _FIRST, _PROTECTS = (
    RefereeRule.EFFICIENCY_BY_SCORE,
    RefereeRule.SAFETY_FIRST,
    RefereeRule.ADMISSION_PROTECTS,
)
_CALM = (0.0, THROTTLE_FROM)

PHASES: tuple[Phase, ...] = (
    Phase(
        0,
        "idle-power-save",
        "nothing",
        _B,
        ActionKind.POWER_STATE,
        _BY_SCORE,
        (0.0, SLEEP_BELOW),
    ),
    Phase(
        1,
        "light-dvfs",
        "every_node",
        _B,
        ActionKind.DVFS,
        _BY_SCORE,
        (SLEEP_BELOW, DVFS_BELOW),
        LoadShares(0.22, 0.03),
        (0.20, 0.30),
    ),
    Phase(
        2,
        "moderate-memory",
        "every_node",
        _B,
        ActionKind.MEMORY_BALLOON,
        _BY_SCORE,
        (DVFS_BELOW, BALLOON_BELOW),
        LoadShares(0.62, 0.10),
        (0.52, 0.65),
    ),
    Phase(
        3,
        "safety-throttle",
        "one_node",
        _A,
        ActionKind.THROTTLE,
        _FIRST,
        (THROTTLE_FROM, MIGRATE_FROM),
        LoadShares(0.86, 0.13),
        (0.82, 0.88),
    ),
    Phase(
        4,
        "safety-migrate",
        "one_node",
        _A,
        ActionKind.MIGRATE,
        _FIRST,
        (MIGRATE_FROM, REPLICATE_FROM),
        LoadShares(0.92, 0.64),
        (0.90, 0.93),
        parts=4,
    ),
    Phase(
        5,
        "safety-replicate",
        "one_node",
        _A,
        ActionKind.REPLICATE,
        _FIRST,
        (REPLICATE_FROM, 1.0),
        LoadShares(0.94, 0.91),
        (0.935, 0.945),
        parts=4,
    ),
    Phase(
        6,
        "admission-queue",
        "unschedulable",
        _C,
        ActionKind.ADMISSION,
        _PROTECTS,
        _CALM,
        queue=12,
        queue_band=(8, 80),
        admission="queue",
        job_pods=1,
    ),
    Phase(
        7,
        "admission-deprioritize",
        "unschedulable",
        _C,
        ActionKind.ADMISSION,
        _PROTECTS,
        _CALM,
        queue=90,
        queue_band=(80, 120),
        admission="deprioritize",
        job_pods=2,
    ),
    Phase(
        8,
        "admission-cap",
        "unschedulable",
        _C,
        ActionKind.RESOURCE_CAP,
        _PROTECTS,
        _CALM,
        queue=130,
        queue_band=(120, 1_000_000),
    ),
)

WAITING_JOBS = 4
"""At most `executor.workloads_per_admission`, so that one decision holds them all."""
WAITING_CPU_MILLICORES = 100
WAITING_MEMORY_BYTES = 64 * MEBIBYTE
_WAITING_CPU_RANGE = (80, 200)
_WAITING_MEMORY_RANGE = (48, 128)


def phase_shares(phase: Phase, *, randomise: bool, seed: int) -> LoadShares | None:
    """Return the shares that a phase asks of a node; None for phases that ask nothing of nodes.

    Drawn shares stay inside the phase's band whatever is drawn: memory is drawn from what the band
    leaves after CPU.
    """
    if phase.shares is None or not randomise:
        return phase.shares
    random = Random(seed + phase.index)
    cpu = random.uniform(*phase.cpu_range)
    low, high = phase.band[0] + MARGIN, phase.band[1] - MARGIN
    least = max(MARGIN, (low - CPU_WEIGHT * cpu) / MEMORY_WEIGHT)
    most = min(MOST_MEMORY, (high - CPU_WEIGHT * cpu) / MEMORY_WEIGHT)
    return LoadShares(round(cpu, 6), round(random.uniform(least, most), 6))


def waiting_size(phase: Phase, *, randomise: bool, seed: int) -> tuple[int, int]:
    """Return millicores and bytes of one pod that is to wait in the queue."""
    if not randomise:
        return WAITING_CPU_MILLICORES, WAITING_MEMORY_BYTES
    random = Random(seed + phase.index)
    cpu = random.randint(*_WAITING_CPU_RANGE)
    return cpu, random.randint(*_WAITING_MEMORY_RANGE) * MEBIBYTE
