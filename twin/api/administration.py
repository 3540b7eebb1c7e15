"""The simulation's own face below /foresail/v1: what no real cluster has. For administrators alone."""

from __future__ import annotations

from twin.api.access import Identity
from twin.api.bodies import json_of, whole_seconds
from twin.api.messages import Request, Response, respond
from twin.engine import Engine
from twin.errors import unknown_resource

PREFIX = "/foresail/v1/"


def administer(engine: Engine, path: str, request: Request, identity: Identity) -> Response:
    """Answer one request; raises ApiError 403 or 404."""
    identity.require_path(request.method, path)
    match (request.method, *path.removeprefix(PREFIX).split("/")):
        case ("POST", "nodes", name, "fail"):
            seconds = float(whole_seconds(json_of(request).get("seconds", 300)))
            engine.fail_node(name, seconds)
            return respond(200, {"node": name, "seconds": seconds})
        case ("GET", "state"):
            return respond(200, {"now": engine.now, "hash": engine.state_hash()})
    raise unknown_resource(path)
