"""Who pays for it when a cluster is short: waiting, held and removed demand by who asked for it.

Who asked is read from the object: namespace, whether it is a Job's or a Deployment's, and its PriorityClass.
"""

from __future__ import annotations

from collections import defaultdict

from lab.experiments.results import Burden
from twin.port.objects import ObjectRecord, PodRecord, Record

INTEGRALS = ("waiting_pod_hours", "held_pod_hours", "removed_pod_hours")
COUNTS = ("evictions", "jobs_dropped")
_HOUR = 3_600.0
_KINDS = {"ReplicaSet": "Deployments", "Deployment": "Deployments", "Job": "Jobs"}


def payer_of(record: Record, resource: str) -> str:
    """Return who asked for a pod, Job or Deployment, such as `openb Jobs workload-9`."""
    kind = {"jobs": "Jobs", "deployments": "Deployments"}.get(resource, "Pods")
    name = ""
    if isinstance(record, PodRecord):
        owner = next((one for one in record.owners if one.get("controller")), None)
        kind = _KINDS.get(str(owner["kind"]), f"{owner['kind']}s") if owner else kind
        name = str(record.shape.spec.get("priorityClassName") or "")
    elif isinstance(record, ObjectRecord):
        template = record.body["spec"].get("template") or {}
        name = str((template.get("spec") or {}).get("priorityClassName") or "")
    return " ".join(word for word in (record.namespace, kind, name) if word)


class Payers:
    """Pod-hours and counts by payer since the last `reset`; times are unix seconds of cluster time."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._pods: dict[tuple[str, str], int] = {}
        self._since: dict[tuple[str, str], float] = {}
        self._sums: defaultdict[tuple[str, str], float] = defaultdict(float)

    def change(self, payer: str, what: str, by: int, now: float) -> None:
        """Let so many pods more, or fewer, be waiting, held or removed (one of `INTEGRALS`) from now on."""
        key = payer, what
        before = self._pods.get(key, 0)
        if before:
            self._sums[key] += before * (now - self._since[key]) / _HOUR
        self._pods[key], self._since[key] = before + by, now

    def count(self, payer: str, what: str) -> None:
        """Count one more (one of `COUNTS`)."""
        self._sums[payer, what] += 1.0

    def reset(self, now: float) -> None:
        """Forget what was; what goes on goes on from now."""
        self._sums.clear()
        for key in self._since:
            self._since[key] = now

    def burdens(self, now: float) -> dict[str, Burden]:
        """Return what each payer bore, those with nothing left out, by name."""
        for payer, what in list(self._pods):
            self.change(payer, what, 0, now)
        found: dict[str, dict[str, float]] = {}
        for (payer, what), value in sorted(self._sums.items()):
            if value > 0.0:
                found.setdefault(payer, {})[what] = value
        return {payer: Burden(**values) for payer, values in found.items()}
