"""What `collect` and `monitor` share: a log to write, a line for each look, alerts to somebody."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bus.clock import SystemClock
from foresail.log_source import connect
from foresail.notifier import Send
from foresail.output import console, print_json, print_note
from foresail.stack.preflight import check_writable
from foresail.stack.state_folder import NoStack, StateFolder
from lab.queue.collecting import Told
from lab.queue.samples import QueueSample
from lab.queue.sinks import BusSink, Sink, queue_recording
from schemas.envelope import rfc3339
from schemas.identity import Origin
from schemas.queue import QueueAlert

CLUSTER = "queue"
"""Cluster of a recording that no stack stands behind."""


class NoSink:
    """Keeps nothing."""

    async def take(self, events: Any, time_seconds: float) -> None:
        """Let it go."""


@asynccontextmanager
async def recording_sink(path: Path) -> AsyncIterator[Sink]:
    """Write into a new recording; raises InputError where it exists or cannot be made."""
    check_writable("FILE", path)
    with queue_recording(path, CLUSTER, SystemClock()) as sink:
        yield sink


@asynccontextmanager
async def stack_sink(state: str) -> AsyncIterator[Sink]:
    """Write into the log of the stack that runs in a folder; nobody keeps it where none runs."""
    folder = StateFolder(Path(state))
    try:
        stack = folder.read()
    except NoStack:
        stack = None
    if stack is None or not stack.running:
        yield NoSink()
        return
    async with connect(stack, folder, "operator") as bus:
        yield BusSink(bus, Origin(stack.cluster, stack.incarnation))


def told_of(arguments: argparse.Namespace, send: Send, alerts: list[QueueAlert]) -> Told:
    """Return who hears of looks and alerts: this terminal, the channel, and the list."""

    def on_look(look: QueueSample) -> None:
        state = look.state
        if arguments.json:
            values = {**state.model_dump(), "queue_length": state.queue_length}
            print_json({**values, "jobs_total": state.jobs_total})
        else:
            time = rfc3339(state.cluster_time_seconds)[:19]
            console().print(f"{time} {state.line()}", markup=False)

    def on_alert(alert: QueueAlert) -> None:
        alerts.append(alert)
        if not send(alert.line()):
            print_note(f"the alert was not taken: {alert.line()}")

    return Told(on_look, on_alert, lambda why: print_note(f"no look: {why}"))
