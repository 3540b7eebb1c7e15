"""Another recording beside the one that is shown. Whoever serves the page brings what computes that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bus.errors import InputError
from schemas.registry import to_json

Compare = Callable[[], Awaitable[dict[str, Any]]]
"""Returns what `foresail diff A B --clusters --json` says, and raises `InputError`."""
NOT_GIVEN = (
    "Nothing was given to compare with: `foresail dashboard A --compare B` shows two recordings beside each other, "
    "`foresail dashboard RESULTS:ARM --compare RESULTS:ARM` two arms of an experiment."
)


class CompareRoute:
    """The address that answers it."""

    def __init__(self, compare: Compare | None) -> None:
        self._compare = compare

    async def answer(self, request: Request) -> Response:
        """Return both recordings beside each other, from their beginning to their end; or how to give another one."""
        del request
        if self._compare is None:
            return JSONResponse({"nothing": NOT_GIVEN})
        try:
            content = await self._compare()
        except InputError as error:
            return JSONResponse({"error": f"{error.value}: {error.remedy}"}, 400)
        return Response(
            to_json(content), media_type="application/json", headers={"cache-control": "no-store"}
        )
