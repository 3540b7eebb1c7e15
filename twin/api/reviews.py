"""What clients ask about rights: `kubectl auth can-i`, `auth can-i --list`, `auth whoami`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from twin.api import ownership
from twin.api.access import Attributes, Requester
from twin.api.account_tokens import ISSUER, AccountTokens
from twin.api.bodies import read_object, require_map
from twin.api.messages import Object, Request, Response, json_bytes, respond
from twin.api.negotiation import require_acceptable
from twin.api.objects import UNKNOWN_MANAGER
from twin.api.ownership import Writer
from twin.api.rbac_access import Access
from twin.api.schema import ANY
from twin.api.schema.custom import root_field
from twin.errors import ApiError, bad_request, method_not_allowed, unknown_resource
from twin.kinds import Kind
from twin.rbac.attributes import Decision, User
from twin.timestamps import rfc3339

AUTHORIZATION = "authorization.k8s.io"
AUTHENTICATION = "authentication.k8s.io"
REVIEWS = {
    (AUTHORIZATION, "v1"): {
        "localsubjectaccessreviews": ("LocalSubjectAccessReview", True),
        "selfsubjectaccessreviews": ("SelfSubjectAccessReview", False),
        "selfsubjectrulesreviews": ("SelfSubjectRulesReview", False),
        "subjectaccessreviews": ("SubjectAccessReview", False),
    },
    (AUTHENTICATION, "v1"): {
        "selfsubjectreviews": ("SelfSubjectReview", False),
        "tokenreviews": ("TokenReview", False),
    },
}
"""Reviews by group and version: plural to kind and whether it is namespaced; nothing is kept."""
_RESOURCE = ("verb", "group", "resource", "subresource", "namespace", "name")


def review(
    asked: Attributes,
    request: Request,
    requester: Requester,
    access: Access,
    tokens: AccountTokens,
    now: float,
) -> Response:
    """Answer one review; raises ApiError 400, 405 or 422."""
    if asked.name:
        raise unknown_resource(asked.resource)
    if request.method != "POST":
        raise method_not_allowed()
    require_acceptable(request.headers.get("accept", ""), "groups")
    kind = _kind_of(asked)
    stated = read_object(request, kind)
    body = stated.obj
    managed = _owners(body, kind, request, now)
    if asked.group == AUTHORIZATION:
        _check_metadata(body, managed)
    spec = require_map(body, "spec")
    status: Object
    match asked.resource:
        case "tokenreviews":
            status = _token_review(spec, tokens)
        case "selfsubjectaccessreviews":
            status = _access(spec, requester)
        case "subjectaccessreviews":
            status = _access(spec, _subject(spec, access))
        case "localsubjectaccessreviews":
            _check_local(spec, asked.namespace)
            status = _access(spec, _subject(spec, access))
        case "selfsubjectrulesreviews":
            status, spec = _rules(spec, requester), {}
        case _:
            status = {"userInfo": user_info(requester)}
    metadata = {**(body.get("metadata") or {}), **({"managedFields": managed} if managed else {})}
    if kind.namespaced:
        metadata["namespace"] = asked.namespace
    if asked.resource == "selfsubjectreviews":
        metadata["creationTimestamp"] = rfc3339(now)
    named = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}
    answer = respond(201, {**named, "spec": spec, "status": status})
    return replace(answer, headers=stated.headers())


def _owners(body: Object, kind: Kind, request: Request, now: float) -> list[Object]:
    """Return who owns the fields of a review: who asks."""
    manager = request.query.get("fieldManager", "") or UNKNOWN_MANAGER
    root = root_field(kind) or ANY
    stated = {name: value for name, value in body.items() if name != "status"}
    new = {"metadata": {}, **stated}
    return ownership.after_update(
        None, new, root, Writer(manager, kind.api_version, rfc3339(now)), stated
    )


def _check_metadata(body: Object, managed: list[Object]) -> None:
    """Raise ApiError 422 for a review that has a name, or anything else of an object."""
    metadata = {name: value for name, value in (body.get("metadata") or {}).items() if value}
    metadata.pop("namespace", None)
    if metadata:
        shown = json_bytes({**metadata, "managedFields": managed}).decode()
        raise _invalid("metadata", f"{shown}: must be empty")


def _kind_of(asked: Attributes) -> Kind:
    """Return what a review is read as; no such objects are kept."""
    kind, namespaced = REVIEWS[asked.group, "v1"][asked.resource]
    return Kind(asked.resource, kind, asked.group, "v1", namespaced)


def _token_review(spec: Object, tokens: AccountTokens) -> Object:
    token = _text(spec, "token")
    if not token:
        raise bad_request("token is required for TokenReview in authentication")
    found = tokens.person(token, spec.get("audiences") or (ISSUER,))
    if found is None:
        return {"user": {}, "error": "invalid bearer token"}
    who, audiences = found
    return {"authenticated": True, "user": user_info(who), "audiences": list(audiences)}


def user_info(requester: Requester) -> Object:
    """Return the user as the API names it."""
    info: Object = {"username": requester.user, "groups": list(requester.all_groups)}
    if requester.uid:
        info["uid"] = requester.uid
    if requester.extra:
        info["extra"] = {key: list(values) for key, values in requester.extra}
    return info


def _subject(spec: Object, access: Access) -> Requester:
    """Return who is asked about; raises ApiError 422."""
    user, groups = _text(spec, "user"), spec.get("groups") or []
    if not user and not groups:
        raise _invalid("spec.user", '"": at least one of user or group must be specified')
    extra = tuple((key, tuple(values)) for key, values in require_map(spec, "extra").items())
    return access.of_user(User(user, _text(spec, "uid"), tuple(groups), extra))


def _access(spec: Object, requester: Requester) -> Object:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        why = "cannot be specified in combination with resourceAttributes"
        raise _invalid("spec.nonResourceAttributes", f"{_path_text(path)}: {why}")
    if resource is None and path is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        raise _invalid("spec.resourceAttributes", f"null: {why}")
    if path is not None:
        path = require_map(spec, "nonResourceAttributes")
        decision = requester.decide_path(_text(path, "verb"), _text(path, "path"))
        return _answer(decision)
    resource = require_map(spec, "resourceAttributes")
    for name in ("labelSelector", "fieldSelector"):
        selector = require_map(resource, name)
        if selector.get("rawSelector") and selector.get("requirements"):
            stated = json_bytes(selector["rawSelector"]).decode()
            why = f"{stated}: may not specified at the same time as requirements"
            raise _invalid(f"spec.resourceAttributes.{name}.rawSelector", why)
    asked = Attributes(**{name: _text(resource, name) for name in _RESOURCE})
    return _answer(requester.decide(asked))


def _answer(decision: Decision) -> Object:
    answer: Object = {"allowed": decision.allowed}
    if decision.reason:
        answer["reason"] = decision.reason
    if decision.error:
        answer["evaluationError"] = decision.error
    return answer


def _check_local(spec: Object, namespace: str) -> None:
    path = spec.get("nonResourceAttributes")
    if path is not None:
        why = "disallowed on this kind of request"
        raise _invalid("spec.nonResourceAttributes", f"{_path_text(path)}: {why}")
    stated = _text(require_map(spec, "resourceAttributes"), "namespace")
    if stated != namespace:
        why = f'"{stated}": must match metadata.namespace'
        raise _invalid("spec.resourceAttributes.namespace", why)


def _rules(spec: Object, requester: Requester) -> Object:
    namespace = _text(spec, "namespace")
    if not namespace:
        raise bad_request("no namespace on request")
    rules, paths, missing = requester.rules_in(namespace)
    status: Object = {
        "resourceRules": rules,
        "nonResourceRules": paths,
        "incomplete": bool(missing),
    }
    if missing:
        status["evaluationError"] = ", ".join(dict.fromkeys(missing))
    return status


def _invalid(field: str, why: str) -> ApiError:
    """422 of a review, which a real server words without a kind."""
    message = f"Invalid value: {why}"
    cause = {"reason": "FieldValueInvalid", "message": message, "field": field}
    details = {"group": AUTHORIZATION, "causes": [cause]}
    text = f'.{AUTHORIZATION} "" is invalid: {field}: {message}'
    return ApiError(422, "Invalid", text, details)


def _path_text(path: Any) -> str:
    stated = path if isinstance(path, dict) else {}
    return json_bytes({"Path": stated.get("path", ""), "Verb": stated.get("verb", "")}).decode()


def _text(owner: Object, name: str) -> str:
    value = owner.get(name, "")
    if not isinstance(value, str):
        raise bad_request(f"{name} must be a string")
    return value
