"""A server in front of an API server that records what it is asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import yaml

from services.rights.reviews import REVIEWS
from tests.patience import HANGS_SECONDS
from twin.tests.contract.faces import OverHttp

SENT_ON = ("Authorization", "Content-Type", "Accept")
SENT_BACK = ("Content-Type", "X-Foresail-Cluster-Time")


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    method: str
    path: str
    dry: bool
    body: Any
    status: int
    watch: bool = False

    @property
    def writes(self) -> bool:
        """Whether it changes the cluster if it is let."""
        return self.method != "GET" and not self.dry and self.path != REVIEWS


@dataclass
class Recorder:
    """What was asked, and the way in."""

    url: str
    asked: list[Asked] = field(default_factory=list)
    before: Callable[[str, str], None] | None = None
    """Called with method and path before a request is passed on; for what others do meanwhile."""

    @property
    def writes(self) -> list[Asked]:
        """Requests that change the cluster, whatever was answered."""
        return [one for one in self.asked if one.writes]

    @property
    def attempts(self) -> list[Asked]:
        """Requests that would change it, dry runs among them."""
        return [one for one in self.asked if one.method != "GET" and one.path != REVIEWS]


class _PassingOn(BaseHTTPRequestHandler):
    """Passes each request on and notes it."""

    protocol_version = "HTTP/1.1"
    onward: httpx.Client
    recorder: Recorder

    def handle_any(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        parts = urlsplit(self.path)
        if self.recorder.before is not None:
            self.recorder.before(self.command, parts.path)
        headers = {name: self.headers[name] for name in SENT_ON if name in self.headers}
        query = parse_qs(parts.query)
        if query.get("watch") == ["true"]:
            self._pass_on_stream(parts.path, headers)
            return
        answer = self.onward.request(self.command, self.path, content=raw, headers=headers)
        dry = query.get("dryRun") == ["All"]
        body = json.loads(raw) if raw else None
        self.recorder.asked.append(Asked(self.command, parts.path, dry, body, answer.status_code))
        self._answer_head(answer)
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    def _pass_on_stream(self, path: str, headers: dict[str, str]) -> None:
        """Pass a watch on, piece by piece, until either side ends it."""
        self.close_connection = True
        with (
            suppress(httpx.HTTPError, OSError),
            self.onward.stream("GET", self.path, headers=headers, timeout=None) as answer,
        ):
            asked = Asked("GET", path, False, None, answer.status_code, watch=True)
            self.recorder.asked.append(asked)
            self._answer_head(answer)
            self.send_header("Connection", "close")
            self.end_headers()
            for piece in answer.iter_raw():
                self.wfile.write(piece)
                self.wfile.flush()

    def _answer_head(self, answer: httpx.Response) -> None:
        self.send_response(answer.status_code)
        for name in SENT_BACK:
            if name in answer.headers:
                self.send_header(name, answer.headers[name])

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815 - http.server's names

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
        """Print nothing."""


@contextmanager
def recording(target: OverHttp) -> Iterator[Recorder]:
    """Serve on a loopback port what `target` answers."""

    class Handler(_PassingOn):
        onward = httpx.Client(base_url=target.server, verify=target.trust, timeout=HANGS_SECONDS)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    recorder = Handler.recorder = Recorder(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield recorder
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        Handler.onward.close()


def kubeconfig_of(path: Path, server: str, token: str) -> Path:
    """Write a kubeconfig for a server and a token."""
    content = {
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path
