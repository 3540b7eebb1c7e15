"""Agent A, safety: act on the node with the highest failure risk.

First match wins: risk >= 0.83 replicate, >= 0.70 migrate, >= 0.50 throttle. Throttle has a gate:
under SLA violations or a queue of 80 or more, a node whose CPU and memory are both below 0.72 is
left alone, since its risk comes from health and not from load. Ties go to the first node by name.
The score is the risk.
"""

from __future__ import annotations

from schemas.actions import Action, Evidence, MigrateAction, ReplicateAction, ThrottleAction
from schemas.reasons import Reason
from schemas.view import ObservationView
from services.agents.evidence import measure
from services.agents.policy import Judgement, NodePrediction, node, noop
from services.agents.safety.thresholds import SafetyThresholds


def judge(
    view: ObservationView, prediction: NodePrediction, thresholds: SafetyThresholds
) -> Judgement:
    """Return what should be done about the riskiest node."""
    if not prediction.ids:
        return noop(Reason.NO_NODES, "no node has a risk prediction")
    risk_ratio, name = min(
        ((ratio, name) for name, ratio in zip(prediction.ids, prediction.ratios, strict=True)),
        key=lambda row: (-row[0], row[1]),
    )
    risk = measure(view, "risk_ratio", risk_ratio, "node_requests", name)
    tried: list[Evidence] = []
    sla = view.totals.sla_violations
    for threshold, action in _steps(name, thresholds):
        step = risk.compare(">=", threshold)
        tried.append(step)
        if not step.holds:
            continue
        if isinstance(action, ThrottleAction):
            gate = _gate(view, name, thresholds)
            tried.extend(gate)
            if _closes(gate):
                text = f"{step.numbers} on {name}, but its load is low: {gate[-1].numbers}"
                return noop(
                    Reason.LOAD_TOO_LOW,
                    text,
                    score=risk_ratio,
                    evidence=tried,
                    decisive=(gate[-1],),
                )
        return Judgement(
            action=action,
            score=risk_ratio,
            evidence=tuple(tried),
            decisive=(step,),
            text=f"{step.numbers} on {name}, SLA violations {sla}",
        )
    text = f"highest risk {risk_ratio:.6g} on {name} is below {thresholds.throttle_risk_ratio:.6g}"
    return noop(Reason.NOTHING_TO_DO, text, score=risk_ratio, evidence=tried)


def choices(name: str, thresholds: SafetyThresholds) -> tuple[Action, ...]:
    """Return the three actions on a node."""
    return tuple(action for _, action in _steps(name, thresholds))


def _steps(name: str, thresholds: SafetyThresholds) -> tuple[tuple[float, Action], ...]:
    target, cap = node(name), thresholds.throttle_cpu_cap_ratio
    return (
        (thresholds.replicate_risk_ratio, ReplicateAction(target=target)),
        (thresholds.migrate_risk_ratio, MigrateAction(target=target)),
        (thresholds.throttle_risk_ratio, ThrottleAction(target=target, cpu_cap_ratio=cap)),
    )


def _gate(view: ObservationView, name: str, thresholds: SafetyThresholds) -> tuple[Evidence, ...]:
    row = view.nodes.index()[name]
    load = max(
        view.nodes.cpu_requested_ratio[row] or 0.0, view.nodes.memory_requested_ratio[row] or 0.0
    )
    totals = view.totals
    return (
        measure(view, "sla_violations", totals.sla_violations, "pods").compare(">", 0),
        measure(view, "queue_length", totals.queue_length, "pods").compare(
            ">=", thresholds.gate_queue_length
        ),
        measure(view, "load_ratio", load, "node_requests", name).compare(
            "<", thresholds.gate_load_ratio
        ),
    )


def _closes(gate: tuple[Evidence, ...]) -> bool:
    sla, queue, load = gate
    return (sla.holds or queue.holds) and load.holds
