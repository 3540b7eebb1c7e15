"""Which writes a webhook or a policy is about: rules, scopes, selectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from twin.kinds import Kind
from twin.records import Object
from twin.selectors import matches

GROUP = "admissionregistration.k8s.io"
"""Group of the kinds that say who is asked; writes to these are shown to nobody."""


@dataclass(frozen=True, slots=True)
class Write:
    """What a client is about to do."""

    operation: str
    """CREATE, UPDATE or DELETE."""
    kind: Kind
    """Of the resource in the path."""
    namespace: str
    name: str
    subresource: str = ""
    shown: tuple[str, str, str] | None = None
    """Group, version and kind of the object of a subresource, where it is not the resource's."""
    options: str = "CreateOptions"
    manager: str = ""
    dry_run: bool = False

    @property
    def object_kind(self) -> tuple[str, str, str]:
        """Group, version and kind of the object that is shown."""
        return self.shown or (self.kind.group, self.kind.version, self.kind.kind)

    @property
    def head(self) -> dict[str, str]:
        """What the object that is shown says of its own kind."""
        group, version, kind = self.object_kind
        return {"apiVersion": f"{group}/{version}" if group else version, "kind": kind}

    @property
    def full_resource(self) -> str:
        """Plural and subresource."""
        return f"{self.kind.plural}/{self.subresource}" if self.subresource else self.kind.plural


def version_for(
    rules: Sequence[Mapping[str, Any]], write: Write, versions: Iterable[str], *, exact: bool
) -> str | None:
    """Return the version in which one of the rules is about a write; None when none is.

    `versions` are those in which its kind is served, the written one first; an `exact` rule is about that one alone.
    """
    for version in versions:
        if any(_rule_covers(rule, write, version) for rule in rules):
            return version
        if exact:
            break
    return None


def _rule_covers(rule: Mapping[str, Any], write: Write, version: str) -> bool:
    inside = bool(write.namespace) and write.kind.namespaced
    scope = rule.get("scope", "*")
    named = rule.get("resourceNames") or ()
    return (
        (scope == "*" or (scope == "Namespaced") == inside)
        and _among(write.operation, rule.get("operations"))
        and _among(write.kind.group, rule.get("apiGroups"))
        and _among(version, rule.get("apiVersions"))
        and any(_covers_resource(each, write) for each in rule.get("resources") or ())
        and (not named or write.name in named)
    )


def _among(value: str, allowed: Any) -> bool:
    return any(each in ("*", value) for each in allowed or ())


def _covers_resource(pattern: str, write: Write) -> bool:
    resource, _, subresource = pattern.partition("/")
    return resource in ("*", write.kind.plural) and subresource in ("*", write.subresource)


def selects_object(selector: Object | None, obj: Object | None, old: Object | None) -> bool:
    """Say whether a selector is about a write, by the labels of the object before or after it."""
    if not selector:
        return True
    shown = [each for each in (obj, old) if each is not None]
    return any(
        matches(selector, (each.get("metadata") or {}).get("labels") or {}) for each in shown
    )
