"""APIServices: the condition Available of each.

Source: kubernetes/kubernetes staging/src/k8s.io/kube-aggregator pkg/controllers/status (conditions at 1.36). The twin
hands no request on to another API server, so one that names a Service is never available.
"""

from __future__ import annotations

from twin.controllers.conditions import set_condition
from twin.records import Object, ObjectRecord
from twin.timestamps import rfc3339
from twin.world import World

API_SERVICES = "apiservices"
_LOCAL = "True", "Local", "Local APIServices are always available"
_ELSEWHERE = "False", "NotHandedOn", "the simulated cluster hands no requests on to other servers"


class ApiServices:
    """Writes the condition Available of each APIService."""

    def __init__(self, world: World) -> None:
        """Look at what the loop is told of."""
        self._world = world

    def reconcile(self, namespace: str, name: str) -> None:
        """Bring one's condition up to date."""
        store = self._world.store
        record = store.find(API_SERVICES, namespace, name)
        if not isinstance(record, ObjectRecord):
            return
        status: Object = record.body.get("status") or {}
        known = status.get("conditions") or []
        found = _LOCAL if record.body["spec"].get("service") is None else _ELSEWHERE
        conditions = set_condition(known, "Available", *found, rfc3339(self._world.now))
        if conditions != known:
            before = record.clone()
            record.body = {**record.body, "status": {**status, "conditions": conditions}}
            store.touch(API_SERVICES, record, before)
