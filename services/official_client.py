"""Reaches an API server over HTTP through the official Kubernetes client; no other file knows that client."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Iterator, Mapping
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import urllib3
import yaml
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from bus.clock import SystemClock
from bus.errors import ConfigError
from inputs.limited_files import read_limited
from inputs.limited_yaml import MOST_BYTES, YamlLimits, load_yaml
from services.byte_stream import Piece, StreamOpened, stream_pieces
from services.cluster import (
    CLUSTER_TIME,
    JSON,
    ApiResponse,
    ClusterRefused,
    ClusterUnavailable,
    Json,
    Method,
    raise_if_refused,
)
from services.kube_objects import FIELD_MANAGER, parse_time
from services.request_rate import RequestRate

KUBECONFIG_LIMITS = YamlLimits(most_nodes=10_000)
"""A hundred clusters have two thousand values; the client's own reader takes 0.2 ms for each."""
RENEW_SECONDS = 5.0
"""Credentials that are refused are read again this often at most."""
LEAST_PAUSE_SECONDS = 0.1
"""Before a request is sent again that the server was too busy for."""
USER_AGENT = f"{FIELD_MANAGER}/{version(FIELD_MANAGER)}"
"""Who asks, as an audit log shows it."""
PIECE_BYTES = 65_536
"""Most bytes of a watch that are handed over at a time."""
POOLED_CONNECTIONS = 32
"""Connections that are kept for the next request; each open watch has one more."""
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


class OfficialClientTransport:
    """Reaches an API server through the official client, past its models (35 times less CPU).

    Credentials are read again once the server refuses them (401), since tokens and certificates are
    rotated in place; a program that a kubeconfig names for them is then run again.
    """

    def __init__(
        self, kubeconfig: Path | None, context: str | None = None, *, timeout_seconds: float = 10.0
    ) -> None:
        """Use a context of a kubeconfig (None: its current one); no kubeconfig: the pod's account.

        Raises:
            ConfigError: the file or the context cannot be used.
        """
        self._kubeconfig, self._context = kubeconfig, context
        self._client = _api_client(kubeconfig, context)
        self._clock = SystemClock()  # answers of a server come in wall time
        self._renewing = threading.Lock()
        self._renewed_seconds = -RENEW_SECONDS
        self._timeout_seconds = timeout_seconds
        self._rate = RequestRate(self._clock)

    async def request(
        self,
        method: Method,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = JSON,
    ) -> ApiResponse:
        """Send one request in a thread; see `Transport.request`.

        A server that has too much to do (429 with Retry-After) did nothing of it, so it is asked again when it wants
        to be, as long as that is within the time-out of one request.
        """
        left_seconds = self._timeout_seconds
        while True:
            await self._rate.wait()
            try:
                return await asyncio.to_thread(
                    self._send, method, path, dict(query or {}), body, content_type
                )
            except ClusterRefused as error:
                pause_seconds = error.retry_after_seconds
                if error.status != 429 or pause_seconds is None or pause_seconds >= left_seconds:
                    raise
            left_seconds -= max(pause_seconds, LEAST_PAUSE_SECONDS)
            await self._clock.sleep(max(pause_seconds, LEAST_PAUSE_SECONDS))

    def watch(
        self, path: str, query: Mapping[str, str], *, silent_seconds: float
    ) -> AsyncGenerator[Piece]:
        """Watch in a thread of its own; see `services.kube_follow.WatchTransport`."""
        return stream_pieces(lambda: self._open(path, dict(query), silent_seconds))

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
        try:
            response = self._call(method, path, query, body, content_type, self._timeout_seconds)
            content: bytes = response.read() or b""
        except (ApiException, urllib3.exceptions.HTTPError, OSError) as error:
            raise ClusterUnavailable(_one_line(error)) from error
        raise_if_refused(response.status, content, response.headers.get("Retry-After", ""))
        return ApiResponse(response.status, content, _server_time(response.headers))

    def _open(self, path: str, query: Mapping[str, str], silent_seconds: float) -> _ClientAnswer:
        timeout = (self._timeout_seconds, silent_seconds)
        try:
            response = self._call("GET", path, query, None, JSON, timeout)
            if response.status >= 400:
                raise_if_refused(response.status, response.read() or b"")
        except (ApiException, urllib3.exceptions.HTTPError, OSError) as error:
            raise ClusterUnavailable(_one_line(error)) from error
        return _ClientAnswer(response.response, _server_time(response.headers))

    def _call(
        self,
        method: Method,
        path: str,
        query: Mapping[str, str],
        body: Json | None,
        content_type: str,
        timeout: float | tuple[float, float],
    ) -> Any:
        """Return the client's answer, of which the body has not been read."""
        headers = {"Accept": JSON}
        if body is not None:
            headers["Content-Type"] = content_type

        def send(sender: client.ApiClient) -> Any:
            prepared = sender.param_serialize(
                method,
                path,
                query_params=list(query.items()),
                header_params=headers,
                body=body,
                auth_settings=["BearerToken"],
            )
            return sender.call_api(*prepared, _request_timeout=timeout)

        used = self._client
        answer = send(used)
        if answer.status == 401 and self._renew(used):
            answer.read()  # the connection goes back
            answer = send(self._client)
        return answer

    def _renew(self, refused: client.ApiClient) -> bool:
        """Read the credentials again; whether another attempt makes sense."""
        with self._renewing:
            if self._client is not refused:
                return True  # another thread has done so
            now = self._clock.monotonic()
            if now - self._renewed_seconds < RENEW_SECONDS:
                return False
            self._renewed_seconds = now
            try:
                self._client = _api_client(self._kubeconfig, self._context)
            except ConfigError:  # being written just now, perhaps
                return False
            return True


class _ClientAnswer:
    """An answer of urllib3 that is still coming."""

    def __init__(self, response: urllib3.BaseHTTPResponse, cluster_time_seconds: float) -> None:
        self._response = response
        self.opened = StreamOpened(cluster_time_seconds)

    def pieces(self) -> Iterator[bytes]:
        """Return the bytes as they come; raises ClusterUnavailable when the connection breaks."""
        try:
            yield from self._response.stream(PIECE_BYTES)
        except (urllib3.exceptions.HTTPError, OSError, ValueError, AttributeError) as error:
            # ValueError and AttributeError: another thread has closed it.
            raise ClusterUnavailable(_one_line(error)) from error

    def abort(self) -> None:
        """Let a read that is under way end, and close the connection."""
        try:
            self._response.shutdown()
        finally:
            self._response.close()


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
    # A peer that is gone without a word is noticed by the kernel, long before a watch is silent.
    settings.keep_alive = True
    settings.connection_pool_maxsize = POOLED_CONNECTIONS
    made = client.ApiClient(settings)
    made.user_agent = USER_AGENT
    return made


def _check_kubeconfig(kubeconfig: Path) -> None:
    """Read a kubeconfig within limits before the client does, which has none.

    A plugin that a kubeconfig names (`exec`) is started by the client, as by kubectl: the file is as
    trusted as a program. Raises ValueError or OSError.
    """
    for word in str(kubeconfig).split(os.pathsep):  # KUBECONFIG may list several
        if Path(word).exists():
            load_yaml(read_limited(Path(word), MOST_BYTES), KUBECONFIG_LIMITS)


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
