"""Kinds of the core group that are not kept: bindings, and how the parts of the control plane do."""

from __future__ import annotations

from twin.api.bodies import read_body, require_map
from twin.api.core_kinds import BINDINGS, COMPONENTS
from twin.api.label_selectors import label_requirements
from twin.api.messages import Object, Request, Response, respond
from twin.api.objects import Answer
from twin.api.subresources import Subresources
from twin.api.tables import Form
from twin.errors import bad_request, method_not_allowed, not_found, unknown_resource

_PARTS = {"controller-manager": "ok", "etcd-0": "ok", "scheduler": "ok"}


def answer_server_kind(
    subresources: Subresources, resource: str, place: tuple[str | None, str], request: Request
) -> Answer:
    """Answer a request for one of these kinds; `place` is namespace and name. Raises ApiError."""
    namespace, name = place
    if resource == BINDINGS:
        if request.method != "POST" or name:
            raise method_not_allowed()
        if namespace is None:
            raise unknown_resource(resource)
        pod = require_map(read_body(request), "metadata").get("name")
        if not pod:
            raise bad_request("name is required")
        return subresources.bind(namespace, str(pod), request)
    if request.method != "GET":
        raise method_not_allowed()
    return _components(name, request)


def _components(name: str, request: Request) -> Response:
    """Return how the parts of the control plane do, or one of them: all run in this process."""
    if name and name not in _PARTS:
        raise not_found("componentstatus", name)
    items: list[Object] = [
        {
            "metadata": {"name": part},
            "conditions": [{"type": "Healthy", "status": "True", "message": message}],
        }
        for part, message in _PARTS.items()
    ]
    head: Object = {"kind": "ComponentStatus", "apiVersion": "v1"}
    form = Form.for_request(request, None, f"PartialObjectMetadata{'' if name else 'List'}")
    if name:
        (found,) = [item for item in items if item["metadata"] == {"name": name}]
        return respond(200, form.one(COMPONENTS, {**head, **found}, 0.0))
    wanted = label_requirements(request.query.get("labelSelector", ""))
    chosen = [item for item in items if all(test({}) for test in wanted)]
    listed = {**head, "kind": "ComponentStatusList", "metadata": {}, "items": chosen}
    return respond(200, form.render_list(COMPONENTS, listed, 0.0))
