"""The status of a HorizontalPodAutoscaler while one look at it goes on."""

from __future__ import annotations

from twin.controllers.replica_calculator import Proposal
from twin.records import Object
from twin.timestamps import rfc3339


class Status:
    """A copy of the stored status that is changed and then written back."""

    def __init__(self, stored: Object, now: float) -> None:
        self._stored = stored
        self._conditions: list[Object] = list(stored.get("conditions") or [])
        self._metrics: list[Object] | None = stored.get("currentMetrics")
        self._current = int(stored.get("currentReplicas", 0))
        self._desired = int(stored.get("desiredReplicas", 0))
        self._scaled_at = stored.get("lastScaleTime")
        self._now = now

    def condition(self, kind: str, truth: bool, reason: str, message: str) -> None:
        """Set a condition; its transition time moves with its truth only."""
        status = "True" if truth else "False"
        at, place = "", len(self._conditions)
        for number, known in enumerate(self._conditions):
            if known["type"] == kind:
                place = number
                at = known["lastTransitionTime"] if known["status"] == status else ""
                break
        self._conditions[place : place + 1] = [
            {
                "type": kind,
                "status": status,
                "lastTransitionTime": at or rfc3339(self._now),
                "reason": reason,
                "message": message,
            }
        ]

    def counts(self, *, current: int, desired: int | None = None) -> None:
        """Set the replicas that are, and those that are wanted."""
        self._current = current
        self._desired = self._desired if desired is None else desired

    def note_rescale(self, at: str) -> None:
        """Note a rescale."""
        self._scaled_at = at

    def metrics(self, shown: list[Object] | None) -> None:
        """Set what the metrics read; None when they were not asked."""
        self._metrics = shown

    def as_object(self) -> Object:
        """Return the status as the API shows it."""
        status: Object = {
            **({"currentReplicas": self._current} if self._current else {}),
            "desiredReplicas": self._desired,
            "currentMetrics": self._metrics,
            "conditions": self._conditions,
        }
        if self._scaled_at is not None:
            status["lastScaleTime"] = self._scaled_at
        return status


def metric_status(spec: Object, proposal: Proposal) -> Object:
    """Return the `currentMetrics` entry of a metric."""
    if proposal.value is None:
        current: Object = {"averageValue": milli_text(proposal.average)}
    else:
        current = {"value": milli_text(proposal.value)}
    if proposal.utilization_percent is not None:
        current["averageUtilization"] = proposal.utilization_percent
    field = spec["type"].lower()
    head = {name: part for name, part in spec[field].items() if name != "target"}
    return {"type": spec["type"], field: {**head, "current": current}}


def shortage_reason(spec: Object) -> str:
    """Return the reason of the condition and the KubeEvent when a metric says nothing."""
    return f"FailedGet{spec['type']}Metric"


def milli_text(amount: int) -> str:
    """Return a milli-amount as a canonical decimal quantity."""
    whole, rest = divmod(amount, 1000)
    if rest:
        return f"{amount}m"
    for unit, factor in (("G", 10**9), ("M", 10**6), ("k", 1000)):
        if whole and whole % factor == 0:
            return f"{whole // factor}{unit}"
    return str(whole)


def metric_failure(spec: Object, why: str) -> str:
    """Return what is said of a metric that says nothing when replicas are to be computed."""
    kind = spec["type"]
    named = {"Resource": ("resource", "name"), "External": ("external", "metric")}
    if kind not in named:
        return f"failed to get {kind.lower()} metric value: {why}"
    field, key = named[kind]
    about = spec[field][key]
    name = about["name"] if isinstance(about, dict) else about
    return f"failed to get {name} {field} metric value: {why}"
