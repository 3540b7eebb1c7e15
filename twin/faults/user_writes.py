"""What a user of a scenario writes to the API: one object, created, changed or deleted."""

from __future__ import annotations

from twin.copying import copy_object
from twin.faults.scenario import UserWrite
from twin.merging import merge_patch
from twin.store import Store


def write_as_user(store: Store, write: UserWrite) -> None:
    """Write one object; raises ApiError where the API refuses it."""
    resource, place = write.resource, (write.namespace, write.name)
    if write.verb == "delete":
        store.delete(resource, *place)
        return
    if write.verb == "patch":
        merged = merge_patch(copy_object(store.get(resource, *place)), write.object)
        store.replace(resource, *place, merged)
        return
    made = copy_object(write.object)
    made.setdefault("metadata", {})["name"] = write.name
    store.create(resource, write.namespace, made)
