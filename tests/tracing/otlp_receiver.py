"""A real OTLP/HTTP receiver on loopback: decodes what arrives and keeps it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


@dataclass(frozen=True)
class ReceivedSpan:
    """One span as it came over the wire."""

    service: str
    name: str
    trace: str
    identity: str
    parent: str
    links: tuple[str, ...]
    start_ns: int
    end_ns: int
    error: bool
    attributes: dict[str, Any]


@dataclass
class OtlpReceiver:
    """Serves while the block runs."""

    spans: list[ReceivedSpan] = field(default_factory=list)
    answer: int = 200

    def __enter__(self) -> Self:
        """Listen."""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.path == "/v1/traces" and receiver.answer == 200:
                    receiver.take(ExportTraceServiceRequest.FromString(body))
                self.send_response(receiver.answer)
                self.send_header("content-type", "application/x-protobuf")
                self.end_headers()
                self.wfile.write(ExportTraceServiceResponse().SerializeToString())

            def log_message(self, *arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def take(self, request: ExportTraceServiceRequest) -> None:
        """Keep the spans of one request."""
        for group in request.resource_spans:
            resource = _values(group.resource.attributes)
            for scope in group.scope_spans:
                self.spans += [_receive(resource["service.name"], span) for span in scope.spans]

    def traces(self) -> dict[str, list[ReceivedSpan]]:
        """Return the spans by trace."""
        found: dict[str, list[ReceivedSpan]] = {}
        for span in self.spans:
            found.setdefault(span.trace, []).append(span)
        return found


def _receive(service: str, span: Any) -> ReceivedSpan:
    return ReceivedSpan(
        service=service,
        name=span.name,
        trace=span.trace_id.hex(),
        identity=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        links=tuple(link.span_id.hex() for link in span.links),
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
        error=span.status.code == 2,
        attributes=_values(span.attributes),
    )


def _values(attributes: Any) -> dict[str, Any]:
    return {
        attribute.key: getattr(attribute.value, attribute.value.WhichOneof("value"))
        for attribute in attributes
    }
