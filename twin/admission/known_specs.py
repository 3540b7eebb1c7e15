"""Pod specs that were admitted before: controllers make many pods of one template.

Guarantee: what is skipped would have given the same spec again; it depends on the spec and on the
PriorityClasses and RuntimeClasses alone, and with LimitRanges in the cluster nothing is skipped.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from twin import admission
from twin.admission.gates import Gate
from twin.copying import copy_object
from twin.kinds import Kind
from twin.part import Part
from twin.records import Object

_KEPT = 4_096


class KnownSpecs(Part):
    """Admitted specs by the specs as they were submitted; neither is ever changed."""

    LEAVES = ("_known",)

    def __init__(self) -> None:
        self._known: dict[bytes, Object] = {}

    def admit(
        self,
        kind: Kind,
        namespace: str,
        obj: Object,
        gates: Sequence[Gate],
        *,
        fresh: bool,
        ranged: bool,
    ) -> None:
        """Default and check a new object in place; its spec is copied first unless it is `fresh`.

        `ranged` says that there are LimitRanges. Raises ApiError as gates and admission do.
        """
        mark = b"" if ranged or kind.resource != "pods" else _mark(obj)
        known = self._known.get(mark)
        if known is not None:
            obj["spec"] = known
            admission.admit_new(kind, obj, spec_known=True)
            return
        if not fresh and "spec" in obj:
            obj["spec"] = copy_object(obj["spec"])
        for gate in gates:
            gate.prepare(kind, namespace, obj)
        admission.admit_new(kind, obj)
        if mark:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[mark] = obj["spec"]

    def forget(self) -> None:
        """Look at every spec again: a PriorityClass or a RuntimeClass has changed."""
        self._known.clear()


def _mark(obj: Object) -> bytes:
    try:
        return orjson.dumps(obj.get("spec"))
    except orjson.JSONEncodeError:  # a client's number of more than 64 bits
        return b""
