"""Facts of plans about each object of the API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from services.executor.facts import AutoscalerFacts, NodeFacts, PodFacts, WorkloadFacts
from services.executor.reading.marked_objects import MarkedPod
from services.kept_results import kept
from services.kube_budgets import PodDisruptionBudget, covering
from services.kube_objects import Meta, Node, parse_time
from services.kube_workloads import Autoscaler, Deployment, Job
from services.pod_requests import effective_request
from services.protection import do_not_disrupt_mark

SCALE_DOWN_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
"""Annotation by which Cluster Autoscaler leaves a node alone."""
OWN = "foresail.dev/"
"""What our own annotations begin with."""


@kept
def deployment_facts(deployment: Deployment) -> WorkloadFacts:
    """Return what plans look at of a Deployment."""
    spec = deployment.spec
    facts = _workload_facts("Deployment", deployment.metadata, spec.replicas, suspended=False)
    return facts.model_copy(update={"ready": max(0, deployment.status.ready_replicas)})


@kept
def stateful_set_facts(stateful_set: Deployment) -> WorkloadFacts:
    """Return what plans look at of a StatefulSet, whose fields read here are a Deployment's."""
    spec, status = stateful_set.spec, stateful_set.status
    facts = _workload_facts("StatefulSet", stateful_set.metadata, spec.replicas, suspended=False)
    return facts.model_copy(update={"ready": max(0, status.ready_replicas)})


@kept
def job_facts(job: Job) -> WorkloadFacts:
    """Return what plans look at of a Job."""
    spec = job.spec
    return _workload_facts("Job", job.metadata, spec.parallelism, suspended=spec.suspend)


def _workload_facts(kind: str, metadata: Meta, replicas: int, *, suspended: bool) -> WorkloadFacts:
    return WorkloadFacts(
        id=f"{metadata.namespace}/{kind}/{metadata.name}",
        kind=kind,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        replicas=replicas,
        suspended=suspended,
        annotations=_own_annotations(metadata.annotations),
        protected=_is_protected(metadata),
        created_time_seconds=parse_time(metadata.creation_timestamp)
        if metadata.creation_timestamp
        else 0.0,
    )


def pod_facts(pod: MarkedPod, budgets: Iterable[PodDisruptionBudget] = ()) -> PodFacts:
    """Return what plans look at of a pod."""
    created = pod.metadata.creation_timestamp
    found = covering(budgets, pod.metadata.namespace, pod.metadata.labels)
    allowed = found[0].status.disruptions_allowed if len(found) == 1 else 0
    return PodFacts(
        namespace=pod.metadata.namespace,
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        workload=pod.workload(),
        cpu_request_cores=effective_request(pod).cpu_cores,
        priority=pod.spec.priority,
        daemon=pod.daemon,
        pending=pod.status.phase == "Pending",
        protected=_is_protected(pod.metadata),
        created_time_seconds=parse_time(created) if created else 0.0,
        disruptions_allowed=max(0, allowed) if found else None,
        budgets=tuple(budget.metadata.name for budget in found),
    )


def _is_protected(metadata: Meta) -> bool:
    """Say whether an object itself asks to be left alone."""
    return bool(do_not_disrupt_mark(metadata.annotations, metadata.labels))


def node_facts(node: Node) -> NodeFacts:
    """Return what plans look at of a node."""
    return NodeFacts(
        name=node.metadata.name,
        uid=node.metadata.uid,
        resource_version=node.metadata.resource_version,
        ready=node.ready,
        unschedulable=node.spec.unschedulable,
        protected=_is_protected(node.metadata),
        annotations=_own_annotations(node.metadata.annotations),
        kept_by_autoscaler=node.metadata.annotations.get(SCALE_DOWN_DISABLED) == "true",
        taints=tuple(
            {
                name: value
                for name, value in (
                    ("key", taint.key),
                    ("value", taint.value),
                    ("effect", taint.effect),
                )
                if value
            }
            for taint in node.spec.taints
        ),
    )


def autoscaler_facts(autoscaler: Autoscaler) -> AutoscalerFacts:
    """Return what plans look at of a HorizontalPodAutoscaler."""
    metadata, spec = autoscaler.metadata, autoscaler.spec
    return AutoscalerFacts(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        least_replicas=spec.min_replicas,
        most_replicas=spec.max_replicas,
        annotations=_own_annotations(metadata.annotations),
        protected=_is_protected(metadata),
    )


def _own_annotations(annotations: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in annotations.items() if name.startswith(OWN)}
