"""What other settings would have decided. Whoever serves the page brings what computes that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bus.errors import ConfigError, InputError
from schemas.registry import to_json
from services.dashboard.address_numbers import Newest, number_in

WhatIf = Callable[[Sequence[str], int], Awaitable[dict[str, Any]]]
"""Takes `NAME=VALUE` words and the position up to which a running stack's log counts; returns what
`foresail what-if --json` says, and raises `ConfigError` or `InputError`.
"""
MOST_CHANGES = 8
TEXT_LENGTH = 200
NOT_HERE = "On this page nothing is computed: open the recording with `foresail dashboard FILE`."


class WhatIfRoute:
    """The address that answers it."""

    def __init__(self, what_if: WhatIf | None, newest: Newest) -> None:
        self._what_if = what_if
        self._newest = newest

    async def answer(self, request: Request) -> Response:
        """Return what the changes in `set` would have decided, up to the position `at`."""
        if self._what_if is None:
            return JSONResponse({"error": NOT_HERE}, 404)
        words = [word[:TEXT_LENGTH] for word in request.query_params.getlist("set")[:MOST_CHANGES]]
        at_seq, newest_seq = number_in(request, "at"), self._newest()
        until_seq = newest_seq if at_seq is None else min(at_seq, newest_seq)
        try:
            content = await self._what_if(words, until_seq)
        except (ConfigError, InputError) as error:
            return JSONResponse({"error": f"{error.value}: {error.remedy}"}, 400)
        return Response(
            to_json(content), media_type="application/json", headers={"cache-control": "no-store"}
        )
