"""The door to the cluster over real HTTP: answers, the cluster's clock, and every way to fail."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import foresail
from bus.clock import ManualClock
from bus.errors import ConfigError
from services.cluster import (
    CLUSTER_TIME,
    MERGE_PATCH,
    ApiResponse,
    ClusterRefused,
    ClusterUnavailable,
)
from services.official_client import OfficialClientTransport
from services.request_rate import RequestRate

DATE = "Thu, 01 Jan 2026 00:00:07 GMT"
TOKEN = "a-token-of-the-test"


class _Server(BaseHTTPRequestHandler):
    """Answers with what it was asked, and misbehaves on request."""

    protocol_version = "HTTP/1.1"
    headers_out: Mapping[str, str] = {}
    accepted: list[str] = []
    """Tokens that are accepted; none: any."""
    refused: list[str] = []
    """Paths of requests that were refused for their token."""
    busy: list[str] = []
    """Answers of 429 that come first, each as its Retry-After."""

    def _answer(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        seen = {
            "method": self.command,
            "path": self.path,
            "authorization": self.headers.get("Authorization"),
            "content_type": self.headers.get("Content-Type"),
            "user_agent": self.headers.get("User-Agent"),
            "body": json.loads(self.rfile.read(size)) if size else None,
        }
        status = int(self.path.rsplit("/", 1)[-1]) if self.path.startswith("/fail/") else 200
        if self.accepted and seen["authorization"] not in self.accepted:
            status = 401
            self.refused.append(self.path)
        pause: dict[str, str] = {}
        if self.busy:
            status, pause = 429, {"Retry-After": self.busy.pop(0)}
        if self.path == "/silent":
            threading.Event().wait(0.8)
        refusal = {"kind": "Status", "reason": "NotFound", "message": "no such thing"}
        body = json.dumps(seen if status == 200 else refusal).encode()
        self.send_response_only(status)
        sent = {**self.headers_out, **pause, "Content-Length": str(len(body))}
        for name, value in sent.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PATCH = _answer  # noqa: N815 - names of the standard library

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


class _QuietServer(ThreadingHTTPServer):
    """Says nothing of clients that gave up waiting; other tests may be watching standard error."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing."""


@contextmanager
def _serving(
    folder: Path, *, busy: tuple[str, ...] = (), **headers: str
) -> Iterator[OfficialClientTransport]:
    handler = type("Handler", (_Server,), {"headers_out": headers, "busy": list(busy)})
    server = _QuietServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    file = kubeconfig(folder, server.server_address[1])
    try:
        yield OfficialClientTransport(file, timeout_seconds=0.3)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def kubeconfig(folder: Path, port: int) -> Path:
    """Write a kubeconfig for a loopback server."""
    file = folder / "kubeconfig"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "u", "user": {"token": TOKEN}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file.write_text(json.dumps(content))
    return file


def _ask(transport: OfficialClientTransport, *arguments: Any, **keywords: Any) -> ApiResponse:
    async def main() -> ApiResponse:
        try:
            return await transport.request(*arguments, **keywords)
        finally:
            await transport.close()

    return asyncio.run(main())


def test_a_request_arrives_as_it_was_meant(tmp_path: Path) -> None:
    """Method, query, token, body and content type reach the server; bytes come back undecoded."""
    with _serving(tmp_path, Date=DATE) as transport:
        answer = _ask(
            transport,
            "PATCH",
            "/api/v1/nodes/n1",
            {"dryRun": "All", "labelSelector": "a=b,c"},
            {"metadata": {"annotations": {"x": None}}},
            MERGE_PATCH,
        )
    content = json.loads(answer.body)
    assert (content["method"], content["authorization"]) == ("PATCH", f"Bearer {TOKEN}")
    assert content["path"] == "/api/v1/nodes/n1?dryRun=All&labelSelector=a%3Db%2Cc"
    assert content["content_type"] == MERGE_PATCH
    assert content["user_agent"] == f"foresail/{foresail.__version__}"
    assert content["body"] == {"metadata": {"annotations": {"x": None}}}


def test_the_clusters_clock_comes_from_the_answer(tmp_path: Path) -> None:
    """The Date header tells the second; the embedded cluster's own header the microsecond."""
    with _serving(tmp_path, Date=DATE) as transport:
        assert _ask(transport, "GET", "/version").cluster_time_seconds == 1767225607.0
    exact = {"Date": DATE, CLUSTER_TIME: "2026-01-01T00:00:07.250001Z"}
    with _serving(tmp_path, **exact) as transport:
        assert _ask(transport, "GET", "/version").cluster_time_seconds == 1767225607.250001


def test_an_answer_without_a_clock_is_no_answer(tmp_path: Path) -> None:
    """Time is never made up: without a readable Date header the answer is refused."""
    with (
        _serving(tmp_path, Date="yesterday") as transport,
        pytest.raises(ClusterUnavailable, match="Date"),
    ):
        _ask(transport, "GET", "/version")


@pytest.mark.parametrize("status", [400, 403, 404, 409, 410, 422, 429, 500])
def test_a_refusal_keeps_the_servers_words(tmp_path: Path, status: int) -> None:
    """Status, reason and message of the API server are in the error."""
    with _serving(tmp_path, Date=DATE) as transport, pytest.raises(ClusterRefused) as raised:
        _ask(transport, "GET", f"/fail/{status}")
    error = raised.value
    assert (error.status, error.reason, error.message) == (status, "NotFound", "no such thing")


def test_a_busy_server_is_asked_again_when_it_wants_to_be(tmp_path: Path) -> None:
    """429 with Retry-After means that nothing was done, so the same request is sent again."""
    with _serving(tmp_path, busy=("0", "0"), Date=DATE) as transport:
        assert json.loads(_ask(transport, "PATCH", "/version", body={}).body)["method"] == "PATCH"


@pytest.mark.parametrize("pause", ["30", "soon", ""])
def test_a_busy_server_is_not_waited_for_longer_than_for_an_answer(
    tmp_path: Path, pause: str
) -> None:
    """A pause beyond the time-out, or none that can be read, is the caller's to deal with."""
    with (
        _serving(tmp_path, busy=(pause,), Date=DATE) as transport,
        pytest.raises(ClusterRefused) as raised,
    ):
        _ask(transport, "GET", "/version")
    assert raised.value.status == 429


def test_a_server_that_stays_busy_is_given_up(tmp_path: Path) -> None:
    """Within the time-out of one request it is asked a few times."""
    with (
        _serving(tmp_path, busy=("0",) * 50, Date=DATE) as transport,
        pytest.raises(ClusterRefused) as raised,
    ):
        _ask(transport, "GET", "/version")
    assert raised.value.status == 429


async def test_requests_are_sent_at_a_bounded_rate() -> None:
    """A burst goes at once, what comes after it at so many a second; a pause fills the bucket again."""
    clock = ManualClock()
    rate = RequestRate(clock, per_second=10.0, burst=5)
    sent = []
    for _ in range(8):
        await rate.wait()
        sent.append(round(clock.monotonic(), 6))
    await clock.sleep(60.0)
    for _ in range(6):
        await rate.wait()
        sent.append(round(clock.monotonic(), 6))
    assert sent == [0.0] * 5 + [0.1, 0.2, 0.3] + [60.3] * 5 + [60.4]


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_gateway_without_a_server_is_an_outage(tmp_path: Path, status: int) -> None:
    """Not serving is temporary, like not answering."""
    with _serving(tmp_path, Date=DATE) as transport, pytest.raises(ClusterUnavailable):
        _ask(transport, "GET", f"/fail/{status}")


def test_a_server_that_does_not_answer_in_time_is_an_outage(tmp_path: Path) -> None:
    """No request waits longer than its time-out, and none is retried below us."""
    with _serving(tmp_path, Date=DATE) as transport, pytest.raises(ClusterUnavailable):
        _ask(transport, "GET", "/silent")


def test_a_server_that_is_not_there_is_an_outage(tmp_path: Path) -> None:
    """A refused connection is temporary."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    transport = OfficialClientTransport(kubeconfig(tmp_path, port), timeout_seconds=0.5)
    with pytest.raises(ClusterUnavailable):
        _ask(transport, "GET", "/version")


def test_a_kubeconfig_that_cannot_be_used_is_one_clear_line(tmp_path: Path) -> None:
    """A missing file, a broken file and an unknown context name the setting and the remedy."""
    missing = tmp_path / "nowhere"
    broken = tmp_path / "broken"
    broken.write_text("clusters: [}")
    good = kubeconfig(tmp_path, 1)
    for file, context in ((missing, None), (broken, None), (good, "other")):
        with pytest.raises(ConfigError) as raised:
            OfficialClientTransport(file, context)
        assert raised.value.field == "kubeconfig"
        assert "\n" not in str(raised.value)


@contextmanager
def _serving_tokens(folder: Path) -> Iterator[tuple[Path, type[_Server], Path]]:
    """Serve who has the right token; yields a kubeconfig that names a token file, the handler and that file."""
    handler = type("Handler", (_Server,), {"headers_out": {"Date": DATE}, "refused": []})
    server = _QuietServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    file, token = kubeconfig(folder, server.server_address[1]), folder / "token"
    content = json.loads(file.read_text())
    content["users"][0]["user"] = {"tokenFile": str(token)}
    file.write_text(json.dumps(content))
    token.write_text("first")
    try:
        yield file, handler, token
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def test_a_rotated_token_is_read_again(tmp_path: Path) -> None:
    """A request that the old one made is answered all the same, and a watch opens."""
    with _serving_tokens(tmp_path) as (file, server, token):
        transport = OfficialClientTransport(file, timeout_seconds=5.0)
        server.accepted = ["Bearer first"]
        await transport.request("GET", "/version")
        token.write_text("second")
        server.accepted = ["Bearer second"]
        answer = await transport.request("GET", "/version")
        pieces = [piece async for piece in transport.watch("/watched", {}, silent_seconds=5.0)]
        await transport.close()
    assert json.loads(answer.body)["authorization"] == "Bearer second"
    assert len(pieces) > 1
    assert server.refused == ["/version"]


async def test_a_token_that_stays_wrong_is_tried_twice_and_then_once(tmp_path: Path) -> None:
    """Credentials are read again every five seconds at most, so a revoked account asks no more than before."""
    with _serving_tokens(tmp_path) as (file, server, _):
        transport = OfficialClientTransport(file, timeout_seconds=5.0)
        server.accepted = ["Bearer other"]
        for path in ("/one", "/two"):
            with pytest.raises(ClusterRefused) as raised:
                await transport.request("GET", path)
            assert raised.value.status == 401
        await transport.close()
    assert server.refused == ["/one", "/one", "/two"]
