"""A recording beside what is shown. Whoever serves the page brings what computes that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bus.errors import InputError
from schemas.registry import to_json
from services.dashboard.address_numbers import Newest, number_in

Compare = Callable[[int | None, int], Awaitable[dict[str, Any]]]
"""Takes a position to compare up to (None: any there is an answer for) and the newest one of the log; returns what
`foresail diff A B --clusters --json` says, and raises `InputError`.
"""
NOT_GIVEN = (
    "Nothing was given to compare with. `foresail dashboard A --compare B` shows two recordings beside each other, "
    "`foresail dashboard RESULTS:ARM --compare RESULTS:ARM` two arms of an experiment. A running stack stands beside a "
    "recording on the page of `foresail up --compare FILE`, or, without starting it anew, of "
    "`foresail dashboard --compare FILE`."
)


class CompareRoute:
    """The address that answers it."""

    def __init__(self, compare: Compare | None, newest: Newest) -> None:
        self._compare = compare
        self._newest = newest

    async def answer(self, request: Request) -> Response:
        """Return both beside each other, of a running stack as far as it was at `at`; or how to give another one."""
        if self._compare is None:
            return JSONResponse({"nothing": NOT_GIVEN})
        try:
            content = await self._compare(number_in(request, "at"), self._newest())
        except InputError as error:
            return JSONResponse({"error": f"{error.value}: {error.remedy}"}, 400)
        return Response(
            to_json(content), media_type="application/json", headers={"cache-control": "no-store"}
        )
