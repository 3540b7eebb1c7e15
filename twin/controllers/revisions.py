"""ControllerRevisions: the history of templates that StatefulSets and DaemonSets keep.

`kubectl rollout history` and `rollout undo` read them: `data` is the strategic merge patch that
brings a template back. Source: kubernetes/kubernetes pkg/controller/history and
pkg/controller/{statefulset,daemon}.
"""

from __future__ import annotations

import orjson

from twin.controllers.pods_of import owner_reference
from twin.names import suffix
from twin.records import Object, ObjectRecord
from twin.world import World

HASH = "controller.kubernetes.io/hash"
POD_REVISION = "controller-revision-hash"
_RESOURCE = "controllerrevisions"


def revisions_of(world: World, owner: ObjectRecord) -> list[ObjectRecord]:
    """Return the owner's revisions, oldest number first."""
    dependents = world.store.dependents.get(owner.uid, {})
    revisions = [
        record
        for (resource, _), record in dependents.items()
        if resource == _RESOURCE and isinstance(record, ObjectRecord)
    ]
    return sorted(revisions, key=lambda record: (int(record.body["revision"]), record.name))


def current_revision(world: World, resource: str, owner: ObjectRecord) -> ObjectRecord:
    """Return the revision of the owner's template, made or renumbered as needed."""
    template = owner.body["spec"]["template"]
    data = {"spec": {"template": {**template, "$patch": "replace"}}}
    mark = suffix(orjson.dumps(data, option=orjson.OPT_SORT_KEYS), length=10)
    name = f"{owner.name}-{mark}"
    known = revisions_of(world, owner)
    newest = int(known[-1].body["revision"]) if known else 0
    for record in known:
        if record.name != name:
            continue
        if int(record.body["revision"]) < newest:
            before = record.clone()
            record.body = {**record.body, "revision": newest + 1}
            world.store.touch(_RESOURCE, record, before)
        return record
    labels = {**((template.get("metadata") or {}).get("labels") or {}), HASH: mark}
    labels[POD_REVISION] = mark
    obj = {
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": dict(owner.annotations),
            "ownerReferences": [owner_reference(resource, owner)],
        },
        "data": data,
        "revision": newest + 1,
    }
    made = world.store.create_record(_RESOURCE, owner.namespace, obj)
    assert isinstance(made, ObjectRecord)
    return made


def forget_revisions(world: World, owner: ObjectRecord, in_use: set[str]) -> None:
    """Delete the oldest revisions that are not in use, beyond spec.revisionHistoryLimit."""
    idle = [record for record in revisions_of(world, owner) if record.name not in in_use]
    surplus = len(idle) - int(owner.body["spec"].get("revisionHistoryLimit", 10))
    for record in idle[: max(0, surplus)]:
        world.store.delete(_RESOURCE, record.namespace, record.name)


def template_of(revision: ObjectRecord) -> Object:
    """Return the template that a revision holds."""
    template = revision.body["data"]["spec"]["template"]
    return {key: value for key, value in template.items() if key != "$patch"}
