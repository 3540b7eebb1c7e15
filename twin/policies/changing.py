"""What MutatingAdmissionPolicies make of a write: which are invoked, and what their expressions ask for.

Policies and their bindings are invoked by name. A policy with `reinvocationPolicy: IfNeeded` is invoked once more when
the object has changed since. How an answer changes an object is up to the caller.
Source: kubernetes/kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/mutating (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from twin.custom.cel import RuleError
from twin.custom.cel_authorizer import deciding
from twin.custom.object_literals import OBJECT, WrongType, made_value
from twin.custom.policy_expressions import Scope
from twin.errors import ApiError
from twin.policies.parameters import BadConfiguration, kind_of_params, params_of
from twin.policies.requests import (
    bound_to,
    decide,
    is_about_policies,
    matched_version,
    records_of,
    values_of,
)
from twin.rbac.attributes import User
from twin.records import Object
from twin.store import Store
from twin.webhooks.conditions import ConditionError, conditions_hold
from twin.webhooks.hearing import Hearing
from twin.webhooks.matching import Write
from twin.webhooks.reviews import review_of

POLICIES, BINDINGS = "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"


class BadMutation(Exception):
    """A mutation that cannot be carried out, and why."""


Patch = Callable[[str, Any, Object], Object]
"""Returns an object as a mutation of a type (ApplyConfiguration, JSONPatch) asks for it; raises BadMutation."""


@dataclass(frozen=True, slots=True)
class _Invocation:
    """One policy, one binding, and one object of parameters."""

    spec: Object
    """Of the policy."""
    named: str
    """The policy and the binding, as in the sentences of a refusal."""
    version: str
    params: Object | None

    @property
    def again(self) -> bool:
        return self.spec.get("reinvocationPolicy") == "IfNeeded"


class MutatingPolicies:
    """The policies of one store."""

    def __init__(self, store: Store) -> None:
        """Read policies and bindings at each write."""
        self._store = store

    @property
    def idle(self) -> bool:
        """Whether no policy is bound."""
        return not (self._store.count(POLICIES) and self._store.count(BINDINGS))

    def round(
        self,
        write: Write,
        obj: Object,
        old: Object | None,
        hearing: Hearing,
        patch: Patch,
        *,
        again: bool = False,
    ) -> Object:
        """Return an object as the policies leave it, or only those that are invoked `again`; raises ApiError."""
        if self.idle or is_about_policies(write):
            return obj
        failures: list[tuple[str, str]] = []
        with deciding(partial(decide, hearing)):
            found = list(self._invocations(write, (obj, old), failures))
            for one in found:
                if one.again or not again:
                    obj = self._invoke(one, write, obj, old, hearing, patch, failures)
        if failures:
            raise _refusal(write, failures)
        return obj

    def _invocations(
        self, write: Write, pair: tuple[Object, Object | None], failures: list[tuple[str, str]]
    ) -> Iterator[_Invocation]:
        for policy in records_of(self._store, POLICIES):
            bindings = bound_to(self._store, BINDINGS, policy)
            spec: Object = policy.body["spec"]
            fails = spec.get("failurePolicy") != "Ignore"
            constraints = spec["matchConstraints"]
            version = matched_version(self._store, write, pair, constraints) if bindings else None
            if version is None:
                continue
            try:
                kind = kind_of_params(self._store, spec.get("paramKind"))
            except BadConfiguration as error:
                if fails:
                    text = f'policy "{policy.name}" denied request: failed to configure policy: {error}'
                    failures.append(("Forbidden", text))
                continue
            for binding in bindings:
                place = binding.body["spec"].get("matchResources")
                if place and matched_version(self._store, write, pair, place) is None:
                    continue
                named = f"policy '{policy.name}' with binding '{binding.name}' denied request"
                reference = binding.body["spec"].get("paramRef")
                try:
                    found = params_of(self._store, kind, reference, write.namespace)
                except BadConfiguration as error:
                    if fails:
                        text = f"{named}: failed to configure binding: {error}"
                        failures.append(("Forbidden", text))
                    continue
                yield from (_Invocation(spec, named, version, params) for params in found)

    def _invoke(
        self,
        one: _Invocation,
        write: Write,
        obj: Object,
        old: Object | None,
        hearing: Hearing,
        patch: Patch,
        failures: list[tuple[str, str]],
    ) -> Object:
        """Return an object as all mutations of a policy leave it; one that fails changes nothing."""
        fails = one.spec.get("failurePolicy") != "Ignore"
        conditions = one.spec.get("matchConditions") or ()
        asked, values = self._seen(one, write, obj, old, hearing)
        try:
            if not conditions_hold(conditions, asked, values):
                return obj
        except ConditionError as error:
            if fails:
                failures.append(("Invalid", f"{one.named}: {error}"))
            return obj
        for mutation in one.spec["mutations"]:
            _, values = self._seen(one, write, obj, old, hearing)
            try:
                obj = patch(*_asked_for(mutation, one.spec, values), obj)
            except BadMutation as error:
                if fails:
                    failures.append(("Invalid", f"{one.named}: {error}"))
        return obj

    def _seen(
        self, one: _Invocation, write: Write, obj: Object, old: Object | None, hearing: Hearing
    ) -> tuple[Object, dict[str, Any]]:
        asked = review_of(write, one.version, hearing.user or User(""), obj, old)
        values = values_of(self._store, write, asked)
        if one.spec.get("paramKind"):
            values["params"] = one.params or {}
        return asked, values


def _asked_for(mutation: Object, spec: Object, values: dict[str, Any]) -> tuple[str, Any]:
    """Return the type of a mutation and what its expression asks for; raises BadMutation."""
    kind = mutation["patchType"]
    applied = kind == "ApplyConfiguration"
    text = mutation["applyConfiguration" if applied else "jsonPatch"]["expression"]
    try:
        found = Scope(spec.get("variables") or (), values).evaluate_literal(text)
    except RuleError as error:
        why = f"expression '{text.strip()}' resulted in error: {error}"
        raise BadMutation(why) from error
    try:
        if applied:
            return kind, made_value(found, OBJECT)
        return kind, [
            {key: made_value(each) for key, each in operation.items() if key != "@type"}
            for operation in found
        ]
    except WrongType as error:
        raise BadMutation(f"type mismatch: {error}") from error


def _refusal(write: Write, failures: list[tuple[str, str]]) -> ApiError:
    """Return a real server's answer: what came first, with all of them as causes."""
    (reason, text), kind = failures[0], write.kind
    details = {"name": write.name, "group": kind.group, "kind": kind.plural}
    causes = [{"message": why} for _, why in failures]
    known = {key: value for key, value in details.items() if value}
    return ApiError(403, reason, text, {**known, "causes": causes})
