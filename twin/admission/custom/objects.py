"""What a custom resource goes through before it is stored: defaults, then its schema and its rules."""

from __future__ import annotations

from typing import Any

from twin.admission import metadata
from twin.admission.custom import checking, rules
from twin.admission.findings import Findings
from twin.custom import pruning
from twin.custom.schema import Node
from twin.kinds import Kind

Object = dict[str, Any]


def admit(kind: Kind, obj: Object, old: Object | None, subresource: str | None) -> None:
    """Default and check a full object in place; `old` is what it replaces. Raises ApiError 422."""
    assert kind.custom is not None
    schema, findings = kind.custom.schema, Findings()
    head = obj.setdefault("metadata", {})
    if old is not None:
        metadata.check_unchanged(old["metadata"], head, findings)
    pruning.fill(obj, schema)
    _keep_other_part(obj, old, subresource, apart=kind.custom.has_status)
    pruning.fill(
        obj, schema
    )  # a new object's status has its defaults, though nothing of it can be written
    obj["apiVersion"], obj["kind"] = kind.api_version, kind.kind
    if subresource == "status":
        _check_status(obj, old or {}, schema, findings)
    else:
        metadata.check(head, findings)
        checking.check(obj, schema, findings, "", checking.NEW if old is None else old)
    checking.check_lists(obj, schema, findings, "")
    if not rules.note_blocked(schema, findings):
        rules.evaluate(obj, schema, findings, checking.NEW if old is None else old)
    findings.raise_if_any(kind, head.get("name", ""))


def admit_pruned(kind: Kind, obj: Object, old: Object | None, subresource: str | None) -> None:
    """As `admit`, for an object that was not read by its schema: what that has no place for goes first."""
    assert kind.custom is not None
    for _ in pruning.prune(obj, kind.custom.schema):
        pass
    admit(kind, obj, old, subresource)


def _keep_other_part(
    obj: Object, old: Object | None, subresource: str | None, *, apart: bool
) -> None:
    """Keep what a write cannot change: the status, or all but the status, where these are `apart`."""
    if not apart:
        return
    source = (old or {}) if subresource is None else obj
    others = obj if subresource is None else (old or {})
    status = {"status": source["status"]} if "status" in source else {}
    kept = {name: value for name, value in others.items() if name not in ("metadata", "status")}
    for name in [name for name in obj if name != "metadata"]:
        del obj[name]
    obj.update({**kept, **status})


def _check_status(obj: Object, old: Object, schema: Node, findings: Findings) -> None:
    """Check the status alone, whose sentences leave `status` out, as a real server's do."""
    node, found = schema.properties.get("status"), Findings()
    if node is None or "status" not in obj:
        return
    checking.check(obj["status"], node, found, "", old.get("status", checking.NEW))
    for path, sentence in found.causes:
        findings.add(path if path == "<nil>" else f"status.{path}".rstrip("."), sentence)
