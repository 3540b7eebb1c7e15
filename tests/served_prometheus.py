"""A Prometheus on a free port whose answers are given."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

AT = 1_700_000_000.0
"""Its clock."""


@dataclass
class ServedPrometheus:
    """A server whose answers are given; what it was asked, and as whom."""

    status: int = 200
    body: bytes | None = None
    """None: by `values`."""
    values: dict[str, dict[str, str]] = field(default_factory=dict)
    """By a word of the query: the value by node."""
    series: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """By a word of the query: the whole result; asked first."""
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Path and Authorization of each question."""
    forms: list[dict[str, str]] = field(default_factory=list)
    """What was sent with each."""
    url: str = ""
    now: float = AT

    def answer(self, form: dict[str, str]) -> bytes:
        """Return the answer to a question."""
        if self.body is not None:
            return self.body
        query = form["query"]
        if query == "time()":
            return _success("scalar", [self.now, str(self.now)])
        kind = "matrix" if "start" in form else "vector"
        for word, result in self.series.items():
            if word in query:
                return _success(kind, result)
        values = next((values for word, values in self.values.items() if word in query), {})
        return _success(
            kind,
            [
                {"metric": {"nodename": node}, "value": [AT, value]}
                for node, value in values.items()
            ],
        )


def _success(kind: str, result: Any) -> bytes:
    return json.dumps(
        {"status": "success", "data": {"resultType": kind, "result": result}}
    ).encode()


@contextmanager
def served_prometheus() -> Iterator[ServedPrometheus]:
    """Serve one under the path /base."""
    served = ServedPrometheus()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            fields = parse_qs(self.rfile.read(length).decode())
            form = {name: values[0] for name, values in fields.items()}
            served.asked.append((self.path, self.headers.get("Authorization", "")))
            served.forms.append(form)
            content = served.answer(form)
            self.send_response(served.status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        served.url = f"http://127.0.0.1:{server.server_port}/base"
        try:
            yield served
        finally:
            server.shutdown()
            thread.join()
