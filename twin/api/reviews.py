"""What clients ask about themselves: `kubectl auth can-i`, `auth can-i --list`, `auth whoami`."""

from __future__ import annotations

from typing import Any

from twin.api.access import IDENTITIES, Attributes, Identity
from twin.api.bodies import read_body, require_map
from twin.api.messages import Object, Request, Response, respond
from twin.errors import ApiError, bad_request

REVIEWS = {
    ("authorization.k8s.io", "v1"): {
        "selfsubjectaccessreviews": ("SelfSubjectAccessReview", False),
        "selfsubjectrulesreviews": ("SelfSubjectRulesReview", False),
        "subjectaccessreviews": ("SubjectAccessReview", False),
    },
    ("authentication.k8s.io", "v1"): {
        "selfsubjectreviews": ("SelfSubjectReview", False),
    },
}
"""Reviews by group and version: plural to kind and whether it is namespaced; nothing is kept."""


def review(resource: str, request: Request, identity: Identity) -> Response:
    """Answer one review; raises ApiError 400 or 405."""
    if request.method != "POST":
        raise ApiError(405, "MethodNotAllowed", "reviews are created, not kept")
    review_object = read_body(request)
    spec = require_map(review_object, "spec")
    status: Object
    match resource:
        case "selfsubjectaccessreviews":
            status = _access(spec, identity)
        case "subjectaccessreviews":
            status = _access(spec, _known_identity(spec.get("user")))
        case "selfsubjectrulesreviews":
            status = _rules(spec, identity)
        case _:
            status = {"userInfo": user_info(identity)}
    metadata = review_object.get("metadata") or {}
    return respond(201, {**review_object, "metadata": {**metadata, "creationTimestamp": None},
                         "status": status})  # fmt: skip


def user_info(identity: Identity) -> Object:
    """Return the user as the API names it."""
    return {"username": identity.user, "uid": identity.uid, "groups": list(identity.all_groups)}


def _known_identity(user: Any) -> Identity:
    for identity in IDENTITIES:
        if identity.user == user:
            return identity
    return Identity("", (), paths=(), stranger=str(user))


def _access(spec: Object, identity: Identity) -> Object:
    resource, path = (
        require_map(spec, "resourceAttributes"),
        require_map(spec, "nonResourceAttributes"),
    )
    if bool(resource) is bool(path):
        raise bad_request("give exactly one of resourceAttributes and nonResourceAttributes")
    if path:
        return {"allowed": identity.may_path(_text(path, "verb"), _text(path, "path"))}
    names = ("verb", "group", "resource", "subresource", "namespace", "name")
    return {"allowed": identity.may(Attributes(**{name: _text(resource, name) for name in names}))}


def _rules(spec: Object, identity: Identity) -> Object:
    namespace = _text(spec, "namespace")
    rules = [rule for rule in identity.rules if {"*", namespace} & set(rule.namespaces)]
    return {
        "resourceRules": [
            {
                "verbs": list(rule.verbs),
                "apiGroups": list(rule.groups),
                "resources": list(rule.resources),
                **({"resourceNames": list(rule.names)} if rule.names else {}),
            }
            for rule in rules
        ]
        + [
            {"verbs": ["create"], "apiGroups": [group], "resources": [plural]}
            for (group, _), kinds in REVIEWS.items()
            for plural in kinds
            if plural.startswith("self")
        ],
        "nonResourceRules": [
            {"verbs": ["*" if path == "*" else "get"], "nonResourceURLs": [path]}
            for path in identity.paths
        ],
        "incomplete": False,
    }


def _text(owner: Object, name: str) -> str:
    value = owner.get(name, "")
    if not isinstance(value, str):
        raise bad_request(f"{name} must be a string")
    return value
