"""Which forms of a page about the server a client accepts; what is not offered is refused as a real server does."""

from __future__ import annotations

import re
from typing import Literal

from twin.api.messages import JSON
from twin.errors import ApiError

Offer = Literal["json", "resources", "groups"]
"""What a page is offered as: JSON whatever form is asked for (the version); JSON, YAML and protobuf."""
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
OBJECTS = (JSON, YAML, PROTOBUF)
"""What objects are offered as."""
STREAMS = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
"""What watches are offered as."""
_ANY = frozenset({"*/*"})
_FORM = re.compile(r"\bas=")


def accepted(accept: str) -> list[tuple[str, str]]:
    """Return what a client accepts, as it orders it: media types with their parameters."""
    parts = (part.partition(";") for part in accept.split(","))
    return [(media.strip(), parameters) for media, _, parameters in parts if media.strip()]


def require_acceptable(accept: str, offer: Offer) -> None:
    """Raise ApiError 406 where nothing that a client accepts is offered; who names nothing accepts all."""
    types = (JSON,) if offer == "json" else OBJECTS
    wanted = accepted(accept)
    fitting = [each for each in wanted if each[0] in types or each[0] in _ANY]
    if not wanted or any(offer == "json" or not _FORM.search(form) for _, form in fitting):
        return
    raise not_acceptable(types, framework=not fitting and offer != "groups")


def not_acceptable(types: tuple[str, ...], *, framework: bool) -> ApiError:
    """406 with what there is; in the words of the HTTP `framework` below a real server, or in its own."""
    if framework:
        why = f"406: Not Acceptable\n\nAvailable representations: {', '.join(types)}"
        return ApiError(406, "NotAcceptable", why, {})
    why = f"only the following media types are accepted: {', '.join(types)}"
    return ApiError(406, "NotAcceptable", why)
