"""Are the traces in a real collector what the log says? A recording's, and a running stack's."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bus.port import StoredMessage
from bus.recording import open_recording
from proofs.observability.expected_traces import (
    CollectedSpan,
    ExpectedCycle,
    expected_cycles,
    faults_of,
    layers_of,
    spans_up_to,
)
from proofs.observability.phoenix import Phoenix
from proofs.row import ProofRow

PART = "observability"
REPOSITORY = Path(__file__).parents[2]
COLLECT_SECONDS = 900.0
SEND_SECONDS = 600.0
MOST_LAYERS = 6


async def of_recording(folder: Path, collector: Phoenix, seed: int) -> list[ProofRow]:
    """Record ten minutes on a simulated clock, send them, and compare."""
    file = folder / "run.fslog"
    flags = ["--virtual-time", "--for", "600s", "--nodes", "10", "--exercise", "--json"]
    await _run_verb(folder, "up", *flags, "--seed", str(seed), "--record", str(file))
    sent = await _run_verb(folder, "trace", str(file), "--otlp", collector.url, "--json")
    return await _rows("a recording", list(open_recording(file)), sent, collector)


async def of_stack(
    folder: Path, state: Path, messages: Sequence[StoredMessage], collector: Phoenix
) -> list[ProofRow]:
    """Send the log of a stack as far as `messages` go, and compare; later events are not looked at."""
    flags = ["--otlp", collector.url, "--no-follow", "--state", str(state), "--json"]
    sent = await _run_verb(folder, "trace", *flags)
    return await _rows("a running stack", messages, sent, collector)


async def _rows(
    what: str, messages: Sequence[StoredMessage], sent: str, collector: Phoenix
) -> list[ProofRow]:
    cycles = expected_cycles(messages)
    traces = await _wait_for_spans(collector, cycles)
    return list(rows_of(what, cycles, traces, sent))


def rows_of(
    what: str,
    cycles: Mapping[str, ExpectedCycle],
    traces: Mapping[str, list[CollectedSpan]],
    sent: str = "",
) -> Iterator[ProofRow]:
    """Compare the cycles of a log with what a collector holds."""
    newest = max((seq for cycle in cycles.values() for seq in cycle.seqs), default=0)
    wrong = [
        f"cycle {cycle.number}: {fault}"
        for trace, cycle in cycles.items()
        for fault in faults_of(cycle, spans_up_to(traces.get(trace, []), newest))[:1]
    ]
    events = sum(len(cycle.events) for cycle in cycles.values())
    detail = wrong[0] if wrong else f"{events} events, each a span; {sent}".rstrip("; ")
    yield ProofRow(
        PART,
        f"cycles of {what} that are one whole trace in Phoenix",
        len(cycles),
        len(cycles) - len(wrong),
        detail,
    )
    most = max((len(layers_of(spans)) for spans in traces.values()), default=0)
    yield ProofRow(PART, f"layers seen in traces of {what}", MOST_LAYERS, most)


async def _wait_for_spans(
    collector: Phoenix, cycles: Mapping[str, ExpectedCycle]
) -> dict[str, list[CollectedSpan]]:
    """Return the spans of these traces once all are there; what is there after two minutes otherwise."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + COLLECT_SECONDS
    expected = sum(len(cycle.events) + 1 for cycle in cycles.values())
    while True:
        traces: dict[str, list[CollectedSpan]] = {}
        for span in await asyncio.to_thread(collector.spans):
            if span.trace in cycles:
                traces.setdefault(span.trace, []).append(span)
        if sum(map(len, traces.values())) >= expected or loop.time() > deadline:
            return traces
        await asyncio.sleep(1.0)


async def _run_verb(folder: Path, *words: str) -> str:
    """Run one verb as a user does; return its JSON as one short line.

    Raises:
        RuntimeError: its exit code is not 0.
    """
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "foresail", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
        timeout=SEND_SECONDS,
    )
    if done.returncode != 0:
        raise RuntimeError(
            f"foresail {words[0]} ended with {done.returncode}: {done.stderr[-300:]}"
        )
    if words[0] != "trace":
        return ""
    figures = json.loads(done.stdout)
    return f"sent {figures['sent']}, not taken {figures['lost']}"
