"""Header fields of a request, by their names in lower case."""

from __future__ import annotations

from typing import Any

IMPERSONATION = "impersonate-"


def decode_headers(scope: dict[str, Any]) -> dict[str, str]:
    """Return the headers of an ASGI request: of one that is there twice the last, but each on a line of
    its own where they say for whom the request acts.
    """
    pairs = [
        (name.decode("latin-1").lower(), value.decode("latin-1"))
        for name, value in scope["headers"]
    ]
    headers = dict(pairs)
    if len(headers) != len(pairs):
        for header in headers:
            if header.startswith(IMPERSONATION):
                headers[header] = "\n".join(value for name, value in pairs if name == header)
    return headers
