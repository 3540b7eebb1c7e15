"""What other settings would have decided, for the page of a recording. Whoever serves it brings what computes that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bus.errors import ConfigError, InputError
from schemas.registry import to_json

WhatIf = Callable[[Sequence[str]], Awaitable[dict[str, Any]]]
"""Takes `NAME=VALUE` words, returns what `foresail what-if --json` says, and raises `ConfigError` or `InputError`."""
MOST_CHANGES = 8
TEXT_LENGTH = 200
NOT_HERE = (
    "Of a running stack nothing is computed here: record it (`foresail recording record`), "
    "and open the recording with `foresail dashboard FILE`."
)


class WhatIfRoute:
    """The address that answers it."""

    def __init__(self, what_if: WhatIf | None) -> None:
        self._what_if = what_if

    async def answer(self, request: Request) -> Response:
        """Return what the changes in `set` would have decided."""
        if self._what_if is None:
            return JSONResponse({"error": NOT_HERE}, 404)
        words = [word[:TEXT_LENGTH] for word in request.query_params.getlist("set")[:MOST_CHANGES]]
        try:
            content = await self._what_if(words)
        except (ConfigError, InputError) as error:
            return JSONResponse({"error": f"{error.value}: {error.remedy}"}, 400)
        return Response(
            to_json(content), media_type="application/json", headers={"cache-control": "no-store"}
        )
