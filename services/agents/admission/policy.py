"""Agent C, admission: protect the queue.

It reads no prediction and does not wait for one.

First match wins: queue >= 120 resource_cap on the fullest node (score 1.0); >= 80 deprioritize
(0.95); >= 8 queue (0.9); SLA violations and a queue: reject (0.85); at least half of the nodes
overloaded (CPU or memory > 0.85): resource_cap on the fullest node (1.0); queue below 20 and no
node overloaded: admit (1.0); otherwise admit (0.5). The fullest node has the greatest max(CPU,
memory) by requests; ties go to the first by name.
"""

from __future__ import annotations

from schemas.actions import Action, AdmissionAction, AdmissionWord, Evidence, ResourceCapAction
from schemas.reasons import Reason
from schemas.view import ObservationView
from services.agents.admission.thresholds import AdmissionThresholds
from services.agents.evidence import measure
from services.agents.freshness import excepted_rows
from services.agents.policy import QUEUE, Judgement, NodePrediction, node, noop

SIGNALS = ("node_requests", "pods")

Loads = tuple[tuple[str, float], ...]
"""Node and its max(CPU, memory) by requests."""


def judge(
    view: ObservationView, prediction: NodePrediction, thresholds: AdmissionThresholds
) -> Judgement:
    """Return what the queue needs; `prediction` is not read."""
    del prediction
    loads = _loads(view)
    if not loads:
        return noop(Reason.NO_NODES, "the observation holds no node")
    tried: list[Evidence] = []
    judgement = _by_queue(view, loads, thresholds, tried) or _by_load(
        view, loads, thresholds, tried
    )
    return judgement or _admit(view, loads, thresholds, tried)


def choices(name: str, thresholds: AdmissionThresholds) -> tuple[Action, ...]:
    """Return every word about the queue, and a cap on a node."""
    words: tuple[AdmissionWord, ...] = ("admit", "queue", "deprioritize", "reject")
    return (
        *(AdmissionAction(target=QUEUE, admission=word) for word in words),
        ResourceCapAction(
            target=node(name),
            cpu_cap_ratio=thresholds.cpu_cap_ratio,
            memory_cap_ratio=thresholds.memory_cap_ratio,
        ),
    )


def _by_queue(
    view: ObservationView, loads: Loads, thresholds: AdmissionThresholds, tried: list[Evidence]
) -> Judgement | None:
    queue = measure(view, "queue_length", view.totals.queue_length, "pods")
    step = _try(tried, queue.compare(">=", thresholds.cap_queue_length))
    if step.holds:
        return _cap(view, loads, thresholds, tried, (step,))
    step = _try(tried, queue.compare(">=", thresholds.deprioritize_queue_length))
    if step.holds:
        return _admission(view, "deprioritize", 0.95, tried, (step,))
    step = _try(tried, queue.compare(">=", thresholds.hold_queue_length))
    if step.holds:
        return _admission(view, "queue", 0.9, tried, (step,))
    sla = _try(
        tried, measure(view, "sla_violations", view.totals.sla_violations, "pods").compare(">", 0)
    )
    waiting = _try(tried, queue.compare(">", 0))
    if sla.holds and waiting.holds:
        return _admission(view, "reject", 0.85, tried, (sla, waiting))
    return None


def _by_load(
    view: ObservationView, loads: Loads, thresholds: AdmissionThresholds, tried: list[Evidence]
) -> Judgement | None:
    share = _count_overloaded(loads, thresholds) / len(loads)
    step = measure(view, "overloaded_nodes_ratio", share, "node_requests").compare(
        ">=", thresholds.overload_share_ratio
    )
    _try(tried, step)
    return _cap(view, loads, thresholds, tried, (step,)) if step.holds else None


def _admit(
    view: ObservationView, loads: Loads, thresholds: AdmissionThresholds, tried: list[Evidence]
) -> Judgement:
    queue = measure(view, "queue_length", view.totals.queue_length, "pods")
    calm = _try(tried, queue.compare("<", thresholds.calm_queue_length))
    overloaded = measure(
        view, "overloaded_nodes", _count_overloaded(loads, thresholds), "node_requests"
    )
    none = _try(tried, overloaded.compare("==", 0))
    if calm.holds and none.holds:
        return _admission(view, "admit", 1.0, tried, (calm, none))
    return _admission(view, "admit", 0.5, tried, ())


def _cap(
    view: ObservationView,
    loads: Loads,
    thresholds: AdmissionThresholds,
    tried: list[Evidence],
    decisive: tuple[Evidence, ...],
) -> Judgement:
    name = min(loads, key=lambda row: (-row[1], row[0]))[0]
    return Judgement(
        action=ResourceCapAction(
            target=node(name),
            cpu_cap_ratio=thresholds.cpu_cap_ratio,
            memory_cap_ratio=thresholds.memory_cap_ratio,
        ),
        score=1.0,
        evidence=tuple(tried),
        decisive=decisive,
        text=f"{_values_text(decisive)}; fullest node {name}; {_situation(view)}",
    )


def _admission(
    view: ObservationView,
    word: AdmissionWord,
    score: float,
    tried: list[Evidence],
    decisive: tuple[Evidence, ...],
) -> Judgement:
    return Judgement(
        action=AdmissionAction(target=QUEUE, admission=word),
        score=score,
        evidence=tuple(tried),
        decisive=decisive,
        text=f"{_values_text(decisive) or 'no other rule holds'}; {_situation(view)}",
    )


def _loads(view: ObservationView) -> Loads:
    skip = excepted_rows(view, SIGNALS)
    nodes = view.nodes
    rows = zip(nodes.ids, nodes.cpu_requested_ratio, nodes.memory_requested_ratio, strict=True)
    return tuple(
        [(name, max(cpu or 0.0, memory or 0.0)) for name, cpu, memory in rows if name not in skip]
    )


def _count_overloaded(loads: Loads, thresholds: AdmissionThresholds) -> int:
    return sum(load > thresholds.overload_ratio for _, load in loads)


def _try(tried: list[Evidence], step: Evidence) -> Evidence:
    tried.append(step)
    return step


def _values_text(decisive: tuple[Evidence, ...]) -> str:
    return " and ".join(item.numbers for item in decisive)


def _situation(view: ObservationView) -> str:
    totals = view.totals
    return (
        f"queue {totals.queue_length}, mean cpu {totals.cpu_requested_ratio:.3g}, "
        f"mean memory {totals.memory_requested_ratio:.3g}"
    )
