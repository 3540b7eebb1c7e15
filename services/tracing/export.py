"""Sending spans by OTLP/HTTP: the only file that knows OpenTelemetry.

Every producer of events is a service of its own in the trace, so a viewer shows who took how long.
The exporter blocks, so it runs in a thread; a receiver that does not answer costs spans, never
the reading of the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.trace import SpanContext as OtlpContext

from projections.spans import CycleSpan, SpanContext
from schemas.config import CODE_VERSION
from services.tracing.settings import TracingSettings, endpoint

SCOPE = InstrumentationScope("foresail.tracing", CODE_VERSION)
SAMPLED = TraceFlags(TraceFlags.SAMPLED)


class SpanSender:
    """Sends spans to one receiver and counts them."""

    def __init__(self, settings: TracingSettings, cluster: str) -> None:
        """Connect lazily to the receiver of `settings`.

        Raises:
            ConfigError: its address is no HTTP address.
        """
        self._exporter = OTLPSpanExporter(
            endpoint=endpoint(settings.otlp_url), timeout=settings.timeout_seconds
        )
        self._cluster = cluster
        self._resources: dict[str, Resource] = {}
        self.sent = 0
        self.lost = 0
        """Spans that the receiver did not take; the log still holds their events."""

    async def send(self, spans: Sequence[CycleSpan]) -> bool:
        """Send spans; False when the receiver did not take them."""
        readable = [self._readable(span) for span in spans]
        result = await asyncio.to_thread(self._exporter.export, readable)
        accepted = result is SpanExportResult.SUCCESS
        if accepted:
            self.sent += len(spans)
        else:
            self.lost += len(spans)
        return accepted

    def close(self) -> None:
        """Let the connection go."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]

    def _readable(self, span: CycleSpan) -> ReadableSpan:
        return ReadableSpan(
            name=span.name,
            context=_context(span.context),
            parent=None if span.parent is None else _context(span.parent),
            resource=self._resource(span.producer),
            attributes=span.attributes,
            links=[Link(_context(link)) for link in span.links],
            kind=SpanKind.INTERNAL if span.parent is None else SpanKind.PRODUCER,
            status=Status(StatusCode.ERROR if span.failed else StatusCode.UNSET),
            start_time=span.start_ns,
            end_time=span.end_ns,
            instrumentation_scope=SCOPE,
        )

    def _resource(self, producer: str) -> Resource:
        if producer not in self._resources:
            self._resources[producer] = Resource(
                {
                    "service.name": producer,
                    "service.namespace": "foresail",
                    "service.version": CODE_VERSION,
                    "k8s.cluster.name": self._cluster,
                }
            )
        return self._resources[producer]


def _context(context: SpanContext) -> OtlpContext:
    return OtlpContext(context.trace_id, context.span_id, is_remote=False, trace_flags=SAMPLED)
