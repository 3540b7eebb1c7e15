"""One request as audit events: what is known when it arrives, and what its answer adds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from twin.audit.policy import API_VERSION, NAMES, RECEIVED, Level, Rule
from twin.rbac.attributes import Attributes, User
from twin.records import Object
from twin.timestamps import rfc3339_micro

LONGEST_AGENT = 1_024
LONG_RUNNING = frozenset({"attach", "exec", "log", "portforward", "proxy"})
"""Subresources whose answers have no known end; watches have none, either."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request as it arrives. Times are cluster time in seconds since the Unix epoch."""

    audit_id: str
    uri: str
    """Path and query as they were sent."""
    verb: str
    user: User
    at: float
    addresses: tuple[str, ...] = ()
    agent: str = ""
    attributes: Attributes | None = None
    """None for a path that is no resource."""
    version: str = ""
    """Version of the resource's API group."""

    @property
    def long_running(self) -> bool:
        """Whether the start of its answer is a stage of its own."""
        if self.attributes is None:
            return False
        return self.verb == "watch" or self.attributes.subresource in LONG_RUNNING


@dataclass(slots=True)
class Trail:
    """The events of one request, each with all that is known by then."""

    arrival: Arrival
    rule: Rule
    impersonated: User | None = None
    sent: Any = None
    """Its body as JSON; None: it has none."""
    answered: Any = None
    """The answer as JSON; None: it has none."""
    code: int = 0
    message: str = ""
    annotations: dict[str, str] = field(default_factory=dict)
    """Whether the request is allowed, and why."""

    def event(self, stage: str, at: float) -> Object:
        """Return the event of a stage that is reached at `at`."""
        arrival, level = self.arrival, self.rule.level
        event: Object = {
            "kind": "Event",
            "apiVersion": API_VERSION,
            "level": NAMES[level],
            "auditID": arrival.audit_id,
            "stage": stage,
            "requestURI": arrival.uri,
            "verb": arrival.verb,
            "user": _user(arrival.user),
        }
        arrived = stage == RECEIVED  # who may do what is looked at later
        if self.impersonated is not None and not arrived:
            event["impersonatedUser"] = _user(self.impersonated)
        if arrival.addresses:
            event["sourceIPs"] = list(arrival.addresses)
        if arrival.agent:
            event["userAgent"] = _cut(arrival.agent)
        if arrival.attributes is not None:
            event["objectRef"] = self._reference()
        if self.code:
            event["responseStatus"] = self._status()
        if level >= Level.REQUEST and self.sent is not None and arrival.attributes is not None:
            event["requestObject"] = self._bare(self.sent)
        if level >= Level.REQUEST_RESPONSE and isinstance(self.answered, dict):
            event["responseObject"] = self._bare(self.answered)
        event["requestReceivedTimestamp"] = rfc3339_micro(arrival.at)
        event["stageTimestamp"] = rfc3339_micro(at)
        if self.annotations and not arrived:
            event["annotations"] = dict(self.annotations)
        return event

    def _reference(self) -> Object:
        attributes = self.arrival.attributes
        assert attributes is not None
        given = self.sent.get("metadata") if isinstance(self.sent, dict) else None
        # A patch says nothing about which object it is for.
        given = given if isinstance(given, dict) and self.arrival.verb != "patch" else {}
        reference = {
            "resource": attributes.resource,
            "namespace": attributes.namespace or given.get("namespace"),
            "name": attributes.name or given.get("name"),
            "uid": given.get("uid"),
            "apiGroup": attributes.group,
            "apiVersion": self.arrival.version,
            "resourceVersion": given.get("resourceVersion"),
            "subresource": attributes.subresource,
        }
        return {name: value for name, value in reference.items() if value}

    def _status(self) -> Object:
        status: Object = {"metadata": {}}
        answered = self.answered if isinstance(self.answered, dict) else {}
        if answered.get("kind") == "Status" and answered.get("apiVersion") == "v1":
            names = ("status", "message", "reason", "details")
            status |= {name: answered[name] for name in names if answered.get(name)}
        if self.message:
            status["message"] = self.message
        return {**status, "code": self.code}

    def _bare(self, value: Any) -> Any:
        """Return a body, without managed fields where the rule says so."""
        if not self.rule.omit_managed_fields or not isinstance(value, dict):
            return value
        bare = _without_managers(value)
        for name in ("items", "rows"):
            if isinstance(value.get(name), list):
                bare[name] = list(_each_without_managers(value[name]))
        return bare


def _each_without_managers(items: Iterable[Any]) -> Iterable[Any]:
    for item in items:
        if isinstance(item, dict) and isinstance(item.get("object"), dict):  # a row of a table
            yield {**item, "object": _without_managers(item["object"])}
        else:
            yield _without_managers(item) if isinstance(item, dict) else item


def _without_managers(obj: Object) -> Object:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return dict(obj)
    kept = {name: value for name, value in metadata.items() if name != "managedFields"}
    return {**obj, "metadata": kept}


def _user(user: User) -> Object:
    shown: Object = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra},
    }
    return {name: value for name, value in shown.items() if value}


def _cut(agent: str) -> str:
    return agent if len(agent) <= LONGEST_AGENT else f"{agent[:LONGEST_AGENT]}...TRUNCATED"
