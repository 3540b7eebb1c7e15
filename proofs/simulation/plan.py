"""What goes wrong in one simulated run: everything follows from the seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from bus.memory_adapter import Faults
from schemas.agents import agent_names

INTERVAL_SECONDS = 5.0
WORLDS = 10
SOURCES = ("collector", "exerciser")
DERIVED = (
    "inference",
    *(f"agent-{name}" for name in agent_names()),
    "referee",
    "executor",
    "scoreboard",
)


@dataclass(frozen=True)
class FaultPlan:
    """One run's faults; probabilities are per step (one operation on the bus or the cluster)."""

    seed: int
    """Of the faults."""
    world: int = 1
    """Seed of the simulated cluster and its workload."""
    hit: tuple[str, ...] = ()
    """Processes that faults may hit."""
    crash: float = 0.0
    """The process dies before or after the step; half of its publishes arrive all the same."""
    pause: float = 0.0
    """The step takes up to `pause_seconds`, as under SIGSTOP."""
    pause_seconds: float = 20.0
    jitter_seconds: float = 0.05
    """Longest ordinary delay of a step; it decides the order of processes."""
    slow_read: float = 0.0
    """A reader lingers over a message, so that its feed overflows."""
    cluster_fails: float = 0.0
    """The API server does not answer, before or after it has done what was requested."""
    clock_jump_seconds: float = 0.0
    """Wall clocks jump by up to so much in both directions at each start of a process."""
    outage: str = ""
    """A process that stays away once."""
    outage_seconds: float = 0.0
    zombie: bool = False
    """The referee is paused for a while, a second one starts, and the first resumes."""
    bus: Faults = field(default_factory=Faults)

    def faults_of(self, process: str, start: int) -> Faults:
        """Return the connection faults of a process' n-th start, seeded apart from all others."""
        if process not in self.hit:
            return Faults()
        seed = Random(f"{self.seed}/{process}/{start}").getrandbits(32)
        rates = {name: getattr(self.bus, name) for name in Faults.__slots__ if name != "seed"}
        return Faults(seed=seed, **rates)


def world_of(seed: int) -> int:
    """Return the world in which a seed's faults happen; few worlds, so that the undisturbed run of
    each is made once.
    """
    return 1 + seed % WORLDS


def draw_plan(seed: int, *, sources: bool) -> FaultPlan:
    """Draw a run's faults.

    Args:
        seed: everything follows from it.
        sources: whether faults may also hit the collector, the exerciser and the cluster; then
            the world itself differs from that of an undisturbed run.
    """
    rng = Random(f"plan/{seed}/{sources}")

    def sometimes(probability: float, value: float) -> float:
        return value * rng.random() if rng.random() < probability else 0.0

    long_outage = rng.random() < 0.35
    return FaultPlan(
        seed=seed,
        world=world_of(seed),
        hit=(*DERIVED, *SOURCES) if sources else DERIVED,
        crash=sometimes(0.8, 0.02),
        pause=sometimes(0.5, 0.01),
        jitter_seconds=0.001 + sometimes(0.8, 0.4),
        slow_read=sometimes(0.4, 0.05),
        cluster_fails=sometimes(0.5, 0.05) if sources else 0.0,
        clock_jump_seconds=sometimes(0.5, 7_200.0),
        outage=rng.choice(DERIVED) if long_outage else "",
        outage_seconds=121.0 + 25.0 * rng.random() if long_outage else 0.0,
        zombie=rng.random() < 0.15,
        bus=Faults(
            drop_before_store=sometimes(0.6, 0.15),
            drop_before_ack=sometimes(0.8, 0.3),
            lose_live=sometimes(0.6, 0.3),
            duplicate_live=sometimes(0.6, 0.3),
            delay_live=sometimes(0.6, 0.3),
            disconnect=sometimes(0.4, 0.02),
            disconnect_seconds=rng.choice((0.5, 4.0, 130.0)),
            feed_messages=rng.choice((4_096, 64, 4)),
        ),
    )
