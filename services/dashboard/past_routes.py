"""Answers about the past: the log's outline, any moment of it, its decisions, and its events."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from functools import partial

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bus.errors import InputError
from schemas.registry import to_json
from services.dashboard.address_numbers import number_in, number_of
from services.dashboard.decision_list import DecisionFilter
from services.dashboard.hub import Hub
from services.dashboard.node_measures import MEASURES

TEXT_LENGTH = 500
USUAL_EVENTS, MOST_EVENTS = 50, 500
"""Events of a page."""
NOT_KEPT = {"cache-control": "no-store"}


class PastRoutes:
    """Answers from the archive and the log."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def routes(self) -> list[Route]:
        """Return the addresses."""
        return [
            Route("/api/outline", self.outline),
            Route("/api/moment", self.moment),
            Route("/api/decisions", self.decisions),
            Route("/api/log", self.log),
            Route("/api/log/search", self.search),
            Route("/api/events", self.events),
            Route("/api/incidents", self.incidents),
            Route("/api/run", self.run),
            Route("/api/runs", self.runs),
            Route("/api/nodes/{name}", self.node),
            Route("/api/workloads", self.workloads),
            Route("/api/workloads/{name:path}", self.workload),
            Route("/api/models", self.models),
            Route("/api/settings", self.settings),
            Route("/api/cycles/{cycle}", self.cycle),
            Route("/api/measures", self.measure),
        ]

    async def outline(self, request: Request) -> Response:
        """Return the ends of the log and its marks: all, or those behind `after`."""
        past = self._hub.past
        return _answer(
            {
                "whole": past.whole,
                "incarnation": self._hub.incarnation,
                **past.archive.outline(number_in(request, "after") or 0),
            }
        )

    async def moment(self, request: Request) -> Response:
        """Return the page's state at a position (`seq`), a recorded time (`ms`), a `cluster` time in seconds or the
        end of a `cycle`.
        """
        archive = self._hub.past.archive
        names = ("seq", "ms", "cluster", "cycle")
        seq, time, cluster_time, cycle = (number_in(request, name) for name in names)
        if cluster_time is not None:
            seq = archive.end_at_cluster_time(cluster_time)
        elif time is not None:
            seq = archive.seq_at(time)
        elif cycle is not None:
            seq = archive.end_of_cycle(cycle)
        if seq is None:
            return JSONResponse({"error": "the log holds no such moment"}, 404)
        return _answer(await self._hub.moment(seq))

    async def decisions(self, request: Request) -> Response:
        """Return the decisions that fit, newest first, as they stood at `at`."""
        query = request.query_params
        texts = {
            name: query.get(name, "")[:TEXT_LENGTH]
            for name in ("agent", "kind", "rule", "target", "rail", "became", "lost")
        }
        asked = DecisionFilter(
            until_seq=self._until(request),
            before_cycle=number_in(request, "before"),
            reward_below=_decimal(query.get("reward_below", "")),
            within_seconds=number_in(request, "within"),
            acts=query.get("acts") == "1",
            **texts,
        )
        return _answer(self._hub.past.decisions(asked))

    async def log(self, request: Request) -> Response:
        """Return a stretch of the log from the position `from`, or the events of one `cycle`."""
        begin, cycle = number_in(request, "from") or 1, number_in(request, "cycle")
        if cycle is not None:
            rows = await self._hub.past.cycle_rows(cycle, self._until(request))
            return _answer({"rows": rows})
        rows = await self._hub.past.log_window(begin, self._until(request))
        return _answer({"rows": rows})

    async def search(self, request: Request) -> Response:
        """Return the newest events for which `where` holds, up to the position `before`."""
        return await self._fitting(request, self._hub.past.log_search)

    async def events(self, request: Request) -> Response:
        """Return a page of the newest whole events for which `where` holds; the next one begins at its `before`."""
        asked = number_in(request, "limit")
        limit = USUAL_EVENTS if asked is None else min(max(1, asked), MOST_EVENTS)
        return await self._fitting(request, partial(self._hub.past.events, limit=limit))

    async def _fitting(
        self, request: Request, search: Callable[[str, str, int], Awaitable[object]]
    ) -> Response:
        """Answer by what fits `where` and `layer`, up to the position `before`."""
        query = request.query_params
        before = number_in(request, "before")
        until = self._until(request) if before is None else before
        where, layer = (query.get(name, "")[:TEXT_LENGTH] for name in ("where", "layer"))
        try:
            found = await search(where, layer, until)
        except InputError as error:
            return JSONResponse({"error": f"{error.value}: {error.remedy}"}, 400)
        return _answer(found)

    async def incidents(self, request: Request) -> Response:
        """Return every incident up to `at`, newest first."""
        return _answer(await self._hub.past.incidents(self._until(request)))

    async def run(self, request: Request) -> Response:
        """Return how the run stood at `at`, as `foresail status --run FILE --json` says."""
        return _answer(await self._hub.past.run(self._until(request)))

    async def runs(self, request: Request) -> Response:
        """Return what the log told of runs up to `at`."""
        return _answer(await self._hub.past.runs(self._until(request)))

    async def measure(self, request: Request) -> Response:
        """Return one number per node as of `at`: what `by` names."""
        by = request.query_params.get("by", "")[:TEXT_LENGTH]
        content = await self._hub.measure(by, number_in(request, "at"))
        if content is None:
            known = ", ".join(MEASURES)
            return JSONResponse({"error": f"by: {by}: use one of {known}"}, 400)
        return _answer(content)

    async def node(self, request: Request) -> Response:
        """Return the history of one node up to `at`."""
        name = request.path_params["name"][:TEXT_LENGTH]
        content = await self._hub.past.node(name, self._until(request))
        if content is None:
            return JSONResponse({"error": f"nothing was observed of a node {name}"}, 404)
        return _answer(content)

    async def workloads(self, request: Request) -> Response:
        """Return the workloads that are known at `at`, by name."""
        return _answer({"workloads": await self._hub.past.workloads(self._until(request))})

    async def workload(self, request: Request) -> Response:
        """Return the history of one workload up to `at`."""
        name = request.path_params["name"][:TEXT_LENGTH]
        content = await self._hub.past.workload(name, self._until(request))
        if content is None:
            return JSONResponse({"error": f"nothing was observed of a workload {name}"}, 404)
        return _answer(content)

    async def models(self, request: Request) -> Response:
        """Return the models that predicted lately, as of `at`."""
        return _answer(await self._hub.past.models(self._until(request)))

    async def settings(self, request: Request) -> Response:
        """Return the settings in force at `at`."""
        return _answer({"processes": await self._hub.past.settings(self._until(request))})

    async def cycle(self, request: Request) -> Response:
        """Return one cycle's decision, who lost to it, and what came of it up to `at`."""
        number = number_of(request.path_params["cycle"])
        content = await self._hub.cycle(number, number_in(request, "at"))
        if content is None:
            return JSONResponse({"error": f"the log holds no decision of cycle {number}"}, 404)
        return _answer(content)

    def _until(self, request: Request) -> int:
        at = number_in(request, "at")
        return self._hub.page.overview.seq if at is None else at


def _decimal(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _answer(content: object) -> Response:
    return Response(to_json(content), media_type="application/json", headers=NOT_KEPT)
