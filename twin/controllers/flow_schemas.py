"""FlowSchemas: whether the priority level that each refers to is there.

Source: kubernetes/kubernetes staging/src/k8s.io/apiserver pkg/util/flowcontrol (condition Dangling at 1.36). Nothing is
queued by them.
"""

from __future__ import annotations

from twin.changes import Change
from twin.controllers.conditions import set_condition
from twin.controllers.loop import ControllerLoop
from twin.records import Object, ObjectRecord
from twin.timestamps import rfc3339
from twin.world import World

FLOW_SCHEMAS, LEVELS = "flowschemas", "prioritylevelconfigurations"


class FlowSchemas:
    """Writes the condition Dangling of each FlowSchema."""

    def __init__(self, world: World, loop: ControllerLoop) -> None:
        """Look at what the loop is told of."""
        self._world = world
        self._loop = loop

    def follow(self, change: Change) -> None:
        """Have those looked at whose priority level has come or gone."""
        if change.type == "MODIFIED":
            return
        for record in self._world.store.records(FLOW_SCHEMAS):
            assert isinstance(record, ObjectRecord)
            if _level_of(record) == change.record.name:
                self._loop.note(FLOW_SCHEMAS, "", record.name)

    def reconcile(self, _: str, name: str) -> None:
        """Bring one's condition up to date."""
        store = self._world.store
        record = store.find(FLOW_SCHEMAS, "", name)
        if not isinstance(record, ObjectRecord):
            return
        status: Object = record.body.get("status") or {}
        known = status.get("conditions") or []
        level = _level_of(record)
        about = f'This FlowSchema references the PriorityLevelConfiguration object named "{level}"'
        found = ("False", "Found", f"{about} and it exists")
        if store.find(LEVELS, "", level) is None:
            found = ("True", "NotFound", f"{about} but there is no such object")
        conditions = set_condition(known, "Dangling", *found, rfc3339(self._world.now))
        if conditions != known:
            before = record.clone()
            record.body = {**record.body, "status": {**status, "conditions": conditions}}
            store.touch(FLOW_SCHEMAS, record, before)


def _level_of(schema: ObjectRecord) -> str:
    return str((schema.body["spec"].get("priorityLevelConfiguration") or {}).get("name", ""))
