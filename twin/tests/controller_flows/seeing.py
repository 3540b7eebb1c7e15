"""What a flow leaves: statuses, pods, KubeEvents and the order of conditions, without what chance and time decide."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from twin.kinds import KINDS
from twin.tests.controller_flows.playing import Object, Player, World

KINDS_SEEN = (
    "deployments", "replicasets", "replicationcontrollers", "statefulsets", "daemonsets", "jobs", "cronjobs",
    "controllerrevisions", "poddisruptionbudgets", "persistentvolumeclaims", "endpointslices", "endpoints", "pods",
)  # fmt: skip
_TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_MINUTE = re.compile(r"(?<=-)\d{8}\b")
"""What the names of a CronJob's Jobs end in."""
_NOT_SEEN = frozenset({"lastTransitionTime", "lastUpdateTime", "lastProbeTime", "lastHeartbeatTime", "uid",
                       "resourceVersion"})  # fmt: skip
_HASHES = ("pod-template-hash", "controller-revision-hash", "controller.kubernetes.io/hash")
_DRAWN = re.compile(r"[bcdfghjklmnpqrstvwxz2456789]{5}")
_COMBINED = "(combined from similar events): "
"""What client-go says from the tenth event of a kind on; the twin keeps them apart."""
_SUFFIX = re.compile(r"\b([a-z][-a-z0-9#]*-)[bcdfghjklmnpqrstvwxz2456789]{5}\b")
_REFUSED = re.compile(r'(pods \\+")[^"\\]*')
_CHOSEN = re.compile("(Successfully assigned .* to )[^ ]*")
_UID = re.compile(r"(?<=uid: )[0-9a-f-]{36}")
_PREEMPTOR = re.compile(r"(by pod )[0-9a-f-]{36}")
_RIVALS = re.compile(r"(?<=multiple HPAs: \[)[^\]]*")
_TRIED = re.compile(
    "FailedGet|FailedCompute|AmbiguousSelector|"
    "Error creating|failed error|Delete Pod|FailedScheduling|UnmanagedPods|No matching pods|expected pods"
    "|ProvisioningFailed"
)
"""What is said at each try: how often is a matter of time. 1.36 deletes a pod again while its cache is behind."""
_TRIGGERED_AT = "endpoints.kubernetes.io/last-change-trigger-time"
_SCHEDULER = "default-scheduler"
_HEAD = ("apiVersion", "kind", "metadata")
_AUTHORITY = "kube-root-ca.crt"
_DESCRIPTION = "kubernetes.io/description"
_SOURCES = frozenset({"kubelet", _SCHEDULER})


def look(
    world: World,
    player: Player,
    since: str,
    *,
    placement: bool = False,
    besides: tuple[str, ...] = (),
    lives: bool = False,
) -> Object:
    """Return what is to see at the end of a flow, and how its conditions came.

    With `placement` also what the scheduler says, of each pod and in KubeEvents; with `lives` by which steps each
    object of the kinds `besides` the usual ones came and went.
    """
    unseen = _SOURCES - {_SCHEDULER} if placement else _SOURCES
    kinds = (*KINDS_SEEN, *besides)
    items = {
        name: _own(player, name, world.ask("GET", player.path(name))["items"]) for name in kinds
    }
    said = world.ask("GET", player.path("events"))["items"] + _events_elsewhere(world, player)
    history = world.histories({name: player.path(name) for name in kinds}, since)
    history = {
        name: [one for one in rows if _own(player, name, [one["object"]])]
        for name, rows in history.items()
    }
    every = [entry["object"] for name in kinds for entry in history[name]]
    names = _Names([*every, *(one for name in kinds for one in items[name])])
    seen: Object = {
        name: sorted(
            (_SEEN.get(name, _plain if name in besides else _object)(one) for one in items[name]),
            key=_text,
        )
        for name in kinds
        if name != "pods" and items[name]
    }
    seen["pods"] = [
        {**json.loads(text), "count": count}
        for text, count in sorted(
            Counter(_text(_pod(one, placement=placement)) for one in items["pods"]).items()
        )
    ]
    seen["events"] = _told((one for one in said if _source(one) not in unseen), names)
    order = list(_order(history))
    fine = {**seen, "conditions in order": order}
    if lives:
        fine["lives"] = {
            f"{name}/{one}": rows
            for name in (*besides, "pods")
            for one, rows in _lives(history[name]).items()
        }
    here = re.compile(rf"(?<![\w-]){player.namespace}(?![\w-])")
    text = here.sub("flow", names.plain(json.dumps(fine)))
    found: Object = json.loads(text)
    for name in kinds:
        if name in found:
            found[name].sort(key=_text)
    found["events"] = _merged(found["events"])
    return found


def _told(said: Iterable[Object], names: _Names) -> list[Object]:
    """Return what KubeEvents say, each with how often."""
    events = Counter(dict[str, int]())
    for one in said:
        row, sign = _net(_event(one))
        events[names.plain(_text(row))] += sign * (one.get("count") or 1)
    return [
        {**json.loads(text), "count": "n" if _TRIED.search(text) else count}
        for text, count in sorted(events.items())
    ]


def _merged(rows: list[Object]) -> list[Object]:
    """Return rows with the counts of equal ones added up."""
    counts: dict[str, Any] = {}
    for row in rows:
        key = _text({**row, "count": 0})
        known = counts.get(key, 0)
        counts[key] = row["count"] if "n" in (row["count"], known) else known + row["count"]
    return [{**json.loads(key), "count": count} for key, count in sorted(counts.items())]


def _object(one: Object) -> Object:
    meta = one["metadata"]
    seen: Object = {"name": meta["name"], "generation": meta.get("generation")}
    for field in ("annotations", "finalizers"):
        if meta.get(field):
            seen[field] = meta[field]
    for field in ("replicas", "suspend", "completions", "parallelism"):
        if field in (one.get("spec") or {}):
            seen[field] = one["spec"][field]
    if "revision" in one:
        seen["revision"] = one["revision"]
    seen["status"] = _timeless(one.get("status") or {})
    return seen


def _own(player: Player, resource: str, found: list[Object]) -> list[Object]:
    """Return the objects of a flow: those in its namespace, and those it made in none."""
    if KINDS[resource].namespaced:
        return found
    return [one for one in found if (resource, one["metadata"]["name"]) in player.made]


def _events_elsewhere(world: World, player: Player) -> list[Object]:
    """Return what is said of a flow's objects that are in no namespace."""
    kinds = {(KINDS[resource].kind, name) for resource, name in player.made}
    found = world.ask("GET", player.path("events", "", "default"))["items"]
    about = [(one["involvedObject"]["kind"], one["involvedObject"]["name"]) for one in found]
    return [one for one, who in zip(found, about, strict=True) if who in kinds]


def _plain(one: Object) -> Object:
    """Return an object as a whole, without what each cluster has otherwise."""
    meta, seen = one["metadata"], _timeless({k: v for k, v in one.items() if k not in _HEAD})
    for field in ("name", "generateName", "generation", "labels", "annotations", "finalizers"):
        if meta.get(field):
            seen[field] = meta[field]
    if meta.get("ownerReferences"):
        seen["owners"] = [_timeless(owner) for owner in meta["ownerReferences"]]
    if "deletionTimestamp" in meta:
        seen["deleting"] = meta.get("deletionGracePeriodSeconds")
    if meta["name"] == _AUTHORITY:
        _plain_authority(seen)
    return {k: v for k, v in seen.items() if v not in ({}, [], None)}


def _plain_authority(seen: Object) -> None:
    """Put words in the place of a certificate and of its description, which are each cluster's own."""
    data, notes = seen.get("data") or {}, seen.get("annotations") or {}
    data["ca.crt"] = data["ca.crt"] if data.get("ca.crt") == "mine" else "CERTIFICATE"
    if notes.get(_DESCRIPTION) not in (None, "mine"):
        notes[_DESCRIPTION] = "DESCRIPTION"


def _lives(entries: list[Object]) -> dict[str, list[str]]:
    """Return by which steps each object came and went: what of its end, finalizers or owners changed."""
    lives: dict[str, list[str]] = {}
    for entry in entries:
        meta = entry["object"]["metadata"]
        if meta["name"] == _AUTHORITY:
            continue  # it comes when it comes
        parts = ["is deleted"] if "deletionTimestamp" in meta else []
        parts += [f"waits for {name}" for name in meta.get("finalizers") or ()]
        parts += [f"of {owner['name']}" for owner in meta.get("ownerReferences") or ()]
        text = "gone" if entry["type"] == "DELETED" else ", ".join(parts)
        known = lives.setdefault(meta["name"], [])
        if not known or known[-1] != text:
            known.append(text)
    return lives


def _pod(one: Object, *, placement: bool) -> Object:
    meta = one["metadata"]
    seen = _placed(one) if placement else {}
    owners = [owner["kind"] for owner in meta.get("ownerReferences") or ()]
    return {
        "name": f"{meta['generateName']}*" if _is_drawn(meta) else meta["name"],
        "generateName": meta.get("generateName"),
        "phase": one["status"].get("phase"),
        "labels": {k: v for k, v in (meta.get("labels") or {}).items() if "uid" not in k},
        "annotations": meta.get("annotations") or {},
        "finalizers": meta.get("finalizers") or [],
        "owners": owners,
        "disrupted": [
            (entry["reason"], entry.get("message"))
            for entry in one["status"].get("conditions") or ()
            if entry["type"] == "DisruptionTarget"
        ],
        **seen,
    }


def _placed(one: Object) -> Object:
    """Return what the scheduler did with a pod, without the node where chance may have led it."""
    status = one["status"]
    said = [entry for entry in status.get("conditions") or () if entry["type"] == "PodScheduled"]
    nominated = status.get("nominatedNodeName")
    return {
        "scheduled": _timeless(said),
        "nominated": nominated,
        "bound": "nodeName" in one["spec"],
    }


def _is_drawn(meta: Object) -> bool:
    """True when the API server completed a name; a StatefulSet's pods have a prefix and names of their own."""
    prefix = meta.get("generateName")
    return bool(prefix) and _DRAWN.fullmatch(meta["name"][len(prefix) :]) is not None


def _slice(one: Object) -> Object:
    meta = one["metadata"]
    rows = [_endpoint(row) for row in one.get("endpoints") or ()]
    return {
        "labels": meta.get("labels"),
        "annotations": _notes(meta),
        "owners": _owners(meta),
        "addressType": one["addressType"],
        "ports": one.get("ports"),
        "endpoints": sorted(rows, key=_text),
    }


def _endpoint(row: Object) -> Object:
    """Return an endpoint with what stays in place of addresses and nodes that chance draws."""
    row = _timeless({**row, "addresses": len(row["addresses"])})
    return {**row, "nodeName": "nodeName" in row}


def _endpoints(one: Object) -> Object:
    meta = one["metadata"]
    seen = {"name": meta["name"], "labels": meta.get("labels"), "annotations": _notes(meta)}
    subsets = [
        {
            "ports": subset.get("ports"),
            "addresses": _addresses(subset, "addresses"),
            "notReadyAddresses": _addresses(subset, "notReadyAddresses"),
        }
        for subset in one.get("subsets") or ()
    ]
    return {**seen, "owners": _owners(meta), "subsets": sorted(subsets, key=_text)}


def _addresses(subset: Object, field: str) -> list[Object]:
    rows = [{**row, "ip": "IP", "nodeName": "nodeName" in row} for row in subset.get(field) or ()]
    return sorted((_timeless(row) for row in rows), key=_text)


def _notes(meta: Object) -> Object:
    """Return the annotations, but for a time that is there or not as looks fall into one second or two."""
    return {k: v for k, v in (meta.get("annotations") or {}).items() if k != _TRIGGERED_AT}


def _owners(meta: Object) -> list[str]:
    return [f"{owner['kind']}/{owner['name']}" for owner in meta.get("ownerReferences") or ()]


def _event(one: Object) -> Object:
    about = one["involvedObject"]
    return {
        "about": f"{about['kind']}/{about['name']}",
        "type": one["type"],
        "reason": one["reason"],
        "message": _CHOSEN.sub(r"\1NODE", one["message"].removeprefix(_COMBINED)),
        "source": _source(one),
    }


def _net(row: Object) -> tuple[Object, int]:
    """Return an event and whether it adds or takes away.

    1.36's ReplicationController makes its first pods twice while its cache is behind, and deletes those that are too
    many: only how many stay is no matter of time.
    """
    if row["source"] == "replication-controller" and row["reason"] == "SuccessfulDelete":
        made = {
            **row,
            "reason": "SuccessfulCreate",
            "message": row["message"].replace("Deleted", "Created"),
        }
        return made, -1
    return row, 1


def _source(event: Object) -> str:
    named = (event.get("source") or {}).get("component")
    return str(named or event.get("reportingComponent"))


def _order(history: dict[str, list[Object]]) -> Iterable[str]:
    """Yield each change of a condition, in order; those of pods are the kubelet's."""
    known: dict[tuple[str, str, str], str] = {}
    for resource, entries in history.items():
        if resource == "pods":
            continue
        for entry in entries:
            one = entry["object"]
            name = one["metadata"]["name"]
            for condition in (one.get("status") or {}).get("conditions") or ():
                key = (resource, name, condition["type"])
                text = f"{condition['status']} {condition.get('reason')}"
                if known.get(key) != text:
                    known[key] = text
                    yield f"{resource}/{name} {condition['type']} {text}"


class _Names:
    """Puts what stays in the place of names and hashes that chance draws."""

    def __init__(self, every: list[Object]) -> None:
        self._known: dict[str, str] = {}
        for one in every:
            meta = one["metadata"]
            for label in reversed(_HASHES):  # the hashes of revisions before those of their pods
                value = (meta.get("labels") or {}).get(label, "")
                mark = value.rpartition("-")[2]
                if mark and mark not in self._known:
                    self._known[mark] = (
                        f"#{1 + sum(v.startswith('#') for v in self._known.values())}"
                    )
            if _is_drawn(meta):
                self._known[meta["name"]] = f"{meta['generateName']}*"

    def plain(self, text: str) -> str:
        """Return a text with names and times that every cluster has."""
        for name, plain in sorted(self._known.items(), key=lambda pair: -len(pair[0])):
            text = text.replace(name, plain)
        for name, plain in self._known.items():
            if plain.startswith("#"):
                text = text.replace(name, plain)
        text = _SUFFIX.sub(r"\1*", _PREEMPTOR.sub(r"\1UID", text))
        text = _TIMES.sub(lambda found: "TIME" + found[2].removeprefix("Z"), text)
        text = _RIVALS.sub(lambda found: " ".join(sorted(found[0].split())), text)
        text = _UID.sub("UID", text)
        return _REFUSED.sub(r"\1*", _MINUTE.sub("MINUTE", text))


def _autoscaler(one: Object) -> Object:
    """Return an autoscaler without how much was used, which follows from when it looked."""
    seen = _plain(one)
    for metric in (seen.get("status") or {}).get("currentMetrics") or ():
        current = (metric.get("resource") or {}).get("current") or {}
        current.update(dict.fromkeys(current, "USED"))
    return seen


_SEEN = {"horizontalpodautoscalers": _autoscaler, "endpointslices": _slice, "endpoints": _endpoints}


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _timeless(v) for k, v in sorted(value.items()) if k not in _NOT_SEEN}
    if isinstance(value, list):
        return [_timeless(one) for one in value]
    return value


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
