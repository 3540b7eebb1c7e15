"""One trace per cycle: told from a recording or the live log, received by a real OTLP receiver."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bus.clock import SystemClock
from bus.item_errors import ItemErrors
from bus.nats_adapter import NatsBus
from bus.nats_server import NatsServer
from bus.port import Message, Messages, StoredMessage
from bus.recording import open_recording
from bus.streams import StreamDeclaration
from foresail.settings import resolve
from foresail.stack.virtual import run_virtual_stack
from projections.spans import SpanBuilder, root_context
from schemas.registry import LAYERS, encode
from services.tracing.export import SpanSender
from services.tracing.service import trace
from services.tracing.settings import TracingSettings
from tests.builders import ORIGIN, make_decision, make_observation, stamp_event
from tests.patience import HANGS_SECONDS
from tests.tracing.otlp_receiver import OtlpReceiver, ReceivedSpan

REPOSITORY = Path(__file__).parents[2]
DECLARATION = StreamDeclaration.of(ORIGIN.cluster, ORIGIN.incarnation)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record twelve cycles in virtual time."""
    path = tmp_path_factory.mktemp("run") / "run.fslog"
    given = {
        "run.virtual_time": True,
        "agents.profile": "baseline-rules",
        "run.for_seconds": 60.0,
        "run.nodes": 10,
        "run.workload": "openb",
        "run.record": str(path),
    }
    run_virtual_stack(resolve(None, {}, given), quiet=True)
    return path


def foresail(*arguments: str) -> list[str]:
    """Return the command line of one verb."""
    return [sys.executable, "-m", "foresail", *arguments]


async def ran(command: list[str], folder: Path) -> tuple[int, str]:
    """Run a command to its end; return its exit code and output."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return process.returncode or 0, output.decode()


def assert_connected(spans: list[ReceivedSpan]) -> None:
    """Fail unless the spans are one tree in time order."""
    identities = {span.identity for span in spans}
    roots = [span for span in spans if not span.parent]

    assert len(spans) == len(identities)
    assert 1 == len(roots)
    assert [] == [span.name for span in spans if span.parent and span.parent not in identities]
    assert [] == [span.name for span in spans if span.start_ns > span.end_ns]
    assert roots[0].start_ns == min(span.start_ns for span in spans)


async def test_each_cycle_of_a_recording_is_one_connected_trace(
    recording: Path, tmp_path: Path
) -> None:
    """`foresail trace` sends every event of every cycle; six layers, one root, no loose end."""
    with OtlpReceiver() as receiver:
        code, output = await ran(
            foresail("trace", str(recording), "--otlp", receiver.url), tmp_path
        )

    assert (0, "0 were not taken") == (code, output.strip().partition(", ")[2])
    traces = receiver.traces()
    assert len(traces) >= 10
    for spans in traces.values():
        assert_connected(spans)
        layers = {span.name.partition(".")[0] for span in spans}
        assert {*LAYERS} <= layers | {"outcome"}
    decisions = [span for span in receiver.spans if span.name == "decision"]
    assert len(traces) == len(decisions)
    assert {"referee"} == {span.service for span in decisions}
    assert all(
        {"foresail.rule", "foresail.action"} <= set(decision.attributes) for decision in decisions
    )
    assert all(len(decision.links) >= 2 for decision in decisions)


async def test_sending_twice_sends_the_same_spans(recording: Path) -> None:
    """Ids and times come from the events alone, so a second sender adds nothing new."""
    sent: list[Counter[tuple[str, str]]] = []
    for _ in range(2):
        with OtlpReceiver() as receiver:
            await _trace(open_recording(recording), receiver.url)
        sent.append(Counter((span.identity, span.name) for span in receiver.spans))

    assert sent[0] == sent[1]
    assert {1} == set(sent[0].values())


async def test_a_receiver_that_refuses_costs_spans_and_nothing_else(recording: Path) -> None:
    """The log is read to its end, and the loss is counted."""
    with OtlpReceiver(answer=400) as receiver:
        sender = await _trace(open_recording(recording), receiver.url)

    assert 0 == sender.sent
    assert sender.lost > 100


async def test_an_error_in_one_message_or_batch_costs_that_one(
    recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other spans are sent, those of the failed batch are counted as lost."""
    build, send, errors = SpanBuilder.build, SpanSender.send, ItemErrors("tracing")
    batches = itertools.count(1)

    def poisoned(builder: SpanBuilder, message: StoredMessage) -> Any:
        if message.seq == 40:
            raise KeyError("poison")
        return build(builder, message)

    async def lost(sender: SpanSender, spans: Any) -> bool:
        if next(batches) == 1:
            raise UnicodeEncodeError("utf-8", "", 0, 1, "poison")
        return await send(sender, spans)

    monkeypatch.setattr(SpanBuilder, "build", poisoned)
    monkeypatch.setattr(SpanSender, "send", lost)
    with OtlpReceiver() as receiver:
        sender = await _trace(open_recording(recording), receiver.url, errors)

    assert {"read": 1, "send": 1} == errors.counts
    assert sender.sent > 100
    assert sender.lost > 0


def test_a_span_lasts_from_its_newest_cause_to_its_own_storing() -> None:
    """The referee's span is the time the referee took; an event without causes is a point."""
    observation = stamp_event(make_observation(cycle=2))
    decision = stamp_event(make_decision(cycle=2), causes=[observation.id])
    builder = SpanBuilder()
    (observed,) = builder.build(_stored_message(observation, 1, 1_000))
    (decided,) = builder.build(_stored_message(decision, 2, 1_700))
    (root,) = builder.finish()

    assert (1_000, 1_000) == (observed.start_ns, observed.end_ns)
    assert (1_000, 1_700) == (decided.start_ns, decided.end_ns)
    assert (root.context, observed.context) == (observed.parent, decided.parent)
    assert (1_000, 1_700) == (root.start_ns, root.end_ns)
    assert root_context(observation.correlation_id) == root.context
    assert decided.attributes["foresail.rule"] == "no_proposals"


def test_what_comes_late_joins_its_cycle_whose_root_is_sent_once() -> None:
    """A reward three cycles later is part of the old trace; the root is not sent again."""
    builder = SpanBuilder()
    first = stamp_event(make_observation(cycle=1))
    builder.build(_stored_message(first, 1, 1_000))
    closed = builder.build(_stored_message(stamp_event(make_observation(cycle=4)), 2, 2_000))
    late = builder.build(
        _stored_message(stamp_event(make_decision(cycle=1), causes=[first.id]), 3, 3_000)
    )

    assert ["cycle 1", "observation"] == [span.name for span in closed]
    assert ["decision"] == [span.name for span in late]
    assert closed[0].context.trace_id == late[0].context.trace_id
    assert ["cycle 4"] == [span.name for span in builder.finish()]


@pytest.mark.nats
async def test_the_live_log_is_traced_by_a_process_of_its_own(tmp_path: Path) -> None:
    """What is stored is received within seconds, and tracing writes nothing to the log."""
    server = NatsServer(tmp_path / "nats")
    url = await server.start()
    await NatsBus.declare(url, DECLARATION)
    bus = await NatsBus.connect(url, cluster=ORIGIN.cluster, stream=DECLARATION.name)
    with OtlpReceiver() as receiver:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "services.tracing"),
            env={
                **os.environ,
                "PYTHONPATH": str(REPOSITORY),
                "FORESAIL_CLUSTER": ORIGIN.cluster,
                "FORESAIL_INCARNATION": ORIGIN.incarnation,
                "FORESAIL_STREAM": DECLARATION.name,
                "FORESAIL_NATS_URL": url,
                "FORESAIL_SETTINGS": f'{{"otlp_url": "{receiver.url}", "linger_seconds": 0.1}}',
            },
            stdout=asyncio.subprocess.DEVNULL,
        )
        try:
            encoded = encode(stamp_event(make_observation(cycle=1)))
            await bus.publish([Message(encoded.subject, encoded.headers, encoded.data)])
            async with asyncio.timeout(HANGS_SECONDS):
                while not receiver.spans:
                    await asyncio.sleep(0.05)
        finally:
            process.terminate()
            await process.wait()
    info = await bus.info()
    await bus.close()
    await server.stop()

    assert ["observation"] == [span.name for span in receiver.spans]
    assert (1, 0) == (info.messages, process.returncode)


def _stored_message(event: object, seq: int, time_ns: int) -> StoredMessage:
    encoded = encode(event)  # type: ignore[arg-type]
    return StoredMessage(seq, time_ns, encoded.subject, encoded.headers, encoded.data)


async def _trace(messages: object, url: str, errors: ItemErrors | None = None) -> SpanSender:
    async def stored() -> Messages:
        for message in messages:  # type: ignore[attr-defined]
            yield message

    settings = TracingSettings(otlp_url=url, batch_spans=50)
    sender = SpanSender(settings, "c")
    await trace(stored(), sender, settings, SystemClock(), errors=errors)
    sender.close()
    return sender
