"""HorizontalPodAutoscaler: replicas that follow a resource metric.

Each autoscaler is looked at every 15 s, first 15 s after it was made. It reads what metrics.k8s.io
would answer, with its lag and its gaps. The arithmetic is in `replica_calculator`, the speed limits
in `scaling_policy`. Without an autoscaler in the cluster nothing of this runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from inputs.quantities import parse_quantity
from twin.changes import Change
from twin.controllers.autoscaler_status import (
    Status,
    metric_failure,
    metric_status,
    shortage_reason,
)
from twin.controllers.pods_of import set_spec, set_status
from twin.controllers.replica_calculator import (
    NoProposal,
    Proposal,
    Rules,
    ScaledPod,
    by_average,
    by_utilization,
)
from twin.controllers.request_proposals import REQUEST_METRICS, RequestProposals, Usage
from twin.controllers.scaling_policy import (
    Ask,
    longest_period,
    longest_window,
    since,
    with_behavior,
    without_behavior,
)
from twin.kinds import KINDS
from twin.part import Part
from twin.records import Object, ObjectRecord, PodRecord, PodShape
from twin.selectors import matches, selector_text
from twin.serving.request_metrics import RequestMetrics
from twin.timestamps import rfc3339
from twin.world import World

_RESOURCE = "horizontalpodautoscalers"
_COMPONENT = "horizontal-pod-autoscaler"
_MEASURED = ("cpu", "memory")
_NOTHING = "no metrics returned from resource metrics API"
_SCALED = {KINDS[name].kind: name for name in ("deployments", "replicasets", "statefulsets")}
Sample = Callable[[str], tuple[float, float, float] | None]
"""Pod uid to (millicores, bytes, unix seconds of the scrape) as metrics.k8s.io shows it."""


class Autoscalers(Part):
    """Runs horizontalpodautoscalers."""

    KEEPS = ("_recommended", "_added", "_removed", "_selectors")

    def __init__(self, world: World, sample: Sample, requests: RequestMetrics) -> None:
        self._world = world
        self._sample = sample
        config = world.config.controllers
        self._rules = Rules(
            tolerance=config.hpa_tolerance,
            cpu_initialization_seconds=config.hpa_cpu_initialization_seconds,
            initial_readiness_seconds=config.hpa_initial_readiness_seconds,
        )
        self._requests = RequestProposals(requests, self._rules, lambda: world.now)
        self._recommended: dict[str, list[tuple[float, int]]] = {}  # by uid of the autoscaler
        self._added: dict[str, list[tuple[float, int]]] = {}
        self._removed: dict[str, list[tuple[float, int]]] = {}
        self._selectors: dict[str, tuple[str, str, Object | None]] = {}
        """Namespace, name and selector of each autoscaler that was looked at, by its uid."""
        world.clock.handle("hpa.sync", self._sync)

    def follow(self, change: Change) -> None:
        """Start to look after a new autoscaler; later edits wait for its next turn."""
        if change.type == "ADDED":
            self._plan(change.record.uid, change.record.namespace, change.record.name)

    def _plan(self, uid: str, namespace: str, name: str) -> None:
        period = self._world.config.controllers.hpa_sync_seconds
        self._world.clock.after(period, "hpa.sync", uid, namespace, name)

    def _sync(self, uid: str, namespace: str, name: str) -> None:
        record = self._world.store.find(_RESOURCE, namespace, name)
        if not isinstance(record, ObjectRecord) or record.uid != uid:
            self._selectors.pop(uid, None)
            for past in (self._recommended, self._added, self._removed):
                past.pop(uid, None)
            return
        self._plan(uid, namespace, name)
        status = Status(record.body.get("status") or {}, self._world.now)
        self._reconcile(record, status)
        set_status(self._world, _RESOURCE, record, status.as_object())

    # ---- one look at one autoscaler

    def _reconcile(self, record: ObjectRecord, status: Status) -> None:
        spec = record.body["spec"]
        found = self._target(record)
        if isinstance(found, str):
            text = f"the HPA controller was unable to get the target's current scale: {found}"
            self._report(record, "FailedGetScale", found)
            status.condition("AbleToScale", False, "FailedGetScale", text)
            return
        resource, target = found
        text = "the HPA controller was able to get the target's current scale"
        status.condition("AbleToScale", True, "SucceededGetScale", text)
        current = int(target.body["spec"]["replicas"])
        self._recommended.setdefault(record.uid, [(self._world.now, current)])
        least, most = int(spec.get("minReplicas", 1)), int(spec["maxReplicas"])
        status.counts(current=current)
        if not current and least:
            text = "scaling is disabled since the replica count of the target is zero"
            status.condition("ScalingActive", False, "ScalingDisabled", text)
            status.counts(current=current, desired=0)
        elif current > most:
            why = "Current number of replicas above Spec.MaxReplicas"
            self._rescale(record, status, resource, target, most, why)
        elif current < least:
            why = "Current number of replicas below Spec.MinReplicas"
            self._rescale(record, status, resource, target, least, why)
        else:
            self._follow_metrics(record, status, resource, target)

    def _follow_metrics(
        self, record: ObjectRecord, status: Status, resource: str, target: ObjectRecord
    ) -> None:
        spec, current = record.body["spec"], int(target.body["spec"]["replicas"])
        if self._is_ambiguous(record, status, target):
            return
        found = self._best(record, status, target, current)
        if found is None:
            return
        desired, metric = found
        ask = Ask(self._world.now, current, desired, int(spec.get("minReplicas", 1)),
                  int(spec["maxReplicas"]))  # fmt: skip
        replicas = self._limit_replicas(record, status, ask)
        if replicas == current:
            status.counts(current=current, desired=current)
            return
        above = desired > current
        why = f"{metric} above target" if above else "All metrics below target"
        self._rescale(record, status, resource, target, replicas, why)

    def _is_ambiguous(self, record: ObjectRecord, status: Status, target: ObjectRecord) -> bool:
        """Say in a status that other autoscalers that were looked at before scale the same pods."""
        selector = target.body["spec"].get("selector")
        self._selectors[record.uid] = (record.namespace, record.name, selector)
        pod = next(iter(self._world.select_pods(record.namespace, selector)), None)
        rivals = sorted(
            f"{namespace}/{name}"
            for namespace, name, other in self._selectors.values()
            if pod is not None and namespace == record.namespace and matches(other, pod.labels)
        )
        if len(rivals) < 2:
            return False
        who = f"pods by selector {selector_text(selector or {})}"
        text = f"{who} are controlled by multiple HPAs: [{' '.join(rivals)}]"
        self._report(record, "AmbiguousSelector", text, warns=True)
        status.metrics(None)
        status.condition("ScalingActive", False, "AmbiguousSelector", text)
        self._report(record, "FailedComputeMetricsReplicas", text)
        return True

    def _limit_replicas(self, record: ObjectRecord, status: Status, ask: Ask) -> int:
        behavior, uid = record.body["spec"].get("behavior"), record.uid
        window = self._world.config.controllers.hpa_down_window_seconds
        past = self._recommended[uid]
        if behavior is None:
            answer = without_behavior(ask, past, window)
        else:
            answer = with_behavior(
                ask, behavior, past, self._added.get(uid, ()), self._removed.get(uid, ()), window
            )
        horizon = ask.now - longest_window(behavior, window)
        self._recommended[uid] = [*since(past, horizon), (ask.now, ask.desired)]
        status.condition("AbleToScale", *answer.able)
        status.condition("ScalingLimited", *answer.limited)
        return answer.replicas

    def _rescale(
        self, record: ObjectRecord, status: Status, resource: str, target: ObjectRecord,
        replicas: int, why: str,
    ) -> None:  # fmt: skip
        current = int(target.body["spec"]["replicas"])
        set_spec(self._world, resource, target, replicas=replicas)
        text = f"the HPA controller was able to update the target scale to {replicas}"
        status.condition("AbleToScale", True, "SucceededRescale", text)
        status.counts(current=current, desired=replicas)
        status.note_rescale(rfc3339(self._world.now))
        self._report(record, "SuccessfulRescale", f"New size: {replicas}; reason: {why}")
        behavior = record.body["spec"].get("behavior")
        if behavior is not None:
            self._note_scaling(record.uid, behavior, replicas - current)

    def _note_scaling(self, uid: str, behavior: Object, change: int) -> None:
        now = self._world.now
        past = self._added if change > 0 else self._removed
        rules = behavior["scaleUp" if change > 0 else "scaleDown"]
        recent = [entry for entry in past.get(uid, ()) if entry[0] >= now - longest_period(rules)]
        past[uid] = [*recent, (now, abs(change))]

    # ---- metrics

    def _best(
        self, record: ObjectRecord, status: Status, target: ObjectRecord, current: int
    ) -> tuple[int, str] | None:
        """Return the highest proposal and its metric, None when there is none to act on."""
        specs = record.body["spec"]["metrics"]
        failures: list[tuple[str, str, str]] = []
        best: tuple[int, str] | None = None
        shown: list[Object] = []
        for spec in specs:
            try:
                proposal, name = self._proposal(spec, record.namespace, target, current)
            except NoProposal as error:
                failures.append(
                    (shortage_reason(spec), str(error), metric_failure(spec, str(error)))
                )
                self._report(record, *failures[-1][:2])
                shown.append({"type": ""})
                continue
            shown.append(metric_status(spec, proposal))
            if best is None or proposal.replicas > best[0]:
                best = (proposal.replicas, name)
        status.metrics(shown)
        if best is None or (failures and best[0] < current):
            none = ("InvalidMetricSourceType", "no metrics", "no metrics")
            reason, why, whole = failures[0] if failures else none
            text = f"the HPA was unable to compute the replica count: {why}"
            status.condition("ScalingActive", False, reason, text)
            text = f"invalid metrics ({len(failures)} invalid out of {len(specs)}), "
            self._report(record, "FailedComputeMetricsReplicas", f"{text}first error is: {whole}")
            return None
        text = f"the HPA was able to successfully calculate a replica count from {best[1]}"
        status.condition("ScalingActive", True, "ValidMetricFound", text)
        return best

    def _proposal(
        self, spec: Object, namespace: str, target: ObjectRecord, current: int
    ) -> tuple[Proposal, str]:
        if spec["type"] in REQUEST_METRICS:
            pods = self._pods(namespace, target, self._requests.usage_of(spec))
            return self._requests.propose(spec, namespace, pods, current)
        if spec["type"] != "Resource":
            raise NoProposal(f'unknown metric source type "{spec["type"]}"')
        name, goal = spec["resource"]["name"], spec["resource"]["target"]
        cpu, now = name == "cpu", self._world.now
        what = "usage" if "averageValue" in goal else "utilization"
        pods = self._pods(namespace, target, self._used_cpu if cpu else self._used_memory, name)
        try:
            if name not in _MEASURED:
                raise NoProposal(f"unable to get metrics for resource {name}: {_NOTHING}")
            if "averageValue" in goal:
                average = int(parse_quantity(goal["averageValue"]) * 1000)
                found = by_average(pods, current, average, now, cpu=cpu, rules=self._rules)
                return found, f"{name} resource"
            percent = goal["averageUtilization"]
            found = by_utilization(pods, current, percent, now, cpu=cpu, rules=self._rules)
        except NoProposal as error:
            raise NoProposal(f"failed to get {name} {what}: {error}") from error
        return found, f"{name} resource utilization (percentage of request)"

    def _pods(
        self, namespace: str, target: ObjectRecord, usage_of: Usage, requested: str = ""
    ) -> list[ScaledPod]:
        """Return the target's pods with their usage and what they request of a resource, if one is named."""
        selector = target.body["spec"].get("selector")
        return [
            self._scaled_pod(
                pod, _request(pod.shape, requested) if requested else None, usage_of(pod.uid)
            )
            for pod in self._world.select_pods(namespace, selector)
        ]

    def _used_cpu(self, uid: str) -> tuple[int, float] | None:
        sample = self._sample(uid)
        return None if sample is None else (int(sample[0]), sample[2])

    def _used_memory(self, uid: str) -> tuple[int, float] | None:
        sample = self._sample(uid)
        return None if sample is None else (int(sample[1]) * 1000, sample[2])

    def _scaled_pod(
        self, pod: PodRecord, request: int | None, measured: tuple[int, float] | None
    ) -> ScaledPod:
        usage, at = (None, 0.0) if measured is None else measured
        started = pod.started_at is not None
        return ScaledPod(
            name=pod.name,
            phase=pod.phase,
            deleting=pod.deletion_at is not None,
            ready=pod.ready if started else None,
            ready_since=max(pod.ready_at, pod.started_at or 0.0),
            started_at=pod.started_at,
            request=request,
            usage=usage,
            measured_at=at,
            uid=pod.uid,
            window_seconds=self._world.config.scrape_seconds,
        )

    # ---- small things

    def _target(self, record: ObjectRecord) -> tuple[str, ObjectRecord] | str:
        """Return (resource, record) of what is scaled, or why it cannot be had."""
        reference = record.body["spec"]["scaleTargetRef"]
        group = reference.get("apiVersion", "").rpartition("/")[0]
        resource = _SCALED.get(reference["kind"])
        known = any(
            kind.kind == reference["kind"] and kind.group == group for kind in KINDS.values()
        )
        if known and (resource is None or KINDS[resource].group != group):
            return "the server could not find the requested resource"
        if resource is None or KINDS[resource].group != group:
            return f'no matches for kind "{reference["kind"]}" in group "{group}"'
        scaled = self._world.store.find(resource, record.namespace, reference["name"])
        if not isinstance(scaled, ObjectRecord):
            return f'{resource}.{group} "{reference["name"]}" not found'
        return resource, scaled

    def _report(self, record: ObjectRecord, reason: str, text: str, *, warns: bool = False) -> None:
        kind = "HorizontalPodAutoscaler"
        self._world.reporter.report(record, kind, reason, text, _COMPONENT, warns=warns)


@lru_cache(maxsize=4_096)  # pods with equal specs share a shape, which never changes
def _request(shape: PodShape, resource: str) -> int | None:
    """Return what a pod requests in milli-units; None when a container requests nothing."""
    total = 0
    for container in shape.spec["containers"]:
        amount = ((container.get("resources") or {}).get("requests") or {}).get(resource)
        if amount is None:
            return None
        total += int(parse_quantity(amount) * 1000)
    return total
