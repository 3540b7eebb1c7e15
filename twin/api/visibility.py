"""Requests for pending Workloads: visibility.kueue.x-k8s.io, as far as Kueue's own server answers them."""

from __future__ import annotations

from twin.api.access import Attributes
from twin.api.messages import Request, Response, respond
from twin.engine import Engine
from twin.errors import bad_request, method_not_allowed, not_found, unknown_resource
from twin.kueue.objects import CLUSTER_QUEUES, LOCAL_QUEUES
from twin.kueue.visibility import GROUP, USUAL_LIMIT, VERSIONS, summary
from twin.records import ObjectRecord

_MOST_DIGITS = 9


def answer_pending(
    engine: Engine, version: str, attributes: Attributes, namespace: str | None, request: Request
) -> Response | None:
    """Answer a request of that group; None for any other. Raises ApiError."""
    if attributes.group != GROUP or engine.kueue is None or version not in VERSIONS:
        return None
    if attributes.subresource != "pendingworkloads":
        raise unknown_resource(attributes.resource)
    if request.method != "GET":
        raise method_not_allowed()
    store, name = engine.store, attributes.name
    resource = LOCAL_QUEUES if namespace else CLUSTER_QUEUES
    if attributes.resource != resource.partition(".")[0] or resource not in store.custom.stored:
        raise unknown_resource(attributes.resource)
    found = store.find(resource, namespace or "", name)
    if not isinstance(found, ObjectRecord):
        raise not_found(attributes.resource, name, group=GROUP)
    queue = found.body["spec"].get("clusterQueue", "") if namespace else name
    local = (namespace, name) if namespace else None
    first, most = _number(request, "offset", 0), _number(request, "limit", USUAL_LIMIT)
    pending = engine.kueue.waiting_in(queue)
    return respond(200, summary(version, pending, local, first, most))


def _number(request: Request, name: str, usual: int) -> int:
    text = request.query.get(name, "")
    if not text:
        return usual
    if not text.isascii() or not text.isdecimal() or len(text) > _MOST_DIGITS:
        raise bad_request(f"{name}: {text[:100]!r} is not a whole number from 0 on")
    return int(text)
