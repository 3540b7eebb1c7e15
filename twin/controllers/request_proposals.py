"""What Pods, Object and External metrics of a HorizontalPodAutoscaler ask for.

They read the metrics of requests (`twin.serving.request_metrics`), as an adapter shows them: Pods metrics a
value for each pod, Object metrics that of a Service, External ones the sum over the Services that a selector
of the labels `service` and `namespace` finds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from inputs.quantities import parse_quantity
from twin.controllers.replica_calculator import NoProposal, Proposal, Rules, ScaledPod, by_average
from twin.controllers.total_metrics import by_share, by_value
from twin.records import Object
from twin.selectors import matches
from twin.serving.request_metrics import RequestMetrics

REQUEST_METRICS = ("Pods", "Object", "External")
Usage = Callable[[str], tuple[int, float] | None]
"""Pod uid to what it uses in milli-units, and the unix seconds of that; None without a value."""


class RequestProposals:
    """Proposals of metrics other than resources."""

    def __init__(self, metrics: RequestMetrics, rules: Rules, now: Callable[[], float]) -> None:
        self._metrics = metrics
        self._rules = rules
        self._now = now

    def usage_of(self, spec: Object) -> Usage:
        """Return what each pod shows of a metric of pods; of the others, which are of no pod, nothing."""
        if spec["type"] != "Pods":
            return _nothing
        metric, of_pod = spec["pods"]["metric"]["name"], self._metrics.of_pod

        def read(uid: str) -> tuple[int, float] | None:
            reading = of_pod(uid, metric)
            return None if reading is None else (reading.milli, reading.at)

        return read

    def propose(
        self, spec: Object, namespace: str, pods: Sequence[ScaledPod], current: int
    ) -> tuple[Proposal, str]:
        """Return the proposal of a metric and its name, `pods` being with their `usage_of` it; raises
        NoProposal.
        """
        if spec["type"] == "Pods":
            return self._of_pods(spec["pods"], pods, current)
        if spec["type"] == "Object":
            return self._of_object(spec["object"], namespace, pods, current)
        return self._of_external(spec["external"], namespace, pods, current)

    def _of_pods(
        self, spec: Object, pods: Sequence[ScaledPod], current: int
    ) -> tuple[Proposal, str]:
        metric, wanted = spec["metric"]["name"], spec["target"].get("averageValue")
        if wanted is None:
            raise NoProposal("invalid pods metric source: an averageValue target is required")
        if all(pod.usage is None for pod in pods):
            text = "no metrics returned from custom metrics API"
            raise NoProposal(f"unable to get metric {metric}: {text}")
        found = by_average(pods, current, _milli(wanted), self._now(), cpu=False, rules=self._rules)
        return found, f"pods metric {metric}"

    def _of_object(
        self, spec: Object, namespace: str, pods: Sequence[ScaledPod], current: int
    ) -> tuple[Proposal, str]:
        metric, described = spec["metric"]["name"], spec["describedObject"]
        reading = None
        if described.get("kind") == "Service":
            reading = self._metrics.of_service(namespace, described.get("name", ""), metric)
        if reading is None:
            where = f"{described.get('kind')} {namespace}/{described.get('name')}"
            text = "no metrics returned from custom metrics API"
            raise NoProposal(f"unable to get metric {metric}: {where}: {text}")
        found = self._of_total(reading.milli, spec["target"], pods, current)
        return found, f"{described['kind']} metric {metric}"

    def _of_external(
        self, spec: Object, namespace: str, pods: Sequence[ScaledPod], current: int
    ) -> tuple[Proposal, str]:
        metric = spec["metric"]["name"]
        selector = spec["metric"].get("selector") or {}
        found = self._metrics.of_labels(namespace, metric, lambda labels: matches(selector, labels))
        if not found:
            text = "no metrics returned from external metrics API"
            raise NoProposal(f"unable to get external metric {namespace}/{metric}: {text}")
        milli = sum(int(reading.milli) for _, reading in found)
        text = (
            f"external metric {metric}(&LabelSelector{{}})"
            if not selector
            else f"external metric {metric}"
        )
        return self._of_total(milli, spec["target"], pods, current), text

    def _of_total(
        self, milli: int, target: Object, pods: Sequence[ScaledPod], current: int
    ) -> Proposal:
        tolerance = self._rules.tolerance
        if target.get("averageValue") is not None:
            return by_share(milli, _milli(target["averageValue"]), current, tolerance)
        if target.get("value") is None:
            raise NoProposal("neither a value target nor an average value target was set")
        ready = sum(bool(pod.ready) and not pod.deleting and pod.phase == "Running" for pod in pods)
        return by_value(milli, _milli(target["value"]), current, ready, tolerance)


def _nothing(uid: str) -> None:
    del uid


def _milli(quantity: object) -> int:
    wanted = int(parse_quantity(str(quantity)) * 1_000)
    if wanted <= 0:
        raise NoProposal("the target has to be above 0")
    return wanted
