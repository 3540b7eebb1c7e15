"""APIServices: whether the server behind each can be reached.

Source: kubernetes/kubernetes staging/src/k8s.io/kube-aggregator pkg/controllers/status (conditions at 1.36). The server
itself is not called from here, so one with an address counts as available.
"""

from __future__ import annotations

from twin.changes import Change
from twin.controllers.conditions import set_condition
from twin.controllers.loop import ControllerLoop
from twin.local_services import local_address
from twin.records import Object, ObjectRecord
from twin.timestamps import rfc3339
from twin.world import World

API_SERVICES = "apiservices"


class ApiServices:
    """Writes the condition Available of each APIService."""

    def __init__(self, world: World, loop: ControllerLoop) -> None:
        """Look at what the loop is told of."""
        self._world = world
        self._loop = loop

    def follow(self, change: Change) -> None:
        """Have those looked at whose Service or Endpoints changed."""
        for record in self._world.store.records(API_SERVICES):
            assert isinstance(record, ObjectRecord)
            service = record.body["spec"].get("service") or {}
            place = change.record.namespace, change.record.name
            if (service.get("namespace"), service.get("name")) == place:
                self._loop.note(API_SERVICES, "", record.name)

    def reconcile(self, namespace: str, name: str) -> None:
        """Bring one's condition up to date."""
        store = self._world.store
        record = store.find(API_SERVICES, namespace, name)
        if not isinstance(record, ObjectRecord):
            return
        status: Object = record.body.get("status") or {}
        known = status.get("conditions") or []
        found = self._available(record.body["spec"].get("service"))
        conditions = set_condition(known, "Available", *found, rfc3339(self._world.now))
        if conditions != known:
            before = record.clone()
            record.body = {**record.body, "status": {**status, "conditions": conditions}}
            store.touch(API_SERVICES, record, before)

    def _available(self, service: Object | None) -> tuple[str, str, str]:
        """Return status, reason and message."""
        if service is None:
            return "True", "Local", "Local APIServices are always available"
        namespace, name = service["namespace"], service["name"]
        place = f'service/{name} in "{namespace}"'
        if self._world.store.find("services", namespace, name) is None:
            return "False", "ServiceNotFound", f"{place} is not present"
        if local_address(self._world.store, namespace, name) is None:
            return "False", "EndpointsNotFound", f"cannot find endpointslices for {place}"
        return "True", "Passed", "all checks passed"
