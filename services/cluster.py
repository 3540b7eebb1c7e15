"""How a service reaches the cluster: one `Transport`, two adapters, and one door for errors.

Only this file knows the official Kubernetes client. The `cluster.py` of the collector, executor and
exerciser hold reads and writes in terms of `Transport`, so the same code talks to a real API
server, to the embedded cluster over HTTP, and to the embedded cluster in process. Whatever goes
wrong on the way leaves here as `ClusterUnavailable` (no answer; try again) or `ClusterRefused` (an
answer that says no, with the API server's own words). Every answer carries the cluster's own time.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import urllib3
import yaml
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from bus.errors import ConfigError, Permanent, Temporary
from bus.limited_files import read_limited
from bus.limited_yaml import MOST_BYTES, YamlLimits, load_yaml
from services.kube_objects import parse_time

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Json = Mapping[str, Any] | Sequence[Any]

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"

PAGE_ITEMS = 500
"""Items per page of a list; of 500 to 5,000 it needed the least memory at about the same speed."""
CLUSTER_TIME = "X-Foresail-Cluster-Time"
"""By this header the embedded cluster tells its time to the microsecond; others have `Date`."""
KUBECONFIG_LIMITS = YamlLimits(most_nodes=10_000)
"""A hundred clusters have two thousand values; the client's own reader takes 0.2 ms for each."""
_NOT_SERVING = frozenset({502, 503, 504})
# What the client raises for a kubeconfig depends on what is wrong with its form.
_UNUSABLE = (
    config.ConfigException,
    yaml.YAMLError,
    OSError,
    ValueError,
    TypeError,
    AttributeError,
    KeyError,
    RecursionError,
)


class ClusterUnavailable(Temporary):
    """The API server gave no answer, or a gateway said that it is not serving."""


class ClusterRefused(Permanent):
    """The API server said no: `status` (HTTP), `reason` (its word), `message` (its sentence)."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        """Keep what the API server said."""
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """What the API server answered, undecoded."""

    status: int
    body: bytes
    cluster_time_seconds: float
    """The server's clock when it answered, seconds since the Unix epoch."""


@dataclass(frozen=True, slots=True)
class ListedItems:
    """One page of a list, in pieces: what has not changed since the last time is the same bytes."""

    head: bytes
    """The page without its items, as JSON."""
    items: Sequence[bytes]
    """Each item as JSON."""
    cluster_time_seconds: float
    """As of `ApiResponse`."""


class Transport(Protocol):
    """One request to the Kubernetes API."""

    async def request(
        self,
        method: Method,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = JSON,
    ) -> ApiResponse:
        """Send one request and return its answer.

        Raises:
            ClusterUnavailable: no answer.
            ClusterRefused: an answer with status 400 or more.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


@runtime_checkable
class ItemTransport(Protocol):
    """A transport that knows lists by their items, so that who reads often decodes only what has changed."""

    async def list_items(self, path: str, query: Mapping[str, str]) -> ListedItems | None:
        """Send a GET of a list; None: `Transport.request` has to be asked.

        Raises:
            ClusterUnavailable: no answer.
            ClusterRefused: an answer with status 400 or more.
        """
        ...


class InProcessCluster(Protocol):
    """The embedded cluster in the same process (`twin.inprocess.InProcessTwin`)."""

    @property
    def now(self) -> float:
        """Cluster time, seconds since the Unix epoch."""
        ...

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: bytes,
        content_type: str = JSON,
    ) -> tuple[int, bytes]:
        """Answer one request."""
        ...


@runtime_checkable
class ItemCluster(Protocol):
    """One that knows its lists by their items."""

    def list_items(
        self, path: str, query: Mapping[str, str]
    ) -> tuple[int, bytes, Sequence[bytes]] | None:
        """Answer a list item by item: status, the list without its items (or the refusal), and the items.

        None: not a list that can be answered so.
        """
        ...


class TwinTransport:
    """Reaches the embedded cluster in the same process, without HTTP."""

    def __init__(self, twin: InProcessCluster) -> None:
        """Talk to `twin`."""
        self._twin = twin

    async def request(
        self,
        method: Method,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = JSON,
    ) -> ApiResponse:
        """Send one request; see `Transport.request`."""
        raw = b"" if body is None else json.dumps(body).encode()
        status, content = self._twin.request(method, path, dict(query or {}), raw, content_type)
        _raise_if_refused(status, content)
        return ApiResponse(status, content, self._twin.now)

    async def list_items(self, path: str, query: Mapping[str, str]) -> ListedItems | None:
        """Send a GET of a list; see `ItemTransport.list_items`."""
        twin = self._twin
        answer = twin.list_items(path, query) if isinstance(twin, ItemCluster) else None
        if answer is None:
            return None
        status, head, items = answer
        _raise_if_refused(status, head)
        return ListedItems(head, items, self._twin.now)

    async def close(self) -> None:
        """Nothing is held."""


class OfficialClientTransport:
    """Reaches an API server through the official client, past its models (35 times less CPU)."""

    def __init__(
        self, kubeconfig: Path | None, context: str | None = None, *, timeout_seconds: float = 10.0
    ) -> None:
        """Use a context of a kubeconfig (None: its current one); no kubeconfig: the pod's account.

        Raises:
            ConfigError: the file or the context cannot be used.
        """
        self._client = _api_client(kubeconfig, context)
        self._timeout_seconds = timeout_seconds

    async def request(
        self,
        method: Method,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = JSON,
    ) -> ApiResponse:
        """Send one request in a thread; see `Transport.request`."""
        return await asyncio.to_thread(
            self._send, method, path, dict(query or {}), body, content_type
        )

    async def close(self) -> None:
        """Close the client's connections."""
        self._client.rest_client.close()

    def _send(
        self,
        method: Method,
        path: str,
        query: Mapping[str, str],
        body: Json | None,
        content_type: str,
    ) -> ApiResponse:
        headers = {"Accept": JSON}
        if body is not None:
            headers["Content-Type"] = content_type
        try:
            prepared = self._client.param_serialize(
                method,
                path,
                query_params=list(query.items()),
                header_params=headers,
                body=body,
                auth_settings=["BearerToken"],
            )
            response = self._client.call_api(*prepared, _request_timeout=self._timeout_seconds)
            content: bytes = response.read() or b""  # type: ignore[no-untyped-call]
        except (ApiException, urllib3.exceptions.HTTPError, OSError) as error:
            raise ClusterUnavailable(_one_line(error)) from error
        _raise_if_refused(response.status, content)
        return ApiResponse(response.status, content, _server_time(response.headers))


def _api_client(kubeconfig: Path | None, context: str | None) -> client.ApiClient:
    settings = client.Configuration()
    try:
        if kubeconfig is None:
            config.load_incluster_config(settings)  # type: ignore[no-untyped-call]
        else:
            _check_kubeconfig(kubeconfig)
            config.load_kube_config(  # type: ignore[no-untyped-call]
                str(kubeconfig), context, settings, persist_config=False
            )
    except _UNUSABLE as error:
        raise ConfigError(
            "kubeconfig",
            str(kubeconfig or "in-cluster"),
            f"give a readable kubeconfig and an existing context ({_one_line(error)})",
        ) from error
    # A retry below us would hide an outage for seconds; the caller's next cycle is the retry.
    settings.retries = False
    return client.ApiClient(settings)


def _check_kubeconfig(kubeconfig: Path) -> None:
    """Read a kubeconfig within limits before the client does, which has none.

    A plugin that a kubeconfig names (`exec`) is started by the client, as by kubectl: the file is as
    trusted as a program. Raises ValueError or OSError.
    """
    for word in str(kubeconfig).split(os.pathsep):  # KUBECONFIG may list several
        if Path(word).exists():
            load_yaml(read_limited(Path(word), MOST_BYTES), KUBECONFIG_LIMITS)


def _raise_if_refused(status: int, content: bytes) -> None:
    if status < 400:
        return
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        answer = {}
    if not isinstance(answer, dict):
        answer = {}
    reason = str(answer.get("reason") or "Unknown")
    message = str(answer.get("message") or content[:200].decode(errors="replace"))
    if status in _NOT_SERVING:
        raise ClusterUnavailable(f"{status} {reason}: {message}")
    raise ClusterRefused(status, reason, message)


def _server_time(headers: Mapping[str, str]) -> float:
    """Return the server's clock: our own header's microseconds, else the seconds of `Date`."""
    exact = headers.get(CLUSTER_TIME)
    try:
        if exact:
            return parse_time(exact)
        return parsedate_to_datetime(headers.get("Date", "")).timestamp()
    except ValueError as error:
        raise ClusterUnavailable(
            "the API server's answer carries no readable Date header"
        ) from error


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
