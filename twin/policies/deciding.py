"""What ValidatingAdmissionPolicies say about a write: refuse it, warn, or note it for the audit log.

Policies and their bindings are looked at by name. The first refusal is the answer.
Source: kubernetes/kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/policy (v1.36).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from twin.custom.cel import RuleError
from twin.custom.cel_authorizer import deciding
from twin.custom.policy_expressions import Scope
from twin.errors import ApiError, qualified_resource
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
from twin.records import Object, ObjectRecord
from twin.store import Store
from twin.webhooks.answers import WebhookAnswers
from twin.webhooks.conditions import ConditionError, conditions_hold
from twin.webhooks.matching import Write
from twin.webhooks.reviews import review_of
from twin.webhooks.selecting import Pair

POLICIES, BINDINGS = "validatingadmissionpolicies", "validatingadmissionpolicybindings"
_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}
_FAILURE = "validation.policy.admission.k8s.io/validation_failure"
_LONGEST_MESSAGE, _LONGEST_NOTE = 5 << 10, 10 << 10


@dataclass(frozen=True, slots=True)
class Refusal:
    """One thing that stands against a write."""

    policy: str
    binding: str
    message: str
    reason: str = ""

    def error(self, write: Write) -> ApiError:
        """Return the answer of a real server."""
        bound = f" with binding '{self.binding}'" if self.binding else ""
        text = f"ValidatingAdmissionPolicy '{self.policy}'{bound} denied request: {self.message}"
        kind, reason = write.kind, self.reason or "Invalid"
        details = {"name": write.name, "group": kind.group, "kind": kind.plural}
        return ApiError(
            _CODES.get(reason, 422),
            reason,
            f'{qualified_resource(kind.plural, kind.group)} "{write.name}" is forbidden: {text}',
            {**{k: v for k, v in details.items() if v}, "causes": [{"message": text}]},
        )


class Policies:
    """The policies of one store."""

    def __init__(self, store: Store) -> None:
        """Read policies and bindings at each write."""
        self._store = store

    @property
    def idle(self) -> bool:
        """Whether no policy is bound."""
        return not (self._store.count(POLICIES) and self._store.count(BINDINGS))

    def check(self, write: Write, pair: Pair, webhook_answers: WebhookAnswers) -> None:
        """Let a write pass, with warnings and notes, or raise ApiError."""
        if is_about_policies(write):
            return
        refusals = []
        for policy in records_of(self._store, POLICIES):
            judge = _Judge(self._store, policy, write, pair, webhook_answers)
            with deciding(partial(decide, webhook_answers)):
                refusals += list(judge.refusals(bound_to(self._store, BINDINGS, policy)))
        if refusals:
            raise refusals[0].error(write)


class _Judge:
    """One policy and one write."""

    def __init__(
        self,
        store: Store,
        policy: ObjectRecord,
        write: Write,
        pair: Pair,
        webhook_answers: WebhookAnswers,
    ) -> None:
        self._store = store
        self._name = policy.name
        self._spec: Object = policy.body["spec"]
        self._write = write
        self._pair = pair
        self._webhook_answers = webhook_answers
        self._notes: dict[str, list[str]] = {}

    @property
    def _ignores(self) -> bool:
        return self._spec.get("failurePolicy") == "Ignore"

    def refusals(self, bindings: list[ObjectRecord]) -> Iterator[Refusal]:
        """Yield what stands against the write, in the order of bindings, parameters and validations."""
        version = self._version(self._spec["matchConstraints"]) if bindings else None
        if version is None:
            return
        try:
            kind = kind_of_params(self._store, self._spec.get("paramKind"))
        except BadConfiguration as error:
            if not self._ignores:
                yield Refusal(self._name, "", f"failed to configure policy: {error}")
            return
        for binding in bindings:
            place = binding.body["spec"].get("matchResources")
            if place is not None and self._version(place) is None:
                continue
            reference = binding.body["spec"].get("paramRef")
            try:
                found = params_of(self._store, kind, reference, self._write.namespace)
            except BadConfiguration as error:
                if not self._ignores:
                    text = f"failed to configure binding: {error}"
                    yield Refusal(self._name, binding.name, text)
                continue
            for params in found:
                yield from self._judge(binding, version, params)
        for key, values in self._notes.items():
            self._webhook_answers.annotations[f"{self._name}/{key}"] = ", ".join(values)

    def _version(self, constraints: Object) -> str | None:
        return matched_version(self._store, self._write, self._pair, constraints)

    def _judge(
        self, binding: ObjectRecord, version: str, params: Object | None
    ) -> Iterator[Refusal]:
        asked = review_of(self._write, version, self._webhook_answers.user or User(""), *self._pair)
        values = values_of(self._store, self._write, asked)
        if self._spec.get("paramKind"):
            values["params"] = params
        try:
            conditions = self._spec.get("matchConditions") or ()
            if not conditions_hold(conditions, asked, values):
                return
        except ConditionError as error:
            if not self._ignores:
                yield from self._act(binding, 0, f"{error}", "")
            return
        scope = Scope(self._spec.get("variables") or (), values)
        for index, validation in enumerate(self._spec.get("validations") or ()):
            said = self._broken(scope, validation)
            if said is not None:
                yield from self._act(binding, index, *said)
        for note in self._spec.get("auditAnnotations") or ():
            yield from self._note(scope, binding, note)

    def _broken(self, scope: Scope, validation: Mapping[str, Any]) -> tuple[str, str] | None:
        """Return (message, reason) of a validation that does not hold, None of one that does."""
        text = validation["expression"]
        try:
            if scope.evaluate(text) is True:
                return None
        except RuleError as error:
            why = f"expression '{text.strip()}' resulted in error: {error}"
            return None if self._ignores else (why, "")
        message = ""
        if validation.get("messageExpression"):
            try:
                message = str(scope.evaluate(validation["messageExpression"])).strip()
            except RuleError:
                message = ""
            if len(message.encode()) > _LONGEST_MESSAGE or "\n" in message:
                message = ""
        message = message or str(validation.get("message") or "").strip()
        return message or f"failed expression: {text.strip()}", validation.get("reason", "")

    def _act(
        self, binding: ObjectRecord, index: int, message: str, reason: str
    ) -> Iterator[Refusal]:
        """Do what a binding says is to be done about a validation that does not hold."""
        actions = binding.body["spec"]["validationActions"]
        for action in actions:
            if action == "Deny":
                yield Refusal(self._name, binding.name, message, reason)
            elif action == "Warn":
                named = f"'{self._name}' with binding '{binding.name}'"
                text = f"Validation failed for ValidatingAdmissionPolicy {named}: {message}"
                self._webhook_answers.warnings.append(text)
            else:
                failure = {
                    "message": message,
                    "policy": self._name,
                    "binding": binding.name,
                    "expressionIndex": index,
                    "validationActions": actions,
                }
                text = json.dumps([failure], separators=(",", ":"), ensure_ascii=False)
                self._webhook_answers.annotations.setdefault(_FAILURE, text)

    def _note(
        self, scope: Scope, binding: ObjectRecord, note: Mapping[str, Any]
    ) -> Iterator[Refusal]:
        text = note["valueExpression"]
        try:
            value = scope.evaluate(text.strip())
        except RuleError as error:
            if not self._ignores:
                why = f"expression '{text.strip()}' resulted in error: {error}"
                yield Refusal(self._name, binding.name, why)
            return
        if value is None or (isinstance(value, str) and not value.strip()):
            return
        if not isinstance(value, str):
            why = (
                f"valueExpression '{text}' resulted in unsupported return type. Return type must be "
                "either string or null."
            )
            yield Refusal(self._name, binding.name, why)
            return
        known = self._notes.setdefault(note["key"], [])
        if value.strip()[:_LONGEST_NOTE] not in known:
            known.append(value.strip()[:_LONGEST_NOTE])
