"""Groups of the API that other servers answer: requests for an APIService's group and version are handed on.

The other server is a process of this machine, reached as webhooks are (`twin.local_services`). It is told who asks by
headers, and believes them because of the front proxy's client certificate, whose authority and name are in the
ConfigMap `kube-system/extension-apiserver-authentication`.
Source: kubernetes.io/docs/tasks/extend-kubernetes/configure-aggregation-layer.
"""

from __future__ import annotations

import base64
import http.client
import math
import socket
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote, urlencode

from twin.api.access import Identity, Requester
from twin.api.limits import LARGEST_BODY, read_json
from twin.api.messages import JSON, Request, Response
from twin.api.targets import read_path, read_target
from twin.controllers.api_services import API_SERVICES
from twin.errors import ApiError, method_not_allowed, unknown_resource
from twin.kinds import KINDS
from twin.local_services import local_address
from twin.rbac.extension import EXTRA_PREFIX, GROUP_HEADER, USER_HEADER
from twin.records import Object, ObjectRecord
from twin.store import Store

TIMEOUT_SECONDS = 60.0
"""Wall seconds that the other server may take, as a real one gives a request."""
KNOWN_SECONDS = 30.0
"""Wall seconds for which another server's kinds are not asked for again."""
_PLAIN = "text/plain; charset=utf-8"
_NEEDED = frozenset({"name", "namespaced", "kind", "verbs"})
_HANDED_ON = ("accept", "content-type", "user-agent")
_TAKEN_BACK = ("Retry-After", "Warning")


class _Asker(Identity):
    """Who asks other servers what they have."""

    __slots__ = ()

    @property
    def user(self) -> str:
        """The name by which they know a real server's aggregator."""
        return "system:kube-aggregator"


@dataclass(frozen=True, slots=True)
class Behind:
    """The server behind a group and version."""

    connect_to: str
    """Host and port on this machine; empty: nobody has written where it is."""
    server_name: str
    """Whom its certificate has to be for."""
    authority_pem: str
    """Whom to trust; empty: the machine's authorities."""
    trusted_blindly: bool
    """`insecureSkipTLSVerify`."""


class Aggregator:
    """Hands requests on."""

    def __init__(self, store: Store, client_file: Path | None = None) -> None:
        """Find servers in a store; `client_file` holds the front proxy's key and certificate, without which
        other servers have no reason to believe who asks.
        """
        self._store = store
        self._client_file = client_file
        self._asked: dict[tuple[str, str], tuple[float, int]] = {}
        self.known: dict[tuple[str, str], list[Object]] = {}
        """What they said of their kinds, by group and version; nothing of those that said nothing."""

    def behind(self, request: Request) -> Behind | None:
        """Return the server that answers a request; None when the twin does."""
        if not self._store.count(API_SERVICES) or not request.path.startswith("/apis/"):
            return None
        group, _, rest = request.path.removeprefix("/apis/").partition("/")
        record = self._store.find(API_SERVICES, "", f"{rest.partition('/')[0]}.{group}")
        if not isinstance(record, ObjectRecord) or self._serves(group):
            return None
        spec: Object = record.body["spec"]
        service = spec.get("service")
        if service is None:
            return None
        namespace, name = service["namespace"], service["name"]
        return Behind(
            local_address(self._store, namespace, name) or "",
            f"{name}.{namespace}.svc",
            base64.b64decode(spec.get("caBundle") or "").decode("latin-1"),
            bool(spec.get("insecureSkipTLSVerify")),
        )

    def unheard(self, now: float) -> list[tuple[str, str, Behind | None]]:
        """Return the groups and versions, each with its server, that have not been asked for a while; `now` in
        wall seconds.
        """
        found = []
        for record in self._store.records(API_SERVICES):
            assert isinstance(record, ObjectRecord)
            spec: Object = record.body["spec"]
            key = spec.get("group") or "", spec.get("version") or ""
            asked_at, version = self._asked.get(key, (-math.inf, 0))
            old = now - asked_at >= KNOWN_SECONDS or version != record.resource_version
            if spec.get("service") and old and not self._serves(key[0]):
                self._asked[key] = (now, record.resource_version)
                found.append((*key, self.behind(_listing(*key))))
        return found

    def hear(self, unheard: Iterable[tuple[str, str, Behind | None]]) -> None:
        """Ask other servers what they have in these groups and versions; takes wall time."""
        for group, version, behind in unheard:
            request = _listing(group, version)
            answer = (
                None
                if behind is None
                else self.hand_on(behind, request, _Asker("aggregator", (), ("system:masters",)))
            )
            resources = None if answer is None else _resources(answer)
            if resources is None:
                self.known.pop((group, version), None)
            else:
                self.known[group, version] = resources

    def _serves(self, group: str) -> bool:
        """Say whether the twin itself has kinds of a group: those cannot be handed on."""
        custom = self._store.custom.served
        return any(kind.group == group for kind in (*KINDS.values(), *custom))

    def hand_on(self, behind: Behind, request: Request, requester: Requester) -> Response:
        """Return the other server's answer, or that there is none; takes wall time."""
        if not behind.connect_to:
            return Response(503, b"service unavailable\n", _PLAIN)
        try:
            return self._send(behind, request, requester)
        except (OSError, http.client.HTTPException) as error:
            said = f"error trying to reach service: {error}\n"
            return Response(503, said.encode(), _PLAIN)

    def _send(self, behind: Behind, request: Request, requester: Requester) -> Response:
        host, _, port = behind.connect_to.rpartition(":")
        with (
            socket.create_connection((host, int(port)), TIMEOUT_SECONDS) as plain,
            self._context(behind).wrap_socket(plain, server_hostname=behind.server_name) as secure,
        ):
            connection = http.client.HTTPConnection(behind.server_name)
            connection.sock = secure
            query = urlencode([each for each in request.parameters if each[0] != "fieldManager"])
            path = quote(request.path) + (f"?{query}" if query else "")
            connection.putrequest(request.method, path)
            for name, value in _headers(request, requester):
                connection.putheader(name, value)
            connection.endheaders(request.body)
            answer = connection.getresponse()
            body = answer.read(LARGEST_BODY + 1)
            if len(body) > LARGEST_BODY:
                raise OSError(f"the answer has more than {LARGEST_BODY} bytes")
            headers = {name: answer.headers[name] for name in _TAKEN_BACK if name in answer.headers}
            kind = answer.headers.get("Content-Type", _PLAIN)
            return Response(answer.status, body, kind, headers)

    def _context(self, behind: Behind) -> ssl.SSLContext:
        context = ssl.create_default_context(cadata=behind.authority_pem or None)
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # which newer Pythons set, and Go has not
        if behind.trusted_blindly:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if self._client_file is not None:
            context.load_cert_chain(self._client_file)
        return context


def _listing(group: str, version: str) -> Request:
    return Request("GET", f"/apis/{group}/{version}", {}, {"accept": JSON})


def _resources(answer: Response) -> list[Object] | None:
    """Return the entries of an APIResourceList, None of an answer that is none."""
    if answer.status != HTTPStatus.OK:
        return None
    try:
        entries: list[Object] = [
            {"singularName": "", **each} for each in read_json(answer.body)["resources"]
        ]
    except (ApiError, ValueError, KeyError, TypeError):
        return None
    return [each for each in entries if each.keys() >= _NEEDED]


def require_target(request: Request, requester: Requester) -> None:
    """Raise ApiError where somebody may not ask this of another server, 405 for a watch: those are not handed on."""
    path = request.path.rstrip("/")
    target = read_target(path, request)
    if target is None:
        if read_path(f"{path}/x") is None:
            raise unknown_resource(path)
        requester.require_path(request.method, request.path)  # what there is in this version
        return
    requester.require(target.selected)
    if target.attributes.verb == "watch":
        raise method_not_allowed()


def _headers(request: Request, requester: Requester) -> list[tuple[str, str]]:
    """Return the headers that say who asks for what; those that a client sent itself are not among them."""
    found = [(name, request.headers[name]) for name in _HANDED_ON if name in request.headers]
    found.append((USER_HEADER, requester.user))
    found += [(GROUP_HEADER, group) for group in requester.all_groups]
    for key, values in requester.extra:
        found += [(f"{EXTRA_PREFIX}{quote(key, safe='')}", value) for value in values]
    found.append(("Content-Length", str(len(request.body))))
    return found
