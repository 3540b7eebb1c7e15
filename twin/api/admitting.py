"""Writes of clients before webhooks and admission policies: changed by some, then let pass or refused.

Changing webhooks are asked one after the other, by the names of their configurations; those with
`reinvocationPolicy: IfNeeded` once more when a later one changed the object. Then the object is checked, and what may
only refuse is asked, all at once. A write whose answers are not all there ends with `CallsNeeded`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from twin import admission
from twin.api.json_patch import apply_json_patch
from twin.api.messages import Object, Request
from twin.copying import copy_object
from twin.errors import ApiError, forbidden
from twin.kinds import Kind
from twin.policies.deciding import Policies
from twin.rbac.attributes import User
from twin.store import Review, Store
from twin.webhooks.answers import Call, CallsNeeded, WebhookAnswers
from twin.webhooks.conditions import ConditionError, conditions_hold
from twin.webhooks.hooks import MUTATING, VALIDATING, NoAddress, Webhook, hooks_of
from twin.webhooks.matching import GROUP, Write, version_for
from twin.webhooks.reviews import (
    AdmissionResponse,
    BadAnswer,
    body_of,
    denial,
    failure,
    key_of,
    read_verdict,
    review_of,
    uid_of,
)
from twin.webhooks.selecting import Pair, is_selected, served_versions

_NOBODY_CALLS = "failed to call webhook: nobody calls webhooks here"


class Admission:
    """Webhooks and policies over one store."""

    def __init__(self, store: Store) -> None:
        """Read configurations of `store` at each write."""
        self._store = store
        self._policies = Policies(store)

    @property
    def idle(self) -> bool:
        """Whether there is nobody to ask."""
        asked = any(self._store.count(resource) for resource in (MUTATING, VALIDATING))
        return not asked and self._policies.idle

    def mutated(
        self,
        write: Write,
        obj: Object,
        old: Object | None,
        request: Request,
        read: Callable[[Object], Object],
    ) -> Object:
        """Return an object as changing webhooks leave it; `read` gives a changed one the form of its
        kind.

        Raises ApiError and CallsNeeded.
        """
        hooks = [] if write.kind.group == GROUP else hooks_of(self._store, MUTATING)
        if not hooks:
            return obj
        asking = _Asking(self._store, write, _webhook_answers(request))
        shown = _defaulted(write, obj, old)
        seen: dict[int, Object] = {}
        for number, hook in enumerate(hooks):
            answer = self._changed_by(asking, hook, 0, shown, old, read)
            if answer is not None:
                shown = seen[number] = answer
        for number, hook in enumerate(hooks):
            if number in seen and hook.asked_again and seen[number] != shown:
                answer = self._changed_by(asking, hook, 1, shown, old, read)
                shown = shown if answer is None else answer
        return shown if seen else obj

    def show_deletion(self, write: Write, old: Object, request: Request) -> None:
        """Show changing webhooks a deletion, which they can refuse. Raises ApiError and CallsNeeded."""
        if write.kind.group == GROUP or not self._store.count(MUTATING):
            return
        asking = _Asking(self._store, write, _webhook_answers(request))
        for hook in hooks_of(self._store, MUTATING):
            key = asking.prepare(hook, 0, (None, old))
            if asking.calls:
                raise CallsNeeded(asking.calls)
            verdict = None if key is None else asking.verdict(hook, key)
            if verdict is not None and verdict.patch:
                why = (
                    f'admission webhook "{hook.name}" attempted to modify the object, which is not supported '
                    "for this operation"
                )
                raise ApiError(500, "InternalError", f"Internal error occurred: {why}")

    def reviewing(self, write: Write, request: Request) -> Review:
        """Return what lets the object of a write pass once it is complete."""

        def review(old: Object | None, new: Object) -> None:
            named = replace(write, name=new["metadata"]["name"])
            self.check([(named, (new, old))], request)

        return review

    def _changed_by(
        self,
        asking: _Asking,
        hook: Webhook,
        round_number: int,
        shown: Object,
        old: Object | None,
        read: Callable[[Object], Object],
    ) -> Object | None:
        """Return what a webhook makes of an object; None when the write is none of its business."""
        key = asking.prepare(hook, round_number, (shown, old))
        if key is None:
            return None
        if asking.calls:
            raise CallsNeeded(asking.calls)
        verdict = asking.verdict(hook, key)
        if verdict is None or not verdict.patch:
            return shown
        try:
            patched = apply_json_patch({**shown, **asking.write.head}, verdict.patch)
            return _defaulted(asking.write, read(patched), old)
        except ApiError as error:
            message = f"Internal error occurred: {error.message}"
            raise ApiError(500, "InternalError", message) from error

    def check(self, writes: Sequence[tuple[Write, Pair]], request: Request) -> None:
        """Let writes pass or raise ApiError; all that has to be asked about them is asked at once."""
        webhook_answers = _webhook_answers(request)
        if not self._policies.idle:
            for write, pair in writes:
                self._policies.check(write, pair, webhook_answers)
        if not self._store.count(VALIDATING):
            return
        hooks = hooks_of(self._store, VALIDATING)
        questions: list[tuple[_Asking, Webhook, str]] = []
        calls: list[Call] = []
        for write, pair in writes:
            if write.kind.group == GROUP:
                continue
            asking = _Asking(self._store, write, webhook_answers)
            for hook in hooks:
                key = asking.prepare(hook, 0, pair)
                if key is not None:
                    questions.append((asking, hook, key))
            calls += asking.calls
        if calls:
            raise CallsNeeded(calls)
        for asking, hook, key in questions:
            asking.verdict(hook, key)


class _Asking:
    """The questions about one write."""

    def __init__(self, store: Store, write: Write, webhook_answers: WebhookAnswers) -> None:
        self._store = store
        self.write = write
        self._webhook_answers = webhook_answers
        self.calls: list[Call] = []

    def prepare(self, hook: Webhook, number: int, pair: Pair) -> str | None:
        """Return the key of a webhook's answer, to be called for if it is not there; None: not asked."""
        versions = served_versions(self._store, self.write.kind)
        version = version_for(hook.spec.get("rules") or (), self.write, versions, exact=hook.exact)
        if version is None or not is_selected(self._store, self.write, hook.spec, pair):
            return None
        user = self._webhook_answers.user or User("")
        asked = review_of(self.write, version, user, *pair)
        try:
            if not conditions_hold(hook.spec.get("matchConditions") or (), asked):
                return None
        except ConditionError as error:
            if hook.ignores_failure:
                return None
            kind, name = self.write.kind, self.write.name
            raise forbidden(kind.plural, name, str(error), group=kind.group) from error
        key = key_of(hook, number, asked)
        if key in self._webhook_answers.answers:
            return key
        if self._webhook_answers.closed:
            self._webhook_answers.answers[key] = {"error": _NOBODY_CALLS}
            return key
        try:
            address = hook.address(self._store)
        except NoAddress as error:
            self._webhook_answers.answers[key] = {"error": f"failed to call webhook: {error}"}
            return key
        self.calls.append(
            Call(
                key,
                address.url,
                address.server_name,
                address.connect_to,
                hook.authority_pem,
                hook.timeout_seconds,
                body_of(asked, uid_of(key, self._webhook_answers.at)),
            )
        )
        return key

    def verdict(self, hook: Webhook, key: str) -> AdmissionResponse | None:
        """Return what a webhook said; None where its failure is ignored. Raises ApiError."""
        answer = self._webhook_answers.answers[key]
        try:
            if "error" in answer:
                raise BadAnswer(answer["error"])
            uid = uid_of(key, self._webhook_answers.at)
            verdict = _read(answer["review"], uid, mutating=hook.mutating)
        except BadAnswer as error:
            if hook.ignores_failure:
                self._webhook_answers.annotations[f"failed-open/{hook.name}"] = str(error)
                return None
            raise failure(hook, f"{error}") from error
        self._webhook_answers.warnings += verdict.warnings
        for name, value in verdict.annotations.items():
            self._webhook_answers.annotations[f"{hook.name}/{name}"] = value
        if not verdict.allowed:
            raise denial(hook, verdict)
        return verdict


def _read(review: Object, uid: str, *, mutating: bool) -> AdmissionResponse:
    try:
        return read_verdict(review, uid, mutating=mutating)
    except BadAnswer as error:
        raise BadAnswer(f"received invalid webhook response: {error}") from error


def _webhook_answers(request: Request) -> WebhookAnswers:
    """Return what is known of a write; without anything nobody is called."""
    return request.webhook_answers or WebhookAnswers(0.0, closed=True)


def _defaulted(write: Write, obj: Object, old: Object | None) -> Object:
    """Return a copy with defaults; what is wrong with it is said when it is stored."""
    shown: Object = copy_object(obj)
    if write.shown is not None or write.subresource:
        return shown
    head = shown.setdefault("metadata", {})
    if write.namespace and write.kind.namespaced:
        head.setdefault("namespace", write.namespace)
    try:
        if old is None:
            admission.admit_new(write.kind, shown)
        else:
            admission.admit_change(write.kind, old, shown, None)
    except ApiError:
        return shown
    return shown


def write_of(
    operation: str,
    kind: Kind,
    place: tuple[str, str],
    request: Request,
    *,
    subresource: str = "",
    shown: tuple[str, str, str] | None = None,
    dry_run: bool | None = None,
) -> Write:
    """Return what a request is about to do to the object at (namespace, name)."""
    options = {"CREATE": "CreateOptions", "DELETE": "DeleteOptions"}.get(operation, "UpdateOptions")
    if operation == "UPDATE" and request.method == "PATCH":
        options = "PatchOptions"
    return Write(
        operation,
        kind,
        place[0],
        place[1],
        subresource,
        shown,
        options,
        request.query.get("fieldManager", ""),
        request.dry_run if dry_run is None else dry_run,
    )
