"""AdmissionReviews: what is sent to a webhook, and what its answer means."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from twin.encoding import json_of
from twin.errors import ApiError
from twin.rbac.attributes import User
from twin.records import Object
from twin.webhooks.hooks import Webhook
from twin.webhooks.matching import Write

API_VERSION = "admission.k8s.io/v1"


class BadAnswer(Exception):
    """An answer that says nothing that can be used."""


@dataclass(frozen=True, slots=True)
class AdmissionResponse:
    """What a webhook says."""

    allowed: bool
    result: Object
    patch: Any
    """Steps of a JSON patch; empty for none."""
    warnings: tuple[str, ...]
    annotations: dict[str, str]


def review_of(
    write: Write, version: str, user: User, obj: Object | None, old: Object | None
) -> Object:
    """Return the request of a review without its uid, in the version in which the webhook is about the write."""
    group, own_version, kind = write.object_kind
    shown_version = own_version if write.shown else version
    resource = {"group": write.kind.group, "version": version, "resource": write.kind.plural}
    requested = {**resource, "version": write.kind.version}
    options: Object = {"kind": write.options, "apiVersion": "meta.k8s.io/v1"}
    if write.manager and write.operation != "DELETE":
        options["fieldManager"] = write.manager
    if write.dry_run:
        options["dryRun"] = ["All"]
    request = {
        "kind": {"group": group, "version": shown_version, "kind": kind},
        "resource": resource,
        "subResource": write.subresource,
        "requestKind": {"group": group, "version": own_version, "kind": kind},
        "requestResource": requested,
        "requestSubResource": write.subresource,
        "name": write.name,
        "namespace": write.namespace,
        "operation": write.operation,
        "userInfo": _user(user),
        "object": _in_version(obj, write, shown_version),
        "oldObject": _in_version(old, write, shown_version),
        "dryRun": write.dry_run,
        "options": options,
    }
    optional = ("subResource", "requestSubResource", "name", "namespace")
    return {name: value for name, value in request.items() if value or name not in optional}


def key_of(hook: Webhook, number: int, request: Object) -> str:
    """Name the answer of a webhook to a request, asked for the `number`th time."""
    about = [hook.configuration, hook.spec, number, request]
    text = json.dumps(about, sort_keys=True, ensure_ascii=False).encode()
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def uid_of(key: str, at: float) -> str:
    """Return the uid of a review: the same whenever the write of that moment is tried again."""
    text = f"{key}/{at!r}".encode()
    return str(UUID(bytes=hashlib.blake2b(text, digest_size=16).digest(), version=4))


def body_of(request: Object, uid: str) -> bytes:
    """Return the body that is sent."""
    return json_of(
        {
            "kind": "AdmissionReview",
            "apiVersion": API_VERSION,
            "request": {"uid": uid, **request},
        }
    )


def read_verdict(review: Any, uid: str, *, mutating: bool) -> AdmissionResponse:
    """Read an answer; raises BadAnswer."""
    if not isinstance(review, dict) or not isinstance(review.get("response"), dict):
        raise BadAnswer("webhook response was absent")
    response = review["response"]
    if response.get("uid") != uid:
        raise BadAnswer(f'expected response.uid="{uid}", got "{response.get("uid", "")}"')
    stated = (review.get("apiVersion", ""), review.get("kind", ""))
    if stated != (API_VERSION, "AdmissionReview"):
        version, kind = stated
        said = f"{version}, Kind={kind}"
        raise BadAnswer(
            f"expected webhook response of {API_VERSION}, Kind=AdmissionReview, got {said}"
        )
    warnings, annotations = response.get("warnings"), response.get("auditAnnotations")
    result = response.get("status")
    return AdmissionResponse(
        response.get("allowed") is True,
        result if isinstance(result, dict) else {},
        _patch(response, mutating=mutating),
        tuple(str(each) for each in warnings) if isinstance(warnings, list) else (),
        {str(k): str(v) for k, v in annotations.items()} if isinstance(annotations, dict) else {},
    )


def denial(hook: Webhook, verdict: AdmissionResponse) -> ApiError:
    """Return the refusal that a webhook asks for."""
    result = verdict.result
    code, reason = result.get("code"), str(result.get("reason") or "")
    said = str(result.get("message") or reason)
    denied = f'admission webhook "{hook.name}" denied the request'
    known = isinstance(code, int) and 400 <= code < 600
    return ApiError(
        code if known and isinstance(code, int) else 400,
        reason,
        f"{denied}: {said}" if said else f"{denied} without explanation",
        result["details"] if isinstance(result.get("details"), dict) else None,
    )


def failure(hook: Webhook, why: str) -> ApiError:
    """Return the refusal when a webhook that has to be asked could not be."""
    message = f'Internal error occurred: failed calling webhook "{hook.name}": {why}'
    cause = {"message": message.removeprefix("Internal error occurred: ")}
    return ApiError(500, "InternalError", message, {"causes": [cause]})


def _patch(response: Object, *, mutating: bool) -> Any:
    patch, kind = response.get("patch"), response.get("patchType")
    if not mutating:
        for name in ("patch", "patchType"):
            if response.get(name):
                raise BadAnswer(f"validating webhook may not return response.{name}")
        return []
    if patch and kind is None:
        raise BadAnswer("webhook returned response.patch but not response.patchType")
    if not patch and kind is not None:
        raise BadAnswer("webhook returned response.patchType but not response.patch")
    if not patch:
        return []
    if kind != "JSONPatch":
        raise BadAnswer(f'unsupported patch type "{kind}"')
    try:
        steps = json.loads(base64.b64decode(patch, validate=True))
    except (ValueError, binascii.Error, TypeError) as error:
        raise BadAnswer(f"received undecodable patch in webhook response: {error}") from error
    return steps


def _in_version(obj: Object | None, write: Write, version: str) -> Object | None:
    """Return an object as a webhook sees it; it says what it is."""
    if obj is None:
        return None
    group, own_version, kind = write.object_kind
    used = version if write.shown is None else own_version
    api_version = f"{group}/{used}" if group else used
    return {**obj, "kind": kind, "apiVersion": api_version}


def _user(user: User) -> Object:
    shown: Object = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    if user.extra:
        shown["extra"] = {key: list(values) for key, values in user.extra}
    return {name: value for name, value in shown.items() if value}
