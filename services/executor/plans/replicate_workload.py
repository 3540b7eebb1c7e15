"""replicate on a workload: so many replicas, and back to what its owner asked for.

A Deployment that nobody scales gets the number itself; where a HorizontalPodAutoscaler scales it, the
autoscaler's minimum is raised, never beyond its maximum. The owner's number is remembered on the object that
is written (`schemas.surge.OWNER_REPLICAS`), in the same patch: the scale subresource takes no annotations. Fewer
replicas are only ever those that we added; whoever else writes the number meanwhile has the last word. It
costs the capacity of the added replicas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from schemas.outcome import Operation, Verb
from schemas.reasons import Reason
from schemas.surge import OWNER_REPLICAS
from services.executor.facts import AutoscalerFacts, Facts, WorkloadFacts
from services.executor.plans.planned import OperationPlan, PlanRefusal, Surge, canonical_json
from services.executor.plans.scale_ups import ScaleUp, read_scale_up
from services.executor.settings import ExecutorSettings
from services.held import HELD
from services.rights.executor import AUTOSCALERS


@dataclass(frozen=True, slots=True)
class ReplicaField:
    """The number that decides how many replicas a workload has, and the object that holds it."""

    held_by: WorkloadFacts | AutoscalerFacts
    number: int
    """spec.replicas or spec.minReplicas, as it is now."""
    running: int
    """spec.replicas of the Deployment, as it is now."""
    raised: ScaleUp | None
    """Our raise that stands; None: none does."""

    @property
    def highest(self) -> int:
        """The replicas that it has, or is about to have."""
        return max(self.number, self.running)


def plan_replicas(
    workload_id: str, wanted: int, facts: Facts, settings: ExecutorSettings
) -> OperationPlan | PlanRefusal:
    """Give the target workload `wanted` replicas, as far as its owner lets us."""
    workload = facts.workload(workload_id)
    if workload is None:
        return PlanRefusal(reason=Reason.TARGET_GONE, text=f"there is no {workload_id}")
    unusable = _unusable(workload, facts.autoscaler, settings)
    if unusable is not None:
        return unusable
    remembered = read_scale_up((facts.autoscaler or workload).annotations)
    lever = _lever(workload, facts.autoscaler, remembered)
    name = f"{workload.namespace}/{workload.name}"
    up = wanted > lever.highest
    if remembered is not None and lever.raised is None:
        age = facts.time_seconds - remembered.time_seconds
        if not up or age < settings.ping_pong_seconds:
            text = f"we set {name} to {remembered.ours}, somebody else has set {lever.number} since"
            return PlanRefusal(reason=Reason.OWNER_CHANGED, text=text)
    if up:
        return _raise_replicas(workload, wanted, lever, facts)
    if lever.raised is not None and wanted < lever.number:
        return _give_back(workload, wanted, lever, lever.raised, facts)
    if lever.raised is None and wanted < lever.running:
        text = f"{name} has {lever.running} replicas as its owner asked for; we never raised it"
        return PlanRefusal(reason=Reason.NOT_RAISED, text=text)
    text = f"{name} has {lever.highest} replicas already"
    return PlanRefusal(reason=Reason.ALREADY_IN_STATE, text=text)


def has_standing_scale_up(workload: WorkloadFacts) -> bool:
    """Say whether a Deployment shows the number to which we raised it."""
    remembered = read_scale_up(workload.annotations)
    return remembered is not None and remembered.ours == workload.replicas


def _unusable(
    workload: WorkloadFacts, autoscaler: AutoscalerFacts | None, settings: ExecutorSettings
) -> PlanRefusal | None:
    name = f"{workload.namespace}/{workload.name}"
    if workload.namespace in settings.protected_namespaces:
        return PlanRefusal(reason=Reason.PROTECTED, text=f"{name} is in a protected namespace")
    if workload.protected or (autoscaler is not None and autoscaler.protected):
        text = f"{name} or what scales it is marked do-not-disrupt, or may not be written"
        return PlanRefusal(reason=Reason.PROTECTED, text=text)
    if HELD in workload.annotations:
        text = f"{name} is held back by an admission; admit gives it back"
        return PlanRefusal(reason=Reason.NO_WORKLOAD, text=text)
    if workload.replicas == 0:
        text = f"{name} has 0 replicas: its owner switched it off"
        return PlanRefusal(reason=Reason.NO_WORKLOAD, text=text)
    return None


def _lever(
    workload: WorkloadFacts, autoscaler: AutoscalerFacts | None, remembered: ScaleUp | None
) -> ReplicaField:
    held_by = autoscaler or workload
    number = workload.replicas if autoscaler is None else autoscaler.least_replicas
    stands = remembered is not None and remembered.ours == number
    return ReplicaField(held_by, number, workload.replicas, remembered if stands else None)


def _raise_replicas(
    workload: WorkloadFacts, wanted: int, lever: ReplicaField, facts: Facts
) -> OperationPlan | PlanRefusal:
    name = f"{workload.namespace}/{workload.name}"
    most, limit = wanted, ""
    reason = Reason.ALREADY_IN_STATE
    if facts.autoscaler is not None and facts.autoscaler.most_replicas < most:
        most, reason = facts.autoscaler.most_replicas, Reason.AUTOSCALER_MAXIMUM
        limit = f"its autoscaler's maximum is {most}"
    room = facts.quota_room
    if room is not None and lever.running + room.pods < most:
        most, reason = lever.running + room.pods, Reason.QUOTA_EXHAUSTED
        limit = room.text
    if most <= lever.highest:
        return PlanRefusal(reason=reason, text=f"{name} has {lever.highest} replicas: {limit}")
    former = lever.raised
    base = former.base if former is not None and lever.running <= former.ours else lever.running
    remembered = ScaleUp(
        owner=lever.number if former is None else former.owner,
        ours=most,
        base=base,
        time_seconds=int(facts.time_seconds),
    )
    operation = _write(workload, most, lever, remembered, f" ({limit})" if limit else "")
    surge = None  # an autoscaler's maximum is its owner's word on how far the workload may grow
    if facts.autoscaler is None:
        others = facts.other_added_pods
        surge = Surge(workload=workload.id, base=base, replicas=most, other_pods=others)
    return OperationPlan(
        operations=(operation,),
        text=operation.text,
        direction="up",
        workloads=(workload.id,),
        surge=surge,
    )


def _give_back(
    workload: WorkloadFacts, wanted: int, lever: ReplicaField, raised: ScaleUp, facts: Facts
) -> OperationPlan:
    """Take away replicas that we added: at most all of them, and then nothing of ours is left."""
    kept = wanted if wanted > max(raised.base, raised.owner) else raised.owner
    left = raised.model_copy(update={"ours": kept, "time_seconds": int(facts.time_seconds)})
    note = "" if kept == wanted else ", as its owner asked for"
    operation = _write(workload, kept, lever, left if kept > raised.owner else None, note)
    return OperationPlan(
        operations=(operation,),
        text=operation.text,
        direction="down",
        workloads=(workload.id,),
    )


def _write(
    workload: WorkloadFacts, number: int, lever: ReplicaField, remembered: ScaleUp | None, note: str
) -> Operation:
    """Return the merge patch of number and annotation, tied to the version that was read."""
    autoscaled = isinstance(lever.held_by, AutoscalerFacts)
    field = "minReplicas" if autoscaled else "replicas"
    text = None if remembered is None else canonical_json(remembered.model_dump())
    former_text = lever.held_by.annotations.get(OWNER_REPLICAS)
    what = "the autoscaler's minimum of " if autoscaled else ""
    name = f"{workload.namespace}/{workload.name}"
    return Operation(
        verb=Verb.PATCH,
        resource=AUTOSCALERS if autoscaled else "deployments",
        namespace=lever.held_by.namespace,
        name=lever.held_by.name,
        uid=lever.held_by.uid,
        resource_version=lever.held_by.resource_version,
        patch=canonical_json(_patch(text, field, number)),
        undo=canonical_json(_patch(former_text, field, lever.number)),
        text=f"scale {what}{name} from {lever.number} to {number} replicas{note}",
    )


def _patch(annotation: str | None, field: str, number: int) -> dict[str, Any]:
    return {"metadata": {"annotations": {OWNER_REPLICAS: annotation}}, "spec": {field: number}}
