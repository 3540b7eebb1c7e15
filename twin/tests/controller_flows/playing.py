"""Plays a flow, written down as data, on a cluster: what a user does, and what is waited for in between.

A step is `create: OBJECT`, `patch: {PLACE: MERGE}`, `delete: PLACE` (with `propagation`), `undo: PLACE`,
`until: {PLACE: {PATH: VALUE}}`, `label: {SELECTOR: LABELS}`, `wait: SECONDS`, `minute: SECOND` (until that second of
a minute), or what befalls the first pod of a selector: `delete_pod`, `evict`, `disown`, `hold`, `cheapen`;
`delete_first: RESOURCE` takes the first object of a kind, and `past: PLACE` lets a CronJob have started last in the
year 2020. A place is `RESOURCE/NAME`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from tests.patience import HANGS_SECONDS
from twin.kinds import KINDS

Object = dict[str, Any]
HERE = "HERE"
NOBODY = "11111111-2222-3333-4444-555555555555"
"""A uid that no object has."""
_BESIDE = frozenset({"propagation", "owners"})
"""What a step has besides its verb."""
MERGE = "application/merge-patch+json"


class World(Protocol):
    """A cluster, and how time passes on it."""

    poll_seconds: float
    """How often one looks whether something has come."""

    def ask(self, method: str, path: str, body: Any = None, media: str = "application/json",
            **query: str) -> Any:  # fmt: skip
        """Send one request; raises where it is refused."""
        ...

    def wait(self, seconds: float) -> None:
        """Let cluster time pass."""
        ...

    def now(self) -> float:
        """Return the cluster's time, unix seconds."""
        ...

    def histories(self, paths: dict[str, str], version: str) -> dict[str, list[Object]]:
        """Return what watches of paths from a version say."""
        ...


class Late(AssertionError):
    """What a flow waited for did not come."""


class Player:
    """Plays one flow in a namespace of its own."""

    def __init__(self, world: World, namespace: str) -> None:
        """Play on `world`."""
        self._world, self.namespace = world, namespace
        self.made = {("namespaces", namespace)}
        """What is in no namespace and of this flow: (resource, name)."""

    def play(self, steps: list[Object]) -> None:
        """Do every step."""
        for step in steps:
            for verb, given in step.items():
                if verb not in _BESIDE:
                    getattr(self, f"_{verb}")(given, step)

    def path(self, resource: str, name: str = "", namespace: str = "") -> str:
        """Return the path of a resource, or of one object; in the flow's namespace unless another is named."""
        kind = KINDS[resource]
        root = f"/apis/{kind.api_version}" if "/" in kind.api_version else "/api/v1"
        inside = f"/namespaces/{namespace or self.namespace}" if kind.namespaced else ""
        name = self.namespace if name == HERE else name
        return f"{root}{inside}/{resource}" + (f"/{name}" if name else "")

    def _at(self, place: str, namespace: str = "") -> str:
        resource, _, name = place.partition("/")
        return self.path(resource, name, namespace)

    def _create(self, obj: Object, step: Object) -> None:
        resource = next(name for name, kind in KINDS.items() if kind.kind == obj["kind"])
        whole = expanded(obj)
        if not KINDS[resource].namespaced:
            self.made.add((resource, obj["metadata"]["name"]))
        if "owners" in step:
            owners = [self._owner(one) for one in step["owners"]]
            whole = {**whole, "metadata": {**whole["metadata"], "ownerReferences": owners}}
        self._world.ask(
            "POST", self.path(resource, "", obj["metadata"].get("namespace", "")), whole
        )

    def _owner(self, given: Any) -> Object:
        """Return an owner reference."""
        given = {"of": given} if isinstance(given, str) else dict(given)
        place, namespace = given.pop("of", None), given.pop("in", "")
        reference: Object = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "nobody",
            "uid": NOBODY,
        }
        if place:
            found = self._world.ask("GET", self._at(place, namespace))
            kind = KINDS[place.partition("/")[0]]
            reference = {
                "apiVersion": kind.api_version,
                "kind": kind.kind,
                **{k: found["metadata"][k] for k in ("name", "uid")},
            }
        if given.pop("block", False):
            reference["blockOwnerDeletion"] = True
        return {**reference, **given}

    def _own(self, places: Object, _: Object) -> None:
        for place, owners in places.items():
            body = {"metadata": {"ownerReferences": [self._owner(one) for one in owners]}}
            self._world.ask("PATCH", self._at(place), body, MERGE)

    def _finalize(self, names: list[str], _: Object) -> None:
        path = self.path("namespaces", HERE)
        home = self._world.ask("GET", path)
        self._world.ask("PUT", f"{path}/finalize", {**home, "spec": {"finalizers": names}})

    def _patch(self, places: Object, _: Object) -> None:
        for place, given_body in places.items():
            body = given_body
            spec = body.get("spec") or {}
            given = spec.get("template")
            if isinstance(given, str) or (given and not {"spec", "metadata"} & given.keys()):
                name = place.partition("/")[2]
                body = {**body, "spec": {**spec, "template": template(name, spec["template"])}}
            self._world.ask("PATCH", self._at(place), body, MERGE)

    def _delete(self, place: str, step: Object) -> None:
        options = {"propagationPolicy": step["propagation"]} if "propagation" in step else {}
        self._world.ask("DELETE", self._at(place), options or None)

    def _delete_first(self, resource: str, _: Object) -> None:
        found = self._world.ask("GET", self.path(resource))["items"]
        name = min(one["metadata"]["name"] for one in found)
        self._world.ask("DELETE", self.path(resource, name), {"propagationPolicy": "Background"})

    def _past(self, place: str, _: Object) -> None:
        body = {"status": {"lastScheduleTime": "2020-01-01T00:00:00Z"}}
        self._world.ask("PATCH", f"{self._at(place)}/status", body, MERGE)

    def _delete_pod(self, selector: str, _: Object) -> None:
        self._world.ask("DELETE", self.path("pods", self._first(selector)))

    def _evict(self, selector: str, _: Object) -> None:
        name = self._first(selector)
        body = {"metadata": {"name": name, "namespace": self.namespace}}
        self._world.ask("POST", f"{self.path('pods', name)}/eviction", body)

    def _disown(self, selector: str, _: Object) -> None:
        body = {"metadata": {"ownerReferences": None}}
        self._world.ask("PATCH", self.path("pods", self._first(selector)), body, MERGE)

    def _hold(self, selector: str, _: Object) -> None:
        """Keep a pod from going by a finalizer of somebody else."""
        body = {"metadata": {"finalizers": ["example.com/hold"]}}
        self._world.ask("PATCH", self.path("pods", self._first(selector)), body, MERGE)

    def _cheapen(self, selector: str, _: Object) -> None:
        body = {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-5"}}}
        self._world.ask("PATCH", self.path("pods", self._first(selector)), body, MERGE)

    def _label(self, places: Object, _: Object) -> None:
        for selector, labels in places.items():
            body = {"metadata": {"labels": labels}}
            self._world.ask("PATCH", self.path("pods", self._first(selector)), body, MERGE)

    def _first(self, selector: str) -> str:
        found = self._world.ask("GET", self.path("pods"), labelSelector=selector)["items"]
        living = [one for one in found if "deletionTimestamp" not in one["metadata"]]
        return str(min(one["metadata"]["name"] for one in living))

    def _undo(self, place: str, _: Object) -> None:
        """Write the template of the oldest ReplicaSet again, as `kubectl rollout undo` does."""
        found = self._world.ask("GET", self.path("replicasets"))["items"]
        notes = "deployment.kubernetes.io/revision"
        first = min(found, key=lambda one: int(one["metadata"]["annotations"][notes]))
        pods = first["spec"]["template"]
        pods["metadata"]["labels"].pop("pod-template-hash")
        patch = [{"op": "replace", "path": "/spec/template", "value": pods}]
        self._world.ask("PATCH", self._at(place), patch, "application/json-patch+json")

    def _wait(self, seconds: float, _: Object) -> None:
        self._world.wait(seconds)

    def _minute(self, second: float, _: Object) -> None:
        self._world.wait((second - self._world.now()) % 60.0)

    def _until(self, places: Object, _: Object) -> None:
        for place, wanted in places.items():
            self._wait_for(str(place), lambda p=place, w=wanted: self._unlike(p, w))

    def _wait_for(self, place: str, unlike: Callable[[], str]) -> None:
        waited = 0.0
        while said := unlike():
            if waited > HANGS_SECONDS:
                raise Late(f"{place}: {said}")
            self._world.wait(self._world.poll_seconds)
            waited += self._world.poll_seconds

    def _unlike(self, place: str, wanted: Any) -> str:
        """Return what is not as it is waited for."""
        resource, _, name = place.partition("/")
        name = self.namespace if name == HERE else name
        if not name:
            found = self._world.ask("GET", self.path(resource))["items"]
            return "" if len(found) == wanted else f"there are {len(found)}"
        found = self._world.ask("GET", self.path(resource), fieldSelector=f"metadata.name={name}")
        if not found["items"]:
            return "" if wanted is None else "is not there"
        if wanted is None:
            return "is still there"
        one = found["items"][0]
        observed = (one.get("status") or {}).get("observedGeneration")
        if observed not in (None, one["metadata"].get("generation")):
            return "has not been looked at"
        seen = {path: _value(one, path.split(".")) for path in wanted}
        return "" if seen == wanted else f"has {seen}, not {wanted}"


def _value(obj: Any, path: list[str]) -> Any:
    """Return a member; of a list of conditions the status of one; 0 for a missing count."""
    for part in path:
        if isinstance(obj, list):
            return next((one["status"] for one in obj if one["type"] == part), None)
        obj = (obj or {}).get(part)
    return obj


def expanded(obj: Object) -> Object:
    """Return an object whose short forms are written out."""
    name = obj["metadata"]["name"]
    kind = next(one for one in KINDS.values() if one.kind == obj["kind"])
    spec = dict(obj.get("spec") or {})
    if obj["kind"] == "Pod":
        pod = template(name, spec)
        head = {"labels": pod["metadata"]["labels"], **obj["metadata"]}
        return {"apiVersion": kind.api_version, **obj, "metadata": head, "spec": pod["spec"]}
    if "jobTemplate" in spec:
        inner = spec["jobTemplate"]["spec"]
        inner = {**inner, "template": template(name, inner["template"], job=True)}
        spec["jobTemplate"] = {**spec["jobTemplate"], "spec": inner}
    if "template" in spec:
        spec["template"] = template(name, spec["template"], job=obj["kind"] == "Job")
    if obj["kind"] == "ReplicationController":
        spec.setdefault("selector", {"app": name})
    if obj["kind"] in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"):
        spec.setdefault("selector", {"matchLabels": {"app": name}})
    body = {"apiVersion": kind.api_version, **obj}
    return {**body, "spec": spec} if spec else body


def template(name: str, given: Any, *, job: bool = False) -> Object:
    """Return a pod template; a text is what its shell runs."""
    given = {"run": given} if isinstance(given, str) else dict(given)
    if "spec" in given:
        return given
    container: Object = {"name": "c", "image": given.pop("image", "i:1")}
    if given.get("run"):
        container["command"] = ["sh", "-c", given["run"]]
    if "requests" in given:
        container["resources"] = {"requests": given.pop("requests")}
    container.update(given.pop("container", {}))
    given.pop("run", None)
    labels, notes = given.pop("labels", {"app": name}), given.pop("annotations", {})
    spec: Object = {"containers": [container], "terminationGracePeriodSeconds": 1}
    if job:
        spec["restartPolicy"] = "Never"
    return {"metadata": {"labels": labels, "annotations": notes}, "spec": {**spec, **given}}
