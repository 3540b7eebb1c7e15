"""Audit policies: which level a request is written at, and which of its stages.

The first rule that fits decides; a request that none fits is not written. A policy file is read strictly: an
unknown field is refused, where a real server warns in its log.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, NoReturn

from inputs.errors import ConfigError
from inputs.limited_files import BadFile, read_limited
from inputs.limited_yaml import MOST_BYTES, BadYaml, load_yaml
from twin.rbac.attributes import Attributes

API_VERSION = "audit.k8s.io/v1"
SETTING = "--audit-policy"


class Level(IntEnum):
    """How much is written of a request, from nothing on."""

    NONE = 0
    METADATA = 1
    REQUEST = 2
    REQUEST_RESPONSE = 3


RECEIVED, STARTED, COMPLETE, PANIC = (
    "RequestReceived",
    "ResponseStarted",
    "ResponseComplete",
    "Panic",
)
STAGES = (RECEIVED, STARTED, COMPLETE, PANIC)
LEVELS = {
    "None": Level.NONE,
    "Metadata": Level.METADATA,
    "Request": Level.REQUEST,
    "RequestResponse": Level.REQUEST_RESPONSE,
}
NAMES = {level: name for name, level in LEVELS.items()}


@dataclass(frozen=True, slots=True)
class GroupResources:
    """Resources of one API group; without names all of them."""

    group: str
    resources: tuple[str, ...]
    names: tuple[str, ...]

    def covers(self, asked: Attributes) -> bool:
        """Say whether a request is for one of them."""
        if self.group not in ("*", asked.group):
            return False
        if not self.resources:
            return True
        if self.names and asked.name not in self.names:
            return False
        below = f"*/{asked.subresource}" if asked.subresource else "*"
        return not {"*", asked.full_resource, below, f"{asked.resource}/*"}.isdisjoint(
            self.resources
        )


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; an empty tuple stands for everything."""

    level: Level
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    resources: tuple[GroupResources, ...] = ()
    namespaces: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    omitted_stages: frozenset[str] = frozenset()
    omit_managed_fields: bool = False

    def covers(self, asked: AuditedRequest) -> bool:
        """Say whether it is about a request."""
        if self.users and asked.user not in self.users:
            return False
        if self.groups and set(self.groups).isdisjoint(asked.groups):
            return False
        if self.verbs and asked.verb not in self.verbs:
            return False
        if self.namespaces or self.resources:
            return self._covers_resource(asked.attributes)
        if self.paths:
            return asked.attributes is None and any(
                _covers_path(path, asked.path) for path in self.paths
            )
        return True

    def _covers_resource(self, asked: Attributes | None) -> bool:
        if asked is None or (self.namespaces and asked.namespace not in self.namespaces):
            return False
        return not self.resources or any(each.covers(asked) for each in self.resources)


@dataclass(frozen=True, slots=True)
class AuditedRequest:
    """What a policy looks at in a request; `attributes` is None for a path that is no resource."""

    user: str
    groups: tuple[str, ...]
    verb: str
    path: str
    attributes: Attributes | None


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules in their order."""

    rules: tuple[Rule, ...]

    def rule_for(self, asked: AuditedRequest) -> Rule:
        """Return the first rule about a request; without one nothing is written of it."""
        return next((rule for rule in self.rules if rule.covers(asked)), _NOTHING)


_NOTHING = Rule(Level.NONE)
EVERYTHING = Policy((Rule(Level.METADATA),))
"""The policy where none is given: who asked for what, without bodies."""


def read_policy(path: Path) -> Policy:
    """Read a policy file; raises ConfigError with the field that is wrong."""
    try:
        content: Any = load_yaml(read_limited(path, MOST_BYTES))
    except (OSError, BadFile, BadYaml) as error:
        why = f"give a YAML file of kind Policy of {API_VERSION} ({error})"
        raise ConfigError(SETTING, path, why) from error
    return _Reader(path).policy(content)


class _Reader:
    """Reads one file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def policy(self, content: Any) -> Policy:
        known = ("apiVersion", "kind", "metadata", "rules", "omitStages", "omitManagedFields")
        whole = self._object(content, "", known)
        for name, value in (("apiVersion", API_VERSION), ("kind", "Policy")):
            if whole.get(name) != value:
                self._refuse(name, whole.get(name), f"write {value}")
        rules = whole.get("rules")
        if not isinstance(rules, list) or not rules:
            self._refuse("rules", rules, "give a list of at least one rule")
        omitted = self._stages(whole, "")
        managed = self._flag(whole, "", default=False)
        return Policy(
            tuple(
                self._rule(each, f"rules[{number}]", omitted, managed)
                for number, each in enumerate(rules)
            )
        )

    def _rule(self, content: Any, place: str, omitted: frozenset[str], managed: bool) -> Rule:
        known = (
            *("level", "users", "userGroups", "verbs", "resources", "namespaces"),
            *("nonResourceURLs", "omitStages", "omitManagedFields"),
        )
        rule = self._object(content, place, known)
        level = rule.get("level")
        if not isinstance(level, str) or level not in LEVELS:
            self._refuse(f"{place}.level", level, f"use {', '.join(LEVELS)}")
        resources = rule.get("resources") or []
        if not isinstance(resources, list):
            self._refuse(f"{place}.resources", resources, "give a list")
        read = Rule(
            LEVELS[level],
            self._texts(rule, place, "users"),
            self._texts(rule, place, "userGroups"),
            self._texts(rule, place, "verbs"),
            tuple(
                self._resources(each, f"{place}.resources[{number}]")
                for number, each in enumerate(resources)
            ),
            self._texts(rule, place, "namespaces"),
            self._paths(rule, place),
            omitted | self._stages(rule, f"{place}."),
            self._flag(rule, f"{place}.", default=managed),
        )
        if read.paths and (read.resources or read.namespaces):
            why = "give either paths or resources and namespaces"
            self._refuse(f"{place}.nonResourceURLs", list(read.paths), why)
        return read

    def _resources(self, content: Any, place: str) -> GroupResources:
        entry = self._object(content, place, ("group", "resources", "resourceNames"))
        group = entry.get("group") or ""
        if not isinstance(group, str) or "/" in group:
            self._refuse(f"{place}.group", group, "give a group without version, such as apps")
        resources = self._texts(entry, place, "resources")
        names = self._texts(entry, place, "resourceNames")
        if names and not resources:
            self._refuse(f"{place}.resourceNames", list(names), "name their resources as well")
        return GroupResources(group, resources, names)

    def _paths(self, rule: dict[str, Any], place: str) -> tuple[str, ...]:
        paths = self._texts(rule, place, "nonResourceURLs")
        for number, path in enumerate(paths):
            if path != "*" and (not path.startswith("/") or "*" in path[:-1]):
                why = "begin with / and have * at the end alone"
                self._refuse(f"{place}.nonResourceURLs[{number}]", path, why)
        return paths

    def _stages(self, owner: dict[str, Any], place: str) -> frozenset[str]:
        stages = self._texts(owner, place.removesuffix("."), "omitStages")
        for number, stage in enumerate(stages):
            if stage not in STAGES:
                self._refuse(f"{place}omitStages[{number}]", stage, f"use {', '.join(STAGES)}")
        return frozenset(stages)

    def _flag(self, owner: dict[str, Any], place: str, *, default: bool) -> bool:
        value = owner.get("omitManagedFields")
        if value is None:
            return default
        if not isinstance(value, bool):
            self._refuse(f"{place}omitManagedFields", value, "use true or false")
        return value

    def _texts(self, owner: dict[str, Any], place: str, name: str) -> tuple[str, ...]:
        values = owner.get(name) or []
        if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
            self._refuse(f"{place}.{name}".lstrip("."), values, "give a list of texts")
        return tuple(values)

    def _object(self, content: Any, place: str, known: tuple[str, ...]) -> dict[str, Any]:
        if not isinstance(content, dict):
            self._refuse(place or "policy", content, "give a mapping")
        unknown = next((name for name in content if name not in known), None)
        if unknown is not None:
            where = f"{place}.{unknown}".lstrip(".")
            self._refuse(where, content[unknown], f"use {', '.join(known)}")
        return content

    def _refuse(self, place: str, value: Any, remedy: str) -> NoReturn:
        raise ConfigError(f"{SETTING} {self._path}: {place}", value, remedy)


def _covers_path(pattern: str, path: str) -> bool:
    if pattern in ("*", path):
        return True
    return pattern.endswith("*") and path.startswith(pattern.rstrip("*"))
