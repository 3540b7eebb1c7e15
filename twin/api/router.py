"""From request to response: one pure, synchronous function over the engine.

Here is decided what a path means and whether its user may use it; the rest is done elsewhere.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import structlog

from twin.api import discovery
from twin.api.access import ADMIN, Attributes, Identity, Requester
from twin.api.account_tokens import AccountTokens
from twin.api.administration import PREFIX, administer
from twin.api.bodies import with_warning
from twin.api.core_kinds import BINDINGS, COMPONENTS
from twin.api.custom_metrics import answer_metrics
from twin.api.documents import document
from twin.api.health import NOT_SNIFFED, TEXT
from twin.api.limits import check_request
from twin.api.listing import list_pieces, plain_list
from twin.api.messages import WRITING, Request, Response, StreamedResponse, WatchResponse, respond
from twin.api.objects import Objects, method_not_allowed
from twin.api.rbac_access import Access
from twin.api.reviews import REVIEWS, review
from twin.api.server_kinds import answer_server_kind
from twin.api.subresources import Subresources
from twin.api.tables import Form
from twin.api.targets import of_old_watch, read_path, read_target
from twin.api.token_requests import issuer_document
from twin.api.views import View
from twin.api.visibility import answer_pending
from twin.engine import Engine
from twin.errors import ApiError, PageNotFound, not_found, unknown_resource
from twin.exporters.registry import CONTENT_TYPE, exposition
from twin.kinds import KINDS, Kind
from twin.rbac.attributes import Decision, User
from twin.records import Object
from twin.webhooks.answers import CallsNeeded, WebhookAnswers

Answer = Response | StreamedResponse | WatchResponse
_LOG = structlog.get_logger("twin")
_OLD_COMPONENTS = "v1 ComponentStatus is deprecated in v1.19+"
_OLD_ENDPOINTS = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
_WHOLE = frozenset({"watch", "fieldSelector", "labelSelector"})
"""Parameters that ask for something else than a whole list."""


class Router:
    """Answers requests from the engine's store."""

    def __init__(self, engine: Engine, tokens: AccountTokens | None = None) -> None:
        """Serve this engine's cluster; `tokens` signs those of service accounts, by default with a new
        key.
        """
        self._tokens = tokens or AccountTokens(engine)
        self._engine = engine
        self._store = engine.store
        self._objects = Objects(engine)
        self.subresources = Subresources(engine, self._objects, self._tokens)
        """What other servers said of their kinds."""
        self.access = Access(engine.store, rbac=engine.config.access.rbac)

    def handle(self, request: Request, identity: Identity = ADMIN) -> Answer:
        """Answer one request; every refusal is a Status object."""
        try:
            requester = self.access.requester(identity, request.headers)
            if self.access.rbac and request.method in WRITING:
                request = replace(request, requester=requester)
            if request.webhook_answers is None:
                return self._handle(request, requester)
            return self._hear(request, request.webhook_answers, requester)
        except PageNotFound as error:
            text = f"{error.message}\n".encode()
            return Response(error.status, text, TEXT, NOT_SNIFFED)
        except ApiError as error:
            seconds = error.details.get("retryAfterSeconds")
            headers = {"Retry-After": str(seconds)} if seconds else {}
            answer = respond(error.status, error.to_status())
            return Response(answer.status, answer.body, headers=headers)
        except CallsNeeded:
            raise
        except Exception as error:
            # As kube-apiserver after a panic: this request fails, in words that clients read, and no other.
            _LOG.exception("a request failed", method=request.method, path=request.path)
            failed = ApiError(500, "InternalError", f"Internal error occurred: {error!r}")
            return respond(failed.status, failed.to_status())

    @property
    def asks_nobody(self) -> bool:
        """Whether no webhook and no policy is about any write."""
        return self._objects.admission.idle

    def _hear(
        self, request: Request, webhook_answers: WebhookAnswers, requester: Requester
    ) -> Answer:
        """Answer a write with what webhooks said about it; raises CallsNeeded."""
        if webhook_answers.user is None:
            user = User(requester.user, requester.uid, requester.all_groups, requester.extra)
            webhook_answers.user = user
        webhook_answers.may = partial(_may, requester)
        webhook_answers.warnings.clear()
        webhook_answers.annotations.clear()
        answer = self._handle(request, requester)
        for sentence in reversed(webhook_answers.warnings):
            answer = with_warning(answer, sentence)
        return answer

    def list_items(self, request: Request) -> tuple[bytes, list[bytes]] | None:
        """Return a list without its items, and its items; None where `handle` has to be asked.

        For the administrator, of whole kinds in the version in which they are stored.
        """
        match = read_path(request.path)
        if match is None or match["namespace"] or match["name"]:
            return None
        group, version, resource = (
            match["group"] or "",
            match["core"] or match["version"],
            match["resource"],
        )
        kind = KINDS.get(resource)
        if kind is None or (kind.group, kind.version) != (group, version):
            return None
        if View.elsewhere(group, version, resource) is not None or not _WHOLE.isdisjoint(
            request.query
        ):
            return None
        try:
            return list_pieces(self._store, kind, request)
        except ApiError:
            return None

    def _handle(self, request: Request, requester: Requester) -> Answer:
        request = of_old_watch(request)
        path = request.path.rstrip("/") or "/"
        check_request(request)
        if path.startswith(PREFIX):
            return administer(self._engine, path, request, requester)
        answer = self._answer_about_server(path, request, requester)
        if answer is not None:
            return answer
        target = read_target(path, request)
        if target is None:
            if requester.strict:
                requester.require_path(request.method, request.path)
            if not self._is_served(path.split("/")):
                raise PageNotFound
            raise unknown_resource(path)
        attributes, namespace, version = target.attributes, target.namespace, target.version
        group, resource, name = attributes.group, attributes.resource, attributes.name
        requester.require(target.selected)
        if resource in REVIEWS.get((group, version), {}):
            return review(attributes, request, requester, self.access, self._tokens)
        if (group, version) == (discovery.METRICS_GROUP, discovery.METRICS_VERSION):
            return self._metrics(resource, namespace, name, request)
        pending = answer_pending(self._engine, version, attributes, namespace, request)
        if pending is not None:
            return pending
        elsewhere = View.elsewhere(group, version, resource)
        if elsewhere is not None and not attributes.subresource:
            return elsewhere.answer(self._engine, (namespace, name, ""), request)
        if not group and resource in (BINDINGS, COMPONENTS):
            answer = answer_server_kind(self.subresources, resource, (namespace, name), request)
            return with_warning(answer, _OLD_COMPONENTS) if resource == COMPONENTS else answer
        kind = self._kind(group, version, resource, inside=bool(namespace))
        if kind.version != version:
            part = attributes.subresource
            return self._answer_view(kind, version, (namespace, name, part), request)
        return self._answer_stored(kind, namespace, attributes, request)

    def _kind(self, group: str, version: str, resource: str, *, inside: bool) -> Kind:
        """Return the kind that a path means, built in or defined; raises ApiError 404."""
        kind = KINDS.get(resource)
        if kind is None or kind.group != group:
            kind = self._store.custom.find(group, version, resource)
            if kind is not None and inside and not kind.namespaced:
                kind = None
        if kind is None:
            if not self._is_served(["", "apis" if group else "api", group]):
                raise PageNotFound
            raise unknown_resource(resource)
        return kind

    def _is_served(self, parts: list[str]) -> bool:
        """Say whether a path is inside an API group that is served."""
        if parts[1] != "apis":
            return parts[1] == "api"
        groups = {group for group, _ in discovery.group_versions(self._store.custom.served)}
        return len(parts) > 2 and parts[2] in groups

    def _answer_about_server(
        self, path: str, request: Request, requester: Requester
    ) -> Answer | None:
        """Answer a request for what is no object; None for other paths. Raises ApiError."""
        response = issuer_document(self._tokens, path, request)
        if response is not None:
            requester.require_path(request.method, request.path)
            return response
        custom = self._store.custom.served
        response = document(path, request, requester, custom, self._engine.now)
        if response is not None:
            return response
        if path == "/metrics" and request.method == "GET":
            requester.require_path("GET", path)
            page = exposition(self._engine, request.query.get("families", ""))
            return StreamedResponse(page, page.close, CONTENT_TYPE)
        return answer_metrics(self._engine, path, request, requester)

    def _answer_view(
        self, kind: Kind, version: str, place: tuple[str | None, str, str], request: Request
    ) -> Answer:
        view = View.of(kind, version)
        if view is None or place[2] not in ("", *discovery.subresources_of(kind)):
            raise unknown_resource(kind.resource)
        return view.answer(self._engine, place, request)

    def _answer_stored(
        self, kind: Kind, namespace: str | None, attributes: Attributes, request: Request
    ) -> Answer:
        if kind.resource == "endpoints":
            return with_warning(
                self._answer_old(kind, namespace, attributes, request), _OLD_ENDPOINTS
            )
        answer = self._answer_kind(kind, namespace, attributes, request)
        if kind.custom is not None and kind.custom.warning:
            return with_warning(answer, kind.custom.warning)
        return answer

    def _answer_old(
        self, kind: Kind, namespace: str | None, attributes: Attributes, request: Request
    ) -> Answer:
        """Answer about a kind that is going out of use: refusals are answers, too."""
        try:
            return self._answer_kind(kind, namespace, attributes, request)
        except ApiError as error:
            return respond(error.status, error.to_status())

    def _answer_kind(
        self, kind: Kind, namespace: str | None, attributes: Attributes, request: Request
    ) -> Answer:
        inside = attributes.namespace if kind.namespaced else ""
        if attributes.subresource:
            return self.subresources.answer(
                kind, inside, attributes.name, attributes.subresource, request
            )
        if attributes.name or request.method != "GET":
            Form.for_request(request, kind)  # before anything is looked for or written
        if attributes.name:
            return self._objects.object(kind, inside, attributes.name, request)
        return self._objects.collection(kind, namespace, request)

    def _metrics(
        self, resource: str, namespace: str | None, name: str, request: Request
    ) -> Response:
        if resource not in {"nodes", "pods"}:
            raise unknown_resource(resource)
        if request.method != "GET":
            raise method_not_allowed()
        metrics = self._engine.metrics
        items: list[Object] = (
            metrics.node_metrics() if resource == "nodes" else metrics.pod_metrics(namespace)
        )
        if name:
            for item in items:
                if item["metadata"]["name"] == name:
                    return respond(200, item)
            raise not_found(resource, name, group=discovery.METRICS_GROUP)
        kind = "NodeMetricsList" if resource == "nodes" else "PodMetricsList"
        version = f"{discovery.METRICS_GROUP}/{discovery.METRICS_VERSION}"
        return respond(200, plain_list(kind, version, items, self._store.resource_version))


def _may(requester: Requester, asked: Attributes | tuple[str, str]) -> Decision:
    return requester.decide_path(*asked) if isinstance(asked, tuple) else requester.decide(asked)
