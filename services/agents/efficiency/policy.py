"""Agent B, efficiency: save on the node with the lowest demand.

First match wins: demand < 0.12 sleep, < 0.30 dvfs (clock 0.65), < 0.45 memory_balloon (memory
0.75). Only nodes that are ready and whose power state is `on` are considered: the baseline only ever
had such nodes, and one that sleeps already would otherwise stay the lowest forever. Ties go to the
first node by name. The score is 1 - demand.
"""

from __future__ import annotations

from schemas.actions import Action, DvfsAction, Evidence, MemoryBalloonAction, PowerStateAction
from schemas.numbers import rounded
from schemas.reasons import Reason
from schemas.view import ObservationView
from services.agents.efficiency.thresholds import EfficiencyThresholds
from services.agents.evidence import measure
from services.agents.policy import Judgement, NodePrediction, node, noop


def judge(
    view: ObservationView, prediction: NodePrediction, thresholds: EfficiencyThresholds
) -> Judgement:
    """Return what can be saved on the least wanted node."""
    rows = view.nodes.index()
    awake = [
        (ratio, name)
        for name, ratio in zip(prediction.ids, prediction.ratios, strict=True)
        if view.nodes.ready[rows[name]] and view.nodes.power_state[rows[name]] == "on"
    ]
    if not awake:
        return noop(Reason.NO_NODES, "no ready node that is on has a demand prediction")
    demand_ratio, name = min(awake)
    demand = measure(view, "demand_ratio", demand_ratio, "node_requests", name)
    score = rounded(1.0 - demand_ratio)
    tried: list[Evidence] = []
    for threshold, action in _steps(name, thresholds):
        step = demand.compare("<", threshold)
        tried.append(step)
        if step.holds:
            return Judgement(
                action=action,
                score=score,
                evidence=tuple(tried),
                decisive=(step,),
                text=f"{step.numbers} on {name}, {_power(view, rows[name])}",
            )
    bound = thresholds.balloon_demand_ratio
    text = f"lowest demand {demand_ratio:.6g} on {name} is not below {bound:.6g}"
    return noop(Reason.NOTHING_TO_DO, text, score=score, evidence=tried)


def choices(name: str, thresholds: EfficiencyThresholds) -> tuple[Action, ...]:
    """Return the three actions that save on a node, and waking it."""
    wake = PowerStateAction(target=node(name), power_state="on")
    return (*(action for _, action in _steps(name, thresholds)), wake)


def _steps(name: str, thresholds: EfficiencyThresholds) -> tuple[tuple[float, Action], ...]:
    target = node(name)
    clock, memory = thresholds.clock_scale_ratio, thresholds.memory_scale_ratio
    return (
        (thresholds.sleep_demand_ratio, PowerStateAction(target=target, power_state="sleep")),
        (thresholds.dvfs_demand_ratio, DvfsAction(target=target, clock_scale_ratio=clock)),
        (
            thresholds.balloon_demand_ratio,
            MemoryBalloonAction(target=target, memory_scale_ratio=memory),
        ),
    )


def _power(view: ObservationView, row: int) -> str:
    signal = view.signal("power")
    source = "unknown source" if signal is None else signal.source
    measured = signal is not None and signal.measured and view.nodes.ids[row] not in signal.modelled
    kind = "measured" if measured else "estimated"
    return f"{kind} power {view.nodes.power_watts[row]:.6g} W ({source})"
