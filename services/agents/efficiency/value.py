"""Agent B by expected value: empty machines sleep while demand leaves room, and wake before it is needed.

The reserve is what demand rose by within one horizon, at most, as far as this agent remembers; at least a share of
what is requested now, and some empty machines. Sleeping: the watts saved over the saving horizon, less the chance that
demand outgrows what stays awake, and the cost of switching. Waking: pods that wait for capacity, or a reserve that is
used up. Once no empty machine is left awake, lightly loaded ones are emptied (`packing`). A machine that still bears
our taint when nothing asks for it any more is given back.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from schemas.actions import Evidence, PowerStateAction
from schemas.numbers import rounded
from schemas.reasons import Reason
from services.agents.appraisal import (
    Appraisal,
    Candidate,
    PolicyInput,
    bands_of,
    pods_without_capacity,
)
from services.agents.demand_sample import GIB, DemandSample
from services.agents.effects import HOUR, effect_of
from services.agents.efficiency.marking import machines_to_go, markings
from services.agents.efficiency.packing import (
    PODS_PER_SHORTFALL,
    SHORTFALL_COST,
    WATT_SECONDS_PER_KWH,
    packing,
    returned_marks,
)
from services.agents.efficiency.sizing import sizings
from services.agents.machine_memory import recent_wishes, sleep_seconds
from services.agents.moves import (
    disruptions_left,
    is_awake,
    is_counted,
    unrequested_cores,
    unrequested_gib,
)
from services.agents.policy import node

ROOMY_RATIO = 0.75
"""Free share from which a machine with pods is as good a reserve as an empty one."""
PACKED_RESERVE = 1.5
"""Reserves that stay free when a machine is emptied, so that a little more demand does not wake one again."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """Free capacity of machines that are awake, and what has to stay so."""

    free_cores: float
    free_memory_gib: float
    reserve_cores: float
    reserve_memory_gib: float
    rises: tuple[tuple[float, float], ...]
    """Cores and GiB that demand rose by within one horizon, as far as is remembered."""
    awake: int
    nodes: int
    empty: tuple[int, ...]
    """Rows of awake machines without a pod."""
    roomy: int
    """Awake machines with pods of which most is free."""
    asleep: tuple[int, ...]


def appraise(situation: PolicyInput) -> Appraisal:
    """Return which machines should sleep, or wake, and which pods should request something else."""
    to_go = machines_to_go(situation)
    appraisal = _of_machines(situation, to_go)
    fitted, why = sizings(situation)
    further = (*markings(situation, to_go), *fitted)
    text = f"{appraisal.text}; {why}" if why else appraisal.text
    reason = Reason.NOTHING_TO_DO if further else appraisal.reason
    return Appraisal((*appraisal.candidates, *further), text, reason)


def _of_machines(situation: PolicyInput, to_go: tuple[str, ...]) -> Appraisal:
    """Return which machines should sleep, or wake."""
    view, settings = situation.view, situation.settings
    if not view.nodes.ids:
        return Appraisal((), "no node is observed", Reason.NO_NODES)
    capacity = capacity_of(situation)
    waiting = pods_without_capacity(situation)
    waking = tuple(_wakings(situation, capacity, waiting))
    if waking:
        return Appraisal(waking, f"{waiting} pods wait for capacity")
    known = view.cluster_time_seconds - situation.memory.demand[0].time_seconds
    if known < settings.warm_up_seconds:
        text = f"demand is known for {known:.0f} s; {settings.warm_up_seconds:g} s are asked for"
        return Appraisal((), text)
    sleeping = tuple(_sleepings(situation, capacity))
    text = (
        f"{len(capacity.empty)} empty machines, {capacity.free_cores:.4g} cores free, "
        f"{capacity.reserve_cores:.4g} of them kept"
    )
    if capacity.empty and not sleeping and disruptions_left(situation) <= 0:
        text += "; as many machines were put to sleep lately as the budget of disruptions allows"
    given_back = tuple(returned_marks(situation, to_go))
    if capacity.empty or sleeping:
        return Appraisal((*sleeping, *given_back), text)
    packed, why = _packing(situation, capacity)
    text = f"{text}; {why}" if why else text
    return Appraisal((*packed, *given_back), text)


def _packing(situation: PolicyInput, capacity: Capacity) -> tuple[tuple[Candidate, ...], str]:
    """Return the machine that is best emptied, or none and why."""
    least_awake = math.ceil(situation.settings.least_awake_ratio * capacity.nodes)
    if capacity.awake - 1 < least_awake:
        return (), f"at least {least_awake} machines stay awake"
    spare_cores = capacity.free_cores - PACKED_RESERVE * capacity.reserve_cores
    spare_memory = capacity.free_memory_gib - PACKED_RESERVE * capacity.reserve_memory_gib
    shortfall = _shortfall_ratio(
        capacity.rises, capacity.reserve_cores, capacity.reserve_memory_gib
    )
    return packing(situation, spare_cores, spare_memory, shortfall)


def capacity_of(situation: PolicyInput) -> Capacity:
    """Return what is free and what has to stay so."""
    nodes, settings = situation.view.nodes, situation.settings
    awake = [row for row in range(len(nodes)) if is_awake(nodes, row)]
    asleep = tuple(
        row for row in range(len(nodes)) if nodes.power_state[row] == "sleep" and nodes.ready[row]
    )
    newest = situation.memory.demand[-1]
    rises = rises_within(situation.memory.demand, settings.horizon_seconds)
    return Capacity(
        free_cores=math.fsum(unrequested_cores(nodes, row) for row in awake),
        free_memory_gib=math.fsum(unrequested_gib(nodes, row) for row in awake),
        reserve_cores=max(
            settings.reserve_ratio * newest.cores,
            _rise_ahead(situation, newest.cores, rises),
        ),
        reserve_memory_gib=max(
            settings.reserve_ratio * newest.memory_gib,
            max((rise[1] for rise in rises), default=0.0),
        ),
        rises=rises,
        awake=len(awake),
        nodes=len(nodes),
        empty=tuple(row for row in awake if nodes.pods[row] == 0),
        roomy=sum(
            nodes.pods[row] > 0
            and max(nodes.cpu_requested_ratio[row] or 0.0, nodes.memory_requested_ratio[row] or 0.0)
            <= 1.0 - ROOMY_RATIO
            for row in awake
        ),
        asleep=asleep,
    )


def _rise_ahead(
    situation: PolicyInput, cores: float, rises: tuple[tuple[float, float], ...]
) -> float:
    """Return by how much the cores requested may grow within a horizon: foreseen, else the most so far."""
    bands = bands_of(situation, "nodes/all")
    ahead = [bands[at].high for at in bands if at <= situation.settings.horizon_seconds]
    return max(ahead) - cores if ahead else max((rise[0] for rise in rises), default=0.0)


def rises_within(
    demand: tuple[DemandSample, ...], seconds: float
) -> tuple[tuple[float, float], ...]:
    """Return by how many cores and GiB demand rose at most within so many seconds of each sample."""
    ends: list[int] = []
    last = 0
    for sample in demand:
        while last < len(demand) and demand[last].time_seconds - sample.time_seconds <= seconds:
            last += 1
        ends.append(last)
    cores = _rises([one.cores for one in demand], ends)
    return tuple(zip(cores, _rises([one.memory_gib for one in demand], ends), strict=True))


def _rises(values: Sequence[float], ends: Sequence[int]) -> Iterator[float]:
    """Yield how far above each value the greatest is of those from it up to its end; ends do not fall."""
    falling: deque[int] = deque()  # places that no later one so far exceeds
    reached = 0
    for place, end in enumerate(ends):
        for later in range(reached, end):
            while falling and values[falling[-1]] <= values[later]:
                falling.pop()
            falling.append(later)
        reached = end
        if falling[0] < place:
            falling.popleft()
        yield values[falling[0]] - values[place]


def _sleepings(situation: PolicyInput, capacity: Capacity) -> Iterator[Candidate]:
    nodes, settings = situation.view.nodes, situation.settings
    least_awake = math.ceil(settings.least_awake_ratio * capacity.nodes)
    free_cores, free_memory = capacity.free_cores, capacity.free_memory_gib
    woken = recent_wishes(
        situation.memory.machines.woken,
        situation.view.cluster_time_seconds,
        settings.rested_seconds,
    )
    rested = [row for row in capacity.empty if nodes.ids[row] not in woken]
    spare = len(capacity.empty) - max(0, settings.reserve_nodes - capacity.roomy)
    left = disruptions_left(situation)
    for taken, row in enumerate(
        sorted(rested, key=lambda row: (-nodes.power_watts[row], nodes.ids[row]))
    ):
        left -= not is_counted(situation, nodes.ids[row])
        if left < 0:
            return
        free_cores -= unrequested_cores(nodes, row)
        free_memory -= unrequested_gib(nodes, row)
        room = Evidence(
            name="cores_free_after", value=rounded(free_cores), comparison=">=", signal="node_requests",
            threshold=rounded(capacity.reserve_cores), subject=nodes.ids[row],
            holds=free_cores >= capacity.reserve_cores and free_memory >= capacity.reserve_memory_gib,
        )  # fmt: skip
        if taken >= spare or not room.holds or capacity.awake - taken - 1 < least_awake:
            return
        yield _sleeping(
            situation, row, room, _shortfall_ratio(capacity.rises, free_cores, free_memory)
        )


def _shortfall_ratio(
    rises: tuple[tuple[float, float], ...], free_cores: float, free_memory: float
) -> float:
    """Return the chance that demand outgrows what is free within a horizon: Laplace's rule of succession."""
    above = sum(cores > free_cores or memory > free_memory for cores, memory in rises)
    return (above + 1) / (len(rises) + 2)


def _sleeping(situation: PolicyInput, row: int, room: Evidence, shortfall: float) -> Candidate:
    view, settings = situation.view, situation.settings
    nodes, horizon = view.nodes, sleep_seconds(situation.memory.machines, settings)
    watts = max(0.0, nodes.power_watts[row] - settings.sleep_watts)
    saved = watts * horizon / WATT_SECONDS_PER_KWH * view.totals.energy_price
    wait = SHORTFALL_COST * settings.waiting_pod_hour
    effect = effect_of(
        {"energy": saved, "waiting": -shortfall * wait, "switching": -settings.switch_cost},
        horizon,
        settings,
        spread=wait * math.sqrt(shortfall * (1.0 - shortfall)),
    )
    name = nodes.ids[row]
    action = PowerStateAction(target=node(name), power_state="sleep")
    text = (
        f"{name} is empty and draws {watts:.4g} W more than asleep; demand outgrows what is left awake with a "
        f"chance of {100 * shortfall:.2g} %"
    )
    return Candidate(action, effect, (room,), text)


def _wakings(situation: PolicyInput, capacity: Capacity, waiting: int) -> Iterator[Candidate]:
    """Yield machines to wake: one for every few pods that wait, or until the reserve is there again."""
    nodes = situation.view.nodes
    short = capacity.reserve_cores - capacity.free_cores
    short_memory = capacity.reserve_memory_gib - capacity.free_memory_gib
    for row in capacity.asleep:
        if waiting <= 0 and short <= 0.0 and short_memory <= 0.0:
            return
        yield _waking(situation, row, waiting, short)
        waiting -= PODS_PER_SHORTFALL
        short -= nodes.cpu_allocatable_cores[row]
        short_memory -= nodes.memory_allocatable_bytes[row] / GIB


def _waking(situation: PolicyInput, row: int, waiting: int, short: float) -> Candidate:
    view, settings = situation.view, situation.settings
    nodes, horizon = view.nodes, settings.horizon_seconds
    name = nodes.ids[row]
    pods = min(waiting, PODS_PER_SHORTFALL) if waiting > 0 else PODS_PER_SHORTFALL
    chance = 1.0 if waiting > 0 else 0.5
    gained = chance * pods * horizon / HOUR * settings.waiting_pod_hour
    watts = max(0.0, settings.idle_watts - settings.sleep_watts)
    drawn = watts * horizon / WATT_SECONDS_PER_KWH
    effect = effect_of(
        {"waiting": gained, "energy": -drawn * view.totals.energy_price},
        horizon,
        settings,
        spread=gained * math.sqrt((1.0 - chance) / chance),
    )
    waits = Evidence(
        name="pods_without_capacity", value=waiting, comparison=">", threshold=0, holds=waiting > 0, signal="pods",
    )  # fmt: skip
    lacks = Evidence(
        name="cores_short", value=rounded(short), comparison=">", threshold=0, holds=short > 0.0,
        signal="node_requests",
    )  # fmt: skip
    text = f"{name} sleeps; {waiting} pods wait for capacity, the reserve lacks {max(0.0, short):.4g} cores"
    action = PowerStateAction(target=node(name), power_state="on")
    return Candidate(action, effect, (waits,) if waits.holds else (lacks,), text)
