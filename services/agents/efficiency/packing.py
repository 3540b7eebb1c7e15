"""Packing: a machine with few pods that all have a place elsewhere is emptied, and then put to sleep.

Only once no empty machine is awake: the scheduler puts a pod on the emptiest machine, so that a moved pod would
otherwise only change places. Worth: the watts saved for as long as machines have been seen to sleep; less each
eviction, the time until the pods run again, the work of Jobs that is done again, and the chance that demand
outgrows what stays awake.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from schemas.actions import Evidence, MigrateAction, PowerStateAction
from schemas.numbers import rounded
from schemas.occupancy import OccupiedNode
from schemas.wording import count_text
from services.agents.appraisal import Candidate, PolicyInput
from services.agents.demand_sample import GIB
from services.agents.effects import HOUR, effect_of
from services.agents.machine_memory import recent_wishes, sleep_seconds
from services.agents.moves import (
    disruptions_left,
    moving_costs,
    open_places,
    unplaceable,
    up_to_the_first_touched,
    why_kept,
)
from services.agents.policy import node

WATT_SECONDS_PER_KWH = 3_600_000.0
PODS_PER_SHORTFALL = 10
"""Pods that wait when demand outgrows what is awake: our own guess."""
WAKE_SECONDS = 60.0
"""How long they wait until a machine is awake: our own guess; two cycles and a resume from memory."""
UNDO_RATIO = 0.05
"""Chance that a pod waits because a machine keeps our taint: our own guess."""
SHORTFALL_COST = PODS_PER_SHORTFALL * WAKE_SECONDS / HOUR
"""Pod-hours that wait when demand outgrows what is awake."""


def packing(
    situation: PolicyInput, spare_cores: float, spare_gib: float, shortfall_ratio: float
) -> tuple[tuple[Candidate, ...], str]:
    """Return the machine that is best emptied, after those better ones that are left untouched by the draw; or
    nothing, and why.

    Args:
        situation: what is seen and remembered.
        spare_cores: free on machines that are awake, beyond the reserve.
        spare_gib: likewise memory.
        shortfall_ratio: chance that demand outgrows what is awake.
    """
    occupancy, settings = situation.view.occupancy, situation.settings
    if occupancy is None or not settings.moves:
        return (), ""
    why: Counter[str] = Counter()
    candidates = []
    for listed in occupancy.nodes:
        reason = _why_not(situation, listed, spare_cores, spare_gib)
        if reason:
            why[reason] += 1
        else:
            candidates.append(_packing(situation, listed, shortfall_ratio))
    gaining = [one for one in candidates if one.effect.net > 0.0]
    if candidates and not gaining:
        why["moving its pods costs more than is saved"] += len(candidates)
    if gaining:
        return up_to_the_first_touched(situation, gaining), ""
    reasons = "; ".join(f"{reason} ({count})" for reason, count in why.most_common(3))
    return (), f"no machine is emptied: {reasons}" if reasons else ""


def _why_not(
    situation: PolicyInput, listed: OccupiedNode, spare_cores: float, spare_gib: float
) -> str:
    """Return why a machine is not emptied; empty where it may be."""
    settings, now, memory = (
        situation.settings,
        situation.view.cluster_time_seconds,
        situation.memory.machines,
    )
    if listed.notices or not listed.pods:
        return "they are about to go" if listed.notices else "they are empty"
    if len(listed.pods) > settings.pods_moved:
        return f"they hold more than {settings.pods_moved} pods"
    if kept := why_kept(situation, listed):
        return kept
    if any(
        now - (pod.started_time_seconds or now) < settings.rested_seconds for pod in listed.pods
    ):
        return f"a pod has run for less than {settings.rested_seconds:g} s"
    rested = recent_wishes(memory.moved, now, settings.rested_seconds)
    if any(pod.workload in rested for pod in listed.pods):
        return "their workload was moved lately"
    if listed.node not in memory.disrupted and disruptions_left(situation) <= 0:
        return "the budget of disruptions is used up"
    if listed.node in recent_wishes(memory.woken, now, settings.rested_seconds):
        return "they woke lately"
    row = situation.view.nodes.ids.index(listed.node)
    nodes = situation.view.nodes
    if (
        spare_cores < nodes.cpu_allocatable_cores[row]
        or spare_gib < nodes.memory_allocatable_bytes[row] / GIB
    ):
        return "the reserve would not be free without them"
    pod = unplaceable(listed.pods, open_places(situation, listed.node))
    return "" if pod is None else f"no place is left for a pod of {pod.cpu_request_cores:g} cores"


def _packing(situation: PolicyInput, listed: OccupiedNode, shortfall_ratio: float) -> Candidate:
    settings, pods = situation.settings, listed.pods
    horizon = sleep_seconds(situation.memory.machines, settings)
    watts = max(0.0, settings.idle_watts - settings.sleep_watts)
    price = situation.view.totals.energy_price
    wait = SHORTFALL_COST * settings.waiting_pod_hour
    costs = moving_costs(situation, pods)
    terms = {name: -amount for name, amount in costs.items()}
    terms["waiting"] -= shortfall_ratio * wait
    terms["energy"] = watts * horizon / WATT_SECONDS_PER_KWH * price
    terms["switching"] = -settings.switch_cost
    effect = effect_of(
        terms,
        horizon,
        settings,
        spread=terms["energy"] / 2.0 + wait * math.sqrt(shortfall_ratio * (1.0 - shortfall_ratio)),
    )
    cores = math.fsum(pod.cpu_request_cores for pod in pods)
    few = Evidence(
        name="pods_on_node", value=len(pods), comparison="<=", threshold=settings.pods_moved,
        subject=listed.node, holds=True, signal="pods",
    )  # fmt: skip
    text = (
        f"{listed.node} holds {count_text(len(pods), 'pod')} with {cores:.4g} cores, with a place elsewhere; "
        f"asleep it saves {watts:.4g} W, for {horizon / 60:.3g} min by what was seen"
    )
    return Candidate(MigrateAction(target=node(listed.node)), effect, (few,), text)


def returned_marks(situation: PolicyInput, to_go: tuple[str, ...]) -> Iterator[Candidate]:
    """Yield machines that keep our taint although nothing came of emptying them, or the reason is gone."""
    view, settings = situation.view, situation.settings
    if view.occupancy is None:
        return
    going = {*to_go, *(listed.node for listed in view.occupancy.nodes if listed.notices)}
    for name, since in sorted(situation.memory.machines.marked.items()):
        row = view.nodes.ids.index(name) if name in view.nodes.ids else None
        age = view.cluster_time_seconds - since
        over = Evidence(
            name="marked_seconds", value=rounded(age), comparison=">=", signal="nodes",
            threshold=settings.budget_seconds, subject=name, holds=age >= settings.budget_seconds,
        )  # fmt: skip
        if name in going or row is None or not over.holds or view.nodes.power_state[row] != "on":
            continue
        gained = UNDO_RATIO * WAKE_SECONDS / HOUR * settings.waiting_pod_hour
        effect = effect_of({"waiting": gained}, settings.horizon_seconds, settings, spread=gained)
        text = f"{name} has kept our taint for {age:.0f} s, and nothing asks for it any more"
        action = PowerStateAction(target=node(name), power_state="on")
        yield Candidate(action, effect, (over,), text)
