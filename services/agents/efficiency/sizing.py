"""Right-sizing: running pods request what their workload is expected to use at most, and a margin.

Worth: cores and memory that are not requested any more, as far as a node autoscaler gives machines back for them. What
lacks after our own reduction is dearer than what idles, so it is given back at the next statement, and after a
restart at once. Nothing is lowered by what is known for too short or too long ago.
"""

from __future__ import annotations

import math
from collections import Counter

from schemas.actions import Evidence, ResizeAction, Target, TargetKind
from schemas.numbers import rounded
from schemas.observation import ObservedServices
from schemas.sizes import PredictionSizes
from services.agents.appraisal import Candidate, PolicyInput
from services.agents.demand_sample import GIB
from services.agents.effects import HOUR, effect_of

LEAST_CORES, LEAST_BYTES = 0.025, 64 << 20
"""A pod keeps so much: the least CPU of the Vertical Pod Autoscaler; of memory our own choice."""
LEAST_CHANGE = 0.1
"""Smaller changes are left out: the Vertical Pod Autoscaler's own threshold."""
LOWERED_SECONDS = 3_600.0
"""A workload whose requests were changed since is not lowered again, nor one before twice as much of its use is known,
for each time machines are packed anew; but pods that came since and request what the template says are.
"""
OLDEST_SECONDS = 900.0
"""What was measured longer ago lowers nothing."""
SHORTFALL_FACTOR = 20.0
"""By how much what lacks is dearer than what idles; so the quantile of the news vendor is 0.95, as that of the peak."""
AFTER_RESTART = 1.2
"""Memory after a restart, of what was requested: as the Vertical Pod Autoscaler after an out-of-memory kill."""


def sizings(situation: PolicyInput) -> tuple[tuple[Candidate, ...], str]:
    """Return the workloads whose pods should request something else, or none and why."""
    settings, sizes = situation.settings, situation.foreseen.sizes
    if not settings.right_size:
        return (), ""
    if not settings.machines_rented:
        return (
            (),
            "no request is fitted: nobody rents machines here, so none is given back and no money saved",
        )
    if sizes is None:
        return (), "no request is fitted: what pods use is not known yet"
    autoscaled = _autoscaled(situation)
    pods = situation.view.pods
    restarted = {name for name, times in zip(pods.workload, pods.restarts, strict=True) if times}
    why: Counter[str] = Counter()
    candidates = []
    for row, name in enumerate(sizes.workloads.ids):
        if name in autoscaled:
            why["an autoscaler scales by use of the request"] += 1
            continue
        found = _sizing(situation, sizes, row, restarted=name in restarted)
        if isinstance(found, str):
            why[found] += 1
        else:
            candidates.append(found)
    reasons = "; ".join(f"{reason} ({count})" for reason, count in why.most_common(3))
    return tuple(candidates), f"no request is fitted: {reasons}" if reasons else ""


def _autoscaled(situation: PolicyInput) -> set[str]:
    services = situation.view.services or ObservedServices()
    scaled = zip(services.workload, services.autoscaled, strict=True)
    return {workload for workload, is_scaled in scaled if is_scaled}


def _sizing(
    situation: PolicyInput, sizes: PredictionSizes, row: int, *, restarted: bool
) -> Candidate | str:
    """Return what the pods of a workload should request, or why they keep what they have."""
    settings, table, name = situation.settings, sizes.workloads, sizes.workloads.ids[row]
    now, sized = situation.view.cluster_time_seconds, situation.memory.sized.get(name)
    cores, size = table.cpu_request_cores[row], table.memory_request_bytes[row]
    if sized is not None and restarted and not sized.restored:
        wanted = max(sized.owner_bytes, round(AFTER_RESTART * size))
        return _candidate(situation, sizes, row, max(cores, sized.owner_cores), wanted)
    if restarted:
        return "a pod of it has restarted lately"
    if sized is not None and (sized.restored or sized.seconds >= sizes.measured_seconds):
        return "they were fitted lately"
    if now - sizes.measured_seconds > OLDEST_SECONDS:
        return "what they use was not measured lately"
    if table.known_seconds[row] < settings.size_known_seconds:
        return f"what they use is known for less than {settings.size_known_seconds:g} s"
    margin, was_ours = settings.size_margin, sized is not None
    pause = min(LOWERED_SECONDS, table.known_seconds[row] / 2.0)
    may_fall = (
        sized is None
        or (1.0 - LEAST_CHANGE) * cores > sized.least_cores
        or now - sized.seconds >= pause
    )
    peaks = (
        max(LEAST_CORES, table.cpu_peak_cores[row]),
        max(LEAST_BYTES, table.memory_peak_bytes[row]),
    )
    wanted_cores = _fitted(cores, peaks[0], margin, 0.0, may_fall, was_ours)
    wanted_bytes = _fitted(size, peaks[1], margin, 0.5, may_fall, was_ours)
    if wanted_cores == cores and wanted_bytes == size:
        return "they request what they use"
    return _candidate(situation, sizes, row, wanted_cores, round(wanted_bytes))


def _fitted(
    requested: float, peak: float, margin: float, kept: float, may_fall: bool, may_rise: bool
) -> float:
    """Return the amount to be requested: less where much is idle, more where less than `kept` of the margin is left."""
    wanted = peak * (1.0 + margin)
    if wanted < (1.0 - LEAST_CHANGE) * requested:
        return wanted if may_fall else requested
    return wanted if may_rise and peak * (1.0 + kept * margin) > requested else requested


def _lost_if_moved(situation: PolicyInput, sizes: PredictionSizes, row: int) -> float:
    """Return the work of a Job that is done again where its machine is given back, by the chance of that.

    The chance is a pod's share of a machine, by our own guess: what is alone on one moves to a smaller one.
    """
    table, nodes, settings = sizes.workloads, situation.view.nodes, situation.settings
    if "/Job/" not in table.ids[row] or not nodes.ids:
        return 0.0
    machine = math.fsum(nodes.cpu_allocatable_cores) / len(nodes)
    chance = min(1.0, table.cpu_request_cores[row] / machine) if machine else 1.0
    ran = table.known_seconds[row] / HOUR * table.cpu_peak_cores[row] * table.pods[row]
    return chance * ran * settings.job_cpu_hour_lost


def _candidate(
    situation: PolicyInput, sizes: PredictionSizes, row: int, cores: float, size: int
) -> Candidate:
    settings, table = situation.settings, sizes.workloads
    name, pods = table.ids[row], table.pods[row]
    horizon = settings.saving_horizon_seconds
    hours = horizon / HOUR * pods
    before = (table.cpu_request_cores[row], table.memory_request_bytes[row])
    terms = dict[str, float]()
    for term, freed, price in (
        ("cores", before[0] - cores, settings.core_hour),
        ("memory", (before[1] - size) / GIB, settings.memory_gib_hour),
    ):
        worth = freed * price * hours * settings.size_returned_ratio
        terms[term] = worth if freed > 0.0 else -SHORTFALL_FACTOR * worth
    if cores < before[0] or size < before[1]:
        terms["job_cpu_lost"] = -_lost_if_moved(situation, sizes, row)
    effect = effect_of(terms, horizon, settings, spread=math.fsum(map(abs, terms.values())) / 2.0)
    peak = Evidence(
        name="cpu_peak_cores", value=rounded(table.cpu_peak_cores[row]), comparison="<" if cores < before[0] else ">=",
        threshold=rounded(before[0]), subject=name, holds=True, signal="usage",
    )  # fmt: skip
    text = (
        f"{name} requests {before[0]:.4g} cores and {before[1] / GIB:.4g} GiB a pod, and is expected to use "
        f"{table.cpu_peak_cores[row]:.4g} and {table.memory_peak_bytes[row] / GIB:.4g} at most "
        f"({table.rule[row]}); it should request {cores:.4g} and {size / GIB:.4g}"
    )
    action = ResizeAction(
        target=Target(kind=TargetKind.WORKLOAD, name=name),
        cpu_request_cores=rounded(cores) if cores != before[0] else None,
        memory_request_bytes=size if size != before[1] else None,
    )
    return Candidate(action, effect, (peak,), text)
