"""What a flow leaves: statuses, pods, KubeEvents and the order of conditions, without what chance and time decide."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from tests.twin.controller_flows.playing import Object, Player, World

KINDS_SEEN = (
    "deployments", "replicasets", "replicationcontrollers", "statefulsets", "daemonsets", "jobs", "cronjobs",
    "controllerrevisions", "poddisruptionbudgets", "persistentvolumeclaims", "pods",
)  # fmt: skip
_TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_NOT_SEEN = frozenset({"lastTransitionTime", "lastUpdateTime", "lastProbeTime", "lastHeartbeatTime", "uid",
                       "resourceVersion"})  # fmt: skip
_HASHES = ("pod-template-hash", "controller-revision-hash", "controller.kubernetes.io/hash")
_DRAWN = re.compile(r"[bcdfghjklmnpqrstvwxz2456789]{5}")
_COMBINED = "(combined from similar events): "
"""What client-go says from the tenth event of a kind on; the twin keeps them apart."""
_SUFFIX = re.compile(r"\b([a-z][-a-z0-9#]*-)[bcdfghjklmnpqrstvwxz2456789]{5}\b")
_REFUSED = re.compile(r'(pods \\+")[^"\\]*')
_TRIED = re.compile("Error creating|failed error|Delete Pod")
"""What is said at each try: how often is a matter of time. 1.36 deletes a pod again while its cache is behind."""
_SOURCES = frozenset({"kubelet", "default-scheduler"})


def look(world: World, player: Player, since: str) -> Object:
    """Return what is to see at the end of a flow, and how its conditions came."""
    history = {name: world.history(player.path(name), since) for name in KINDS_SEEN}
    every = [entry["object"] for name in KINDS_SEEN for entry in history[name]]
    items = {name: world.ask("GET", player.path(name))["items"] for name in KINDS_SEEN}
    names = _Names([*every, *(one for name in KINDS_SEEN for one in items[name])])
    said = world.ask("GET", player.path("events"))["items"]
    seen: Object = {
        name: sorted((_object(one) for one in items[name]), key=_text)
        for name in KINDS_SEEN
        if name != "pods" and items[name]
    }
    seen["pods"] = [
        {**json.loads(text), "count": count}
        for text, count in sorted(Counter(_text(_pod(one)) for one in items["pods"]).items())
    ]
    events = Counter(dict[str, int]())
    for one in said:
        if _source(one) not in _SOURCES:
            events[names.plain(_text(_event(one)))] += one.get("count") or 1
    seen["events"] = [
        {**json.loads(text), "count": "n" if _TRIED.search(text) else count}
        for text, count in sorted(events.items())
    ]
    order = list(_order(history))
    fine = {**seen, "conditions in order": order}
    text = names.plain(json.dumps(fine)).replace(f"{player.namespace}/", "flow/")
    found: Object = json.loads(text)
    for name in KINDS_SEEN:
        if name in found:
            found[name].sort(key=_text)
    found["events"] = _merged(found["events"])
    return found


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


def _pod(one: Object) -> Object:
    meta = one["metadata"]
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
    }


def _is_drawn(meta: Object) -> bool:
    """True when the API server completed a name; a StatefulSet's pods have a prefix and names of their own."""
    prefix = meta.get("generateName")
    return bool(prefix) and _DRAWN.fullmatch(meta["name"][len(prefix) :]) is not None


def _event(one: Object) -> Object:
    about = one["involvedObject"]
    return {
        "about": f"{about['kind']}/{about['name']}",
        "type": one["type"],
        "reason": one["reason"],
        "message": one["message"].removeprefix(_COMBINED),
        "source": _source(one),
    }


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
        text = _SUFFIX.sub(r"\1*", text)
        return _REFUSED.sub(r"\1*", _TIMES.sub("TIME", text))


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _timeless(v) for k, v in sorted(value.items()) if k not in _NOT_SEEN}
    if isinstance(value, list):
        return [_timeless(one) for one in value]
    return value


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
