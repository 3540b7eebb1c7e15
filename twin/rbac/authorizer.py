"""From bindings to decisions: which rules a user has, and whether one of them allows a request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from twin.rbac.attributes import (
    GROUP,
    MASTERS,
    Attributes,
    Decision,
    User,
    account_user,
)
from twin.rbac.rules import quoted_list, rule_allows, rule_allows_path
from twin.records import Object, ObjectRecord
from twin.store import Store


class Grant(NamedTuple):
    """A rule, and the binding by which somebody has it; `rule` is None where the role is not there."""

    rule: Object | None
    reason: str


class Authorizer:
    """Decides from the Roles and bindings of a store; who is in system:masters may do everything."""

    def __init__(self, store: Store) -> None:
        """Read Roles and bindings of `store` at each question."""
        self._store = store

    def decide(self, user: User, asked: Attributes) -> Decision:
        """Say whether a user may do something to a resource."""
        if MASTERS in user.groups:
            return Decision(True)
        errors: list[str] = []
        for rule, reason in self._grants(user, asked.namespace):
            if rule is None:
                errors.append(reason)
            elif rule_allows(rule, asked):
                return Decision(True, f"RBAC: allowed by {reason}")
        return _refusal(errors)

    def decide_path(self, user: User, verb: str, path: str) -> Decision:
        """Say whether a user may use a path that is no resource."""
        if MASTERS in user.groups:
            return Decision(True)
        errors: list[str] = []
        for rule, reason in self._grants(user, ""):
            if rule is None:
                errors.append(reason)
            elif rule_allows_path(rule, verb, path):
                return Decision(True, f"RBAC: allowed by {reason}")
        return _refusal(errors)

    def rules_of(self, user: User, namespace: str) -> tuple[list[Object], list[str]]:
        """Return the rules that a user has in a namespace, and which roles are not there."""
        grants = list(self._grants(user, namespace))
        rules = [rule for rule, _ in grants if rule is not None]
        return rules, [reason for rule, reason in grants if rule is None]

    def referenced_rules(self, role: Object, namespace: str) -> list[Object]:
        """Return the rules of the role that a binding in `namespace` refers to; raises ApiError 404."""
        plural = "clusterroles" if role["kind"] == "ClusterRole" else "roles"
        home = "" if plural == "clusterroles" else namespace
        record = self._store.record(plural, home, role["name"])
        assert isinstance(record, ObjectRecord)
        rules: list[Object] = record.body.get("rules") or []
        return rules

    def _grants(self, user: User, namespace: str) -> Iterator[Grant]:
        for binding in self._store.records("clusterrolebindings"):
            yield from self._granted(user, binding, "")
        if namespace:
            for binding in self._store.records("rolebindings", namespace):
                yield from self._granted(user, binding, namespace)

    def _granted(self, user: User, binding: object, namespace: str) -> Iterator[Grant]:
        assert isinstance(binding, ObjectRecord)
        body = binding.body
        subjects = body.get("subjects") or ()
        subject = next((one for one in subjects if _is_subject(user, one, namespace)), None)
        if subject is None:
            return
        role = body["roleRef"]
        plural = "clusterroles" if role["kind"] == "ClusterRole" else "roles"
        record = self._store.find(plural, namespace if plural == "roles" else "", role["name"])
        if not isinstance(record, ObjectRecord):
            singular = plural.removesuffix("s")
            yield Grant(None, f'{singular}.{GROUP} "{role["name"]}" not found')
            return
        kind, where = ("RoleBinding", f"/{namespace}") if namespace else ("ClusterRoleBinding", "")
        reason = (
            f'{kind} "{binding.name}{where}" of {role["kind"]} "{role["name"]}" to '
            f"{_subject_text(subject)}"
        )
        for rule in record.body.get("rules") or ():
            yield Grant(rule, reason)


def escalation_sentence(user: User, missing: list[str], errors: list[str]) -> str:
    """Return why a user must not hand out rules that it does not have."""
    return (
        f'user "{user.name}" (groups={quoted_list(user.groups)}) is attempting to grant RBAC '
        "permissions not currently held:\n"
        + "\n".join(missing)
        + (f"; resolution errors: [{', '.join(errors)}]" if errors else "")
    )


def _refusal(errors: list[str]) -> Decision:
    unique = list(dict.fromkeys(errors))
    if not unique:
        return Decision(False)
    text = unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
    return Decision(False, f"RBAC: {text}", text)


def _is_subject(user: User, subject: Object, namespace: str) -> bool:
    match subject["kind"]:
        case "User":
            return bool(user.name == subject["name"])
        case "Group":
            return subject["name"] in user.groups
    home = subject.get("namespace") or namespace
    return bool(home) and user.name == account_user(home, subject["name"])


def _subject_text(subject: Object) -> str:
    name = subject["name"]
    if subject["kind"] == "ServiceAccount":
        name = f"{name}/{subject.get('namespace', '')}"
    return f'{subject["kind"]} "{name}"'
