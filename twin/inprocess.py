"""The embedded cluster in the same process: the same router, without HTTP, on a clock that is
given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from inputs.clock import Clock
from twin.api.api_faults import ApiFaults
from twin.api.messages import JSON, WRITING, Request, Response, WatchResponse
from twin.api.router import Answer, Router
from twin.config import TwinConfig
from twin.engine import Engine
from twin.webhooks.answers import CallsNeeded, WebhookAnswers
from twin.webhooks.calling import call_all
from twin.workloads import Workload


class InProcessTwin:
    """Lets cluster time pass with the clock, then answers."""

    def __init__(
        self,
        engine: Engine,
        *,
        clock: Clock | None = None,
        speed: float = 1.0,
    ) -> None:
        """Serve `engine`; with a clock, cluster time runs at `speed` times its pace, without one
        it is paused.
        """
        self.engine = engine
        self._router = Router(engine)
        self._faults = ApiFaults(engine)
        self._clock = clock
        self._speed = speed
        self._began = (engine.now, 0.0 if clock is None else clock.monotonic())

    @classmethod
    def of(
        cls,
        workload: Workload,
        *,
        seed: int,
        speed: float,
        clock: Clock,
        config: TwinConfig | None = None,
    ) -> InProcessTwin:
        """Build a cluster that plays a workload."""
        engine = Engine(config, seed)
        engine.add_nodes(workload.nodes)
        engine.load(workload.arrivals)
        return cls(engine, clock=clock, speed=speed)

    @property
    def now(self) -> float:
        """Cluster time, seconds since the Unix epoch."""
        return self.engine.now

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: bytes,
        content_type: str = JSON,
        more_headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        """Answer one request; a watch gives the lines there are now."""
        self._let_time_pass()
        headers = {"content-type": content_type, "accept": JSON, **(more_headers or {})}
        request = Request(method, path, query, headers, body)
        answer = self._faults.refusal(request) or self._hear(request)
        if isinstance(answer, Response):
            return answer.status, answer.body
        if isinstance(answer, WatchResponse):
            return 200, b"".join(answer.initial)
        whole = b"".join(answer.chunks)
        answer.close()
        return 200, whole

    def _hear(self, request: Request) -> Answer:
        """Answer a request; webhooks are called at once, which takes no cluster time."""
        if request.method not in WRITING or self._router.asks_nobody:
            return self._router.handle(request)
        webhook_answers = WebhookAnswers(self.engine.now)
        request = replace(request, webhook_answers=webhook_answers)
        while True:
            try:
                return self._router.handle(request)
            except CallsNeeded as needed:
                webhook_answers.hear(needed.calls, call_all(needed.calls))

    def list_items(
        self, path: str, query: Mapping[str, str]
    ) -> tuple[int, bytes, Sequence[bytes]] | None:
        """Answer a GET of a list item by item: status, the list without its items, and the items.

        An item that has not changed is the same bytes as before. A refusal stands in place of the list;
        None: the path is no list that can be answered so, and nothing was asked.
        """
        self._let_time_pass()
        request = Request("GET", path, query, {"accept": JSON})
        pieces = self._router.list_items(request)
        if pieces is None:
            return None
        refusal = self._faults.refusal(request)
        if refusal is not None:
            return refusal.status, refusal.body, ()
        return 200, *pieces

    def _let_time_pass(self) -> None:
        if self._clock is None:
            return
        cluster, wall = self._began
        until = cluster + (self._clock.monotonic() - wall) * self._speed
        self.engine.advance(max(self.engine.now, until))
