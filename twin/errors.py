"""Refusals of the embedded API server, as a real one words them.

Every refusal is an `ApiError`; the API face turns it into a `Status` object with the same code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MOST_CAUSES = 100
"""Problems that one refusal names."""


class ApiError(Exception):
    """A refused request: HTTP `status`, Kubernetes `reason`, `message` and `details`."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.details: dict[str, Any] = dict(details or {})
        self._shows_details = details is not None
        self.metadata: dict[str, Any] = dict(metadata or {})
        self.headers: dict[str, str] = {}

    def to_status(self) -> dict[str, Any]:
        """Return the Kubernetes `Status` object of this refusal."""
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
            **({"reason": self.reason} if self.reason else {}),
            **({"details": self.details} if self._shows_details or self.details else {}),
            "code": self.status,
        }


class PageNotFound(ApiError):
    """404 of a path that is no part of any served API; a real server answers it as plain text."""

    def __init__(self) -> None:
        super().__init__(404, "NotFound", "404 page not found")


def qualified_resource(resource: str, group: str) -> str:
    """Return `deployments.apps`, or the bare resource for the core group."""
    plural = resource.partition(".")[0]
    return f"{plural}.{group}" if group else resource


def _details(resource: str, group: str, name: str) -> dict[str, Any]:
    details = {"name": name, "group": group, "kind": resource.partition(".")[0]}
    return {key: value for key, value in details.items() if value}


def not_found(resource: str, name: str, *, group: str = "") -> ApiError:
    """404 of one object."""
    message = f'{qualified_resource(resource, group)} "{name}" not found'
    return ApiError(404, "NotFound", message, _details(resource, group, name))


def unknown_resource(resource: str) -> ApiError:
    """404 of a resource that this server does not serve."""
    message = "the server could not find the requested resource"
    del resource  # a real server does not say either
    return ApiError(404, "NotFound", message, {})


def method_not_allowed() -> ApiError:
    """405 of a verb that a path does not have."""
    return ApiError(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
        {},
    )


def versioned_creation() -> ApiError:
    """500 of a new object that says of which version it is."""
    return ApiError(500, "", "resourceVersion should not be set on objects to be created")


def already_exists(resource: str, name: str, *, group: str = "") -> ApiError:
    """409 of a create whose name is taken."""
    message = f'{qualified_resource(resource, group)} "{name}" already exists'
    return ApiError(409, "AlreadyExists", message, _details(resource, group, name))


def conflict(resource: str, name: str, why: str, *, group: str = "") -> ApiError:
    """409 of a write that was based on an older version or another object of that name."""
    message = (
        f'Operation cannot be fulfilled on {qualified_resource(resource, group)} "{name}": {why}'
    )
    return ApiError(409, "Conflict", message, _details(resource, group, name))


def invalid(kind: str, group: str, name: str, causes: Sequence[tuple[str, str]]) -> ApiError:
    """422 of an object that fails validation; causes are (field path, sentence)."""
    left = len(causes) - MOST_CAUSES
    if left > 0:
        causes = [*causes[:MOST_CAUSES], ("", f"Too many: {left} problems more are not listed")]
    lines = [f"{path}: {sentence}" for path, sentence in causes]
    text = lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"
    details = _details(kind, group, name)
    details["causes"] = [
        {"reason": _reason(sentence), "message": sentence, "field": path}
        for path, sentence in causes
    ]
    message = f'{qualified_resource(kind, group)} "{name}" is invalid: {text}'
    return ApiError(422, "Invalid", message, details)


def invalid_metadata(kind: Any, name: str, causes: Sequence[tuple[str, str]]) -> ApiError:
    """422 of an update of metadata, which a real server checks twice: each cause is there twice, and told once."""
    error = invalid(kind.kind, kind.group, name, causes)
    error.details["causes"] = error.details["causes"] * 2
    return error


def _reason(sentence: str) -> str:
    """Return the word for what a sentence says about a field."""
    if " in body must be of type " in sentence:
        return "FieldValueTypeInvalid"
    return _REASONS.get(sentence.partition(":")[0], "FieldValueInvalid")


_REASONS = {
    "Required value": "FieldValueRequired",
    "Duplicate value": "FieldValueDuplicate",
    "Unsupported value": "FieldValueNotSupported",
    "Forbidden": "FieldValueForbidden",
    "Not found": "FieldValueNotFound",
    "Too long": "FieldValueTooLong",
    "Too many": "FieldValueTooMany",
}


def bad_request(message: str) -> ApiError:
    """400 of a request that cannot be understood."""
    return ApiError(400, "BadRequest", message)


def forbidden(resource: str, name: str, why: str, *, group: str = "") -> ApiError:
    """403 of a request that policy refuses."""
    message = f'{qualified_resource(resource, group)} "{name}" is forbidden: {why}'
    return ApiError(403, "Forbidden", message, _details(resource, group, name))


def gone_error(since: int, oldest: int) -> ApiError:
    """410 of a watch that starts before the oldest kept change."""
    message = f"too old resource version: {since} ({oldest})"
    return ApiError(410, "Expired", message)


def eviction_refused(budget: str, needed: int, healthy: int) -> ApiError:
    """429 of an eviction that would break a PodDisruptionBudget."""
    why = f"The disruption budget {budget} needs {needed} healthy pods and has {healthy} currently"
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    details = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
    return ApiError(429, "TooManyRequests", message, details)
