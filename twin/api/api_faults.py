"""Faults of the API server itself: requests that are refused or answered late, watches that end.

They act in front of the router, so a journal that is re-run does not meet them. Whether a request is
hit is decided by the seed, the fault, the request and the cluster time at which it comes, so what
other clients ask makes no difference. Health checks and the simulation's own paths are spared.
"""

from __future__ import annotations

from collections.abc import Callable

from twin.api.messages import JSON, Request, Response, json_bytes
from twin.chance import key_of
from twin.engine import Engine
from twin.errors import ApiError
from twin.faults.scenario import ApiErrors, ApiLatency

_SPARED = ("/foresail/", "/healthz", "/readyz", "/livez")
_BUSY = "the server has received too many requests and has asked us to try again later"
_WORDS = {
    429: ("TooManyRequests", _BUSY),
    500: ("InternalError", "Internal error occurred: a scenario asks for it"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: ("Timeout", "Timeout: request did not complete within the allotted timeout"),
}
_TELL_WHEN = (429, 503)


class ApiFaults:
    """Faults of the API of one engine."""

    def __init__(self, engine: Engine) -> None:
        """Ask `engine` which faults are running."""
        self._engine = engine
        self._draws = engine.world.chance.draws("API faults")
        self._moment = -1.0
        self._asked: dict[tuple[int, str, str], int] = {}  # at this moment, by fault and request

    def refusal(self, request: Request) -> Response | None:
        """Return the answer of a request that is refused; None: it is to be handled."""
        for number, entity, fault in self._engine.faults.running:
            if isinstance(fault, ApiErrors) and self._hits(number, entity, fault, request):
                reason, text = _WORDS[fault.status]
                seconds = fault.retry_after_seconds
                wait = {"retryAfterSeconds": seconds} if fault.status in _TELL_WHEN else {}
                status = ApiError(fault.status, reason, text, wait).to_status()
                headers = {"Retry-After": str(seconds)} if wait else {}
                return Response(fault.status, json_bytes(status), JSON, headers)
        return None

    def latency_seconds(self, request: Request) -> float:
        """Return the wall seconds that an answer is held back."""
        delay = 0.0
        for number, entity, fault in self._engine.faults.running:
            if isinstance(fault, ApiLatency) and self._hits(number, entity, fault, request):
                delay = max(delay, fault.latency_seconds)
        return delay

    def on_cut(self, request: Request, cut: Callable[[bytes], None]) -> Callable[[], None]:
        """Call `cut` with the last line (may be empty) when this watch is to end; return what ends
        the listening.
        """
        resource = resource_of(request.path)

        def hear(resources: tuple[str, ...], expired: bool) -> None:
            if not resources or resource in resources:
                cut(self._expired_event() if expired else b"")

        return self._engine.faults.listen(hear)

    def _expired_event(self) -> bytes:
        version = self._engine.store.resource_version
        text = f"too old resource version: {version} ({version})"
        status = ApiError(410, "Expired", text).to_status()
        return b'{"type":"ERROR","object":%b}\n' % json_bytes(status)

    def _hits(
        self, number: int, entity: int, fault: ApiErrors | ApiLatency, request: Request
    ) -> bool:
        if request.path.startswith(_SPARED):
            return False
        if fault.methods and request.method not in fault.methods:
            return False
        if fault.resources and resource_of(request.path) not in fault.resources:
            return False
        return fault.ratio >= 1.0 or self._draw(number, entity, request) < fault.ratio

    def _draw(self, number: int, entity: int, request: Request) -> float:
        now = self._engine.now
        if now != self._moment:
            self._moment = now
            self._asked.clear()
        key = (number, request.method, request.path)
        self._asked[key] = count = self._asked.get(key, 0) + 1
        place = key_of(entity, request.method, request.path, now)
        return self._draws.uniform(place, count)


def resource_of(path: str) -> str:
    """Return the resource of a request path, in the plural; empty when it has none."""
    parts = path.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:] if parts[0] == "apis" else []
    if len(rest) > 2 and rest[0] == "namespaces":
        rest = rest[2:]
    return rest[0] if rest else ""
