"""What the cases of `cases/*.toml` may expect, each compared with what the API shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twin.tests.provisioners.case_runner import CaseRun

Object = dict[str, Any]
ZONE = "topology.kubernetes.io/zone"


def _nodes(run: CaseRun, wanted: dict[str, int]) -> list[str]:
    found = run.count_by(run.group_label)
    return [] if found == wanted else [f"{found}, not {wanted}"]


def _total(run: CaseRun, wanted: int) -> list[str]:
    found = len(run.rented())
    return [] if found == wanted else [f"{found}, not {wanted}"]


def _groups_used(run: CaseRun, wanted: int) -> list[str]:
    found = len(run.count_by(run.group_label))
    return [] if found == wanted else [f"{found}, not {wanted}"]


def _zones(run: CaseRun, wanted: dict[str, int]) -> list[str]:
    found = run.count_by(ZONE)
    return [] if found == wanted else [f"{found}, not {wanted}"]


def _pending(run: CaseRun, wanted: int) -> list[str]:
    pods = [one for one in run.items("pods") if not one["spec"].get("nodeName")]
    return [] if len(pods) == wanted else [f"{len(pods)}, not {wanted}"]


def _events(run: CaseRun, wanted: list[str]) -> list[str]:
    missing = [one for one in wanted if not run.seen(one)]
    near = sorted(event for event in run.events for one in missing if one.split(" ")[1] in event)[
        :4
    ]
    return [f"missing {one!r}" for one in missing] + ([f"near: {near}"] if near else [])


def _absent(run: CaseRun, unwanted: list[str]) -> list[str]:
    return [f"unexpected {one!r}" for one in unwanted if run.seen(one)]


def _claims(run: CaseRun, wanted: int) -> list[str]:
    found = len(run.items("nodeclaims"))
    return [] if found == wanted else [f"{found}, not {wanted}"]


def _claims_seen(run: CaseRun, wanted: int) -> list[str]:
    return [] if len(run.claims_seen) == wanted else [f"{len(run.claims_seen)}, not {wanted}"]


def _conditions(run: CaseRun, wanted: Object) -> list[str]:
    wrong = []
    for obj in run.items(wanted["of"].partition("/")[0]):
        found = {one["type"]: one["status"] for one in obj.get("status", {}).get("conditions", ())}
        for kind, status in wanted["are"].items():
            if found.get(kind) != status:
                wrong.append(f"{obj['metadata']['name']} has {kind}={found.get(kind)}")
    return wrong


def _true(run: CaseRun, wanted: Object) -> list[str]:
    rows = [
        row["status"]
        for obj in run.items(wanted["of"])
        for row in obj.get("status", {}).get("conditions", ())
        if row["type"] == wanted["condition"]
    ]
    found = rows.count("True")
    return [] if found == wanted["count"] else [f"{found} are true, not {wanted['count']}"]


def _labelled(run: CaseRun, wanted: dict[str, str]) -> list[str]:
    return [
        f"{node['metadata']['name']} has {key}={node['metadata']['labels'].get(key)}"
        for node in run.rented()
        for key, value in wanted.items()
        if node["metadata"]["labels"].get(key) != value
    ]


def _tainted(run: CaseRun, wanted: dict[str, str]) -> list[str]:
    wrong = []
    for node in run.rented():
        mark = wanted.get(node["metadata"]["labels"][run.group_label])
        found = {f"{one['key']}:{one['effect']}" for one in node["spec"].get("taints", ())}
        if mark and mark not in found:
            wrong.append(f"{node['metadata']['name']} has {sorted(found)}")
    return wrong


def _once(run: CaseRun, wanted: Object) -> list[str]:
    found = wanted["taint"] in run.marked_and_cordoned
    return [] if found else [f"no cordoned node ever had {wanted['taint']}"]


def _most_tainted(run: CaseRun, wanted: Object) -> list[str]:
    found = run.tainted[wanted["key"]]
    return [] if found == wanted["count"] else [f"{found} at once, not {wanted['count']}"]


def _text(run: CaseRun, wanted: Object) -> list[str]:
    resource, namespace, name = wanted["of"].split("/")
    obj = run.send("GET", resource, name=name, namespace=namespace)
    text = "\n".join(obj["data"].values())
    return [f"lacks {one!r}" for one in wanted["has"] if one not in text]


CHECKS: dict[str, Callable[[CaseRun, Any], list[str]]] = {
    "nodes": _nodes,
    "total": _total,
    "groups_used": _groups_used,
    "zones": _zones,
    "pending": _pending,
    "events": _events,
    "absent": _absent,
    "claims": _claims,
    "claims_seen": _claims_seen,
    "conditions": _conditions,
    "true": _true,
    "labelled": _labelled,
    "tainted": _tainted,
    "once": _once,
    "most_tainted": _most_tainted,
    "text": _text,
}
