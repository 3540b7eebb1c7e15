"""`/foresail/v1/clock`: read, change, stop and step cluster time while the twin runs.

GET says `now` (unix seconds), `speed` (cluster seconds a wall second, or "max") and `paused`. POST
takes any of `speed`, `paused` and `step_seconds` (advance by so much at once, then pause).
"""

from __future__ import annotations

import math
from typing import Any

from twin.api.bodies import read_body
from twin.api.messages import Request, Response, respond
from twin.engine import Engine
from twin.errors import ApiError, bad_request
from twin.pace import Pace

PATH = "/foresail/v1/clock"
FASTEST = 1_000_000.0
LONGEST_STEP_SECONDS = 366 * 86_400.0
_MEMBERS = frozenset({"speed", "paused", "step_seconds"})


def control_clock(request: Request, engine: Engine, pace: Pace, *, may_write: bool) -> Response:
    """Answer one request; every refusal is a Status object."""
    try:
        if not may_write:
            raise ApiError(403, "Forbidden", "only the administrator may read or set the clock")
        if request.method == "POST":
            _change(read_body(request), engine.now, pace)
        elif request.method != "GET":
            raise ApiError(405, "MethodNotAllowed", "the clock takes GET and POST")
        return respond(200, _clock_response(engine.now, pace))
    except ApiError as error:
        return respond(error.status, error.to_status())


def _clock_response(now: float, pace: Pace) -> dict[str, Any]:
    speed = "max" if math.isinf(pace.speed) else pace.speed
    return {"now": now, "speed": speed, "paused": pace.paused}


def _change(body: dict[str, Any], now: float, pace: Pace) -> None:
    unknown = sorted(set(body) - _MEMBERS)
    if unknown:
        raise bad_request(f"unknown member {unknown[0]}: use speed, paused or step_seconds")
    speed = _parse_speed(body["speed"]) if "speed" in body else None
    paused = body.get("paused")
    if paused is not None and not isinstance(paused, bool):
        raise bad_request(f"paused: {paused!r} is neither true nor false")
    step = body.get("step_seconds")
    if step is not None and not _is_number(step, LONGEST_STEP_SECONDS):
        raise bad_request(f"step_seconds: give a number over 0, at most {LONGEST_STEP_SECONDS:g}")
    if speed is not None or paused is not None:
        pace.change(now, speed=speed, paused=paused)
    if step is not None:
        pace.step(now, float(step))


def _parse_speed(speed: object) -> float:
    if speed == "max":
        return math.inf
    if not _is_number(speed, FASTEST):
        raise bad_request(f'speed: give a number over 0, at most {FASTEST:g}, or "max"')
    return float(speed)  # type: ignore[arg-type]


def _is_number(value: object, most: float) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0.0 < value <= most  # type: ignore[operator]
