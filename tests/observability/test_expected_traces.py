"""What the proof demands of a collector: a whole recording passes, and each way to break a trace is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bus.port import StoredMessage
from bus.recording import open_recording
from projections.spans import CycleSpan, SpanBuilder
from proofs.observability.expected_traces import CollectedSpan, expected_cycles, layers_of
from proofs.observability.traces import rows_of

RECORDING = Path(__file__).parents[1] / "golden" / "v1.fslog"
Traces = dict[str, list[CollectedSpan]]


@pytest.fixture(scope="module")
def messages() -> list[StoredMessage]:
    """Return a recording."""
    return list(open_recording(RECORDING))


@pytest.fixture
def traces(messages: list[StoredMessage]) -> Traces:
    """Return what a collector holds after it was traced."""
    builder = SpanBuilder()
    spans = [span for message in messages for span in builder.build(message)]
    found: Traces = {}
    for span in (*spans, *builder.finish()):
        found.setdefault(f"{span.context.trace_id:032x}", []).append(_collect(span))
    return found


def _collect(span: CycleSpan) -> CollectedSpan:
    return CollectedSpan(
        trace=f"{span.context.trace_id:032x}",
        span=f"{span.context.span_id:016x}",
        parent="" if span.parent is None else f"{span.parent.span_id:016x}",
        name=span.name,
        start=f"{span.start_ns:020d}",
        end=f"{span.end_ns:020d}",
        attributes=span.attributes,
    )


def test_each_cycle_of_a_recording_is_one_whole_trace(
    messages: list[StoredMessage], traces: Traces
) -> None:
    """Every event is a span below one of its causes, with its position, type, rule and action."""
    whole, layers = rows_of("a recording", expected_cycles(messages), traces)

    assert whole.holds, whole.detail
    assert whole.tried > 5
    assert layers.holds
    assert layers_of([]) == set()


def _without_parent(span: CollectedSpan) -> CollectedSpan | None:
    return replace(span, parent="00000000000000aa") if span.name == "decision" else span


def _without_span(span: CollectedSpan) -> CollectedSpan | None:
    return None if span.name == "decision" else span


def _other_rule(span: CollectedSpan) -> CollectedSpan | None:
    other = {**span.attributes, "foresail.rule": "none"}
    return replace(span, attributes=other) if span.name == "decision" else span


def _other_moment(span: CollectedSpan) -> CollectedSpan | None:
    return replace(span, start="0") if span.name == "decision" else span


def _without_root(span: CollectedSpan) -> CollectedSpan | None:
    return span if span.parent else None


@pytest.mark.parametrize(
    ("broken", "named"),
    [
        (_without_parent, "its parent is none of its causes"),
        (_without_span, "events without a span"),
        (_other_rule, "foresail.rule is 'none'"),
        (_other_moment, "outside its cycle"),
        (_without_root, "roots: []"),
    ],
)
def test_a_broken_trace_is_named(
    messages: list[StoredMessage],
    traces: Traces,
    broken: Callable[[CollectedSpan], CollectedSpan | None],
    named: str,
) -> None:
    """No cycle counts as held when its trace lacks a part or says something else."""
    changed = {
        trace: [kept for span in spans if (kept := broken(span)) is not None]
        for trace, spans in traces.items()
    }
    whole, _ = rows_of("a recording", expected_cycles(messages), changed)

    assert whole.held < whole.tried
    assert named in whole.detail
