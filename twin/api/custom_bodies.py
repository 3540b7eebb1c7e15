"""Custom resources and their definitions as clients send them: read, pruned, in the form of their kind."""

from __future__ import annotations

from typing import Any

from twin.admission.custom import structural
from twin.api.messages import Object
from twin.api.schema import Field
from twin.api.schema.checking import Check
from twin.custom import pruning
from twin.errors import ApiError, bad_request, invalid
from twin.kinds import Kind

_META = Field("metadata", 0, "meta.v1.ObjectMeta")
_EXACT = float(1 << 53)


def check_type(obj: Object, kind: Kind) -> None:
    """Raise ApiError 400 or 422 for a body that says it is of another kind or version."""
    version, name = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(name, str) or not name or not isinstance(version, str) or not version:
        missing = "apiVersion" if name else "Kind"
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind.kind}): Object '{missing}' is missing"
        )
    if version != kind.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({kind.api_version})"
        )
    if name != kind.kind:
        metadata = obj.get("metadata")
        called = metadata.get("name", "") if isinstance(metadata, dict) else ""
        why = f'Invalid value: "{name}": must be {kind.kind}'
        raise invalid(name, kind.group, str(called), [("kind", why)])


def clean_custom(obj: Object, kind: Kind, check: Check) -> Object:
    """Return a custom resource without fields that its schema has no place for; `check` collects them.

    Nulls stay, since only defaulting knows what they stand for. Raises ApiError 400.
    """
    assert kind.custom is not None
    cleaned: Object = _plain(obj)
    schema, unknown = kind.custom.schema, list(pruning.prune(cleaned, kind.custom.schema))
    if cleaned.get("metadata") is not None:
        cleaned["metadata"] = check.clean(cleaned["metadata"], _META, "metadata")
    for path, inner in pruning.embedded_objects(cleaned, schema):
        if inner.get("metadata") is not None:
            inner["metadata"] = check.clean(inner["metadata"], _META, f"{path}.metadata")
    check.unknown = sorted([*check.unknown, *unknown])
    return cleaned


def clean_definition(cleaned: Object, check: Check) -> None:
    """Drop unknown fields of a definition's schemas in place; raises ApiError 400 for a wrong type."""
    spec = cleaned.get("spec") or {}
    for index, version in enumerate(spec.get("versions") or ()):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is not None:
            path = f"spec.versions[{index}].schema.openAPIV3Schema"
            unknown, wrong = structural.clean(schema, path)
            check.unknown += unknown
            if wrong:
                raise _wrong_type(wrong)


def _wrong_type(path: str) -> ApiError:
    return bad_request(
        'CustomResourceDefinition in version "v1" cannot be handled as a CustomResourceDefinition: '
        f"json: cannot unmarshal into field {path} of type JSONSchemaProps"
    )


def _plain(value: Any) -> Any:
    """Return a copy in which whole numbers are integers, however they were written."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    return value
