"""RuntimeClasses as pods meet them: unknown ones are refused, known ones add what running in them costs.

Upstream: plugin/pkg/admission/runtimeclass/admission.go of kubernetes/kubernetes.
"""

from __future__ import annotations

from inputs.quantities import parse_quantity
from twin.errors import ApiError, forbidden
from twin.kinds import Kind
from twin.records import Object, ObjectRecord
from twin.store import Store


class RuntimeClasses:
    """Fills in what a pod's RuntimeClass says, before anything else looks at the pod."""

    def __init__(self, store: Store) -> None:
        """Look classes up in `store`."""
        self._store = store

    def prepare(self, kind: Kind, namespace: str, obj: Object) -> None:
        """Complete a new pod; raises ApiError 403."""
        del namespace
        if kind.resource == "pods":
            self._complete(obj.setdefault("spec", {}), obj["metadata"].get("name") or "")

    def charge(
        self, kind: Kind, namespace: str, obj: Object, old: Object | None, *, dry_run: bool
    ) -> None:
        """Let everything pass."""

    def _complete(self, spec: Object, pod: str) -> None:
        name, stated = spec.get("runtimeClassName"), spec.get("overhead")
        if not name:
            if stated:
                why = "Pod Overhead set without corresponding RuntimeClass defined Overhead"
                raise _refusal(pod, f"pod rejected: {why}")
            return
        record = self._store.find("runtimeclasses", "", str(name))
        if not isinstance(record, ObjectRecord):
            raise _refusal(pod, f'pod rejected: RuntimeClass "{name}" not found')
        overhead = (record.body.get("overhead") or {}).get("podFixed") or {}
        if stated and not _equal(stated, overhead):
            why = "Pod's Overhead doesn't match RuntimeClass's defined Overhead"
            raise _refusal(pod, f"pod rejected: {why}")
        if overhead:
            spec["overhead"] = dict(overhead)
        _schedule(spec, record.body.get("scheduling") or {}, pod)


def _schedule(spec: Object, scheduling: Object, pod: str) -> None:
    """Add where pods of a class may run."""
    chosen = dict(spec.get("nodeSelector") or {})
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if chosen.setdefault(key, value) != value:
            raise _refusal(
                pod,
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {chosen[key]}",
            )
    if chosen:
        spec["nodeSelector"] = chosen
    known = list(spec.get("tolerations") or ())
    added = [each for each in scheduling.get("tolerations") or () if each not in known]
    if added:
        spec["tolerations"] = [*known, *added]


def _equal(amounts: Object, others: Object) -> bool:
    return amounts.keys() == others.keys() and all(
        parse_quantity(amounts[name]) == parse_quantity(others[name]) for name in amounts
    )


def _refusal(pod: str, why: str) -> ApiError:
    return forbidden("pods", pod, why)
