"""The simulation's own face below /foresail/v1: what no real cluster has. For administrators alone."""

from __future__ import annotations

from inputs.errors import InputError
from twin.api.access import Requester
from twin.api.bodies import read_body, whole_seconds
from twin.api.messages import Object, Request, Response, respond
from twin.engine import Engine
from twin.errors import bad_request, conflict, unknown_resource
from twin.faults.reading import scenario_of

PREFIX = "/foresail/v1/"


def administer(engine: Engine, path: str, request: Request, requester: Requester) -> Response:
    """Answer one request; raises ApiError 403 or 404."""
    requester.require_path(request.method, path)
    match (request.method, *path.removeprefix(PREFIX).split("/")):
        case ("POST", "nodes", name, "fail"):
            seconds = float(whole_seconds(read_body(request).get("seconds", 300)))
            engine.fail_node(name, seconds)
            return respond(200, {"node": name, "seconds": seconds})
        case ("POST", "processes", uid, "end"):
            return _end_process(engine, uid, request)
        case ("POST", "scenario"):
            return _play(engine, request)
        case ("GET", "scenario"):
            return respond(200, {"now": engine.now, "running": engine.faults.shown()})
        case ("GET", "state"):
            return respond(200, {"now": engine.now, "hash": engine.state_hash()})
    raise unknown_resource(path)


def _end_process(engine: Engine, uid: str, request: Request) -> Response:
    """Take down how the process of a local pod's container ended; 409 when that is no news any more."""
    body = read_body(request)
    reason, message = str(body.get("reason", "")), str(body.get("message", ""))
    restarts, code = (_whole_number(body, field) for field in ("restarts", "exitCode"))
    if not engine.kubelet.end_process(uid, restarts, code, reason, message):
        raise conflict("pods", uid, "its container does not run, or is another one by now")
    return respond(200, {"uid": uid, "exitCode": code})


def _whole_number(body: Object, field: str) -> int:
    value = body.get(field, 0)
    if not isinstance(value, int) or isinstance(value, bool):
        raise bad_request(f"{field} must be a whole number, not {value!r}")
    return value


def _play(engine: Engine, request: Request) -> Response:
    """Plan the faults of a scenario, from now on; with dryRun only check it."""
    try:
        scenario = scenario_of(read_body(request), "scenario")
    except InputError as error:
        raise bad_request(str(error)) from error
    count = len(scenario.faults) if request.dry_run else engine.faults.play(scenario)
    return respond(200, {"name": scenario.name, "events": count})
