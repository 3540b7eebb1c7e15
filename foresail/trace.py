"""`foresail trace --otlp URL [RECORDING]`: send the log as OpenTelemetry traces, one per cycle.

Reads a recording, the last stack's log, or the running stack's log and then follows it. Ids are
derived from the events, so what is sent twice is the same spans.
"""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bus.clock import SystemClock
from bus.errors import BusUnavailable
from bus.exit_codes import ExitCode
from bus.port import Messages
from foresail.log_source import RecordingSource, Source, open_source, reading_verdict
from foresail.output import console, print_json
from foresail.remote import add_remote, remote_of
from foresail.verbs import Verb
from schemas.wording import count_text
from services.tracing.export import SpanSender
from services.tracing.service import trace
from services.tracing.settings import TracingSettings

VERB = Verb(80, "send the log as OpenTelemetry traces, one per cycle")
EXAMPLES = (
    ("trace run.fslog --otlp http://127.0.0.1:4318", "send a recording to Jaeger or a collector"),
    ("trace --no-follow", "send what the running stack has stored so far"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument(
        "recording",
        nargs="?",
        metavar="RECORDING",
        help="send this recording instead of the running stack's log",
    )
    parser.add_argument(
        "--otlp",
        default="http://127.0.0.1:4318",
        metavar="URL",
        help="address of the OTLP/HTTP receiver (default: %(default)s)",
    )
    parser.add_argument("--no-follow", action="store_true", help="stop at the newest stored event")
    parser.add_argument(
        "--state",
        default=".foresail",
        metavar="FOLDER",
        help="state folder of the stack (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_remote(parser)


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Send spans.

    Raises:
        InputError: there is no log, or the address is none.
        BusUnavailable: the receiver took nothing at all.
    """
    settings = TracingSettings(otlp_url=arguments.otlp)
    async with _messages(arguments) as (source, messages):
        sender = SpanSender(settings, source.cluster)
        try:
            await trace(messages, sender, settings, SystemClock())
        finally:
            sender.close()
    if sender.lost and not sender.sent:
        raise BusUnavailable(f"--otlp: no receiver took spans at {arguments.otlp}")
    if arguments.json:
        print_json({"sent": sender.sent, "lost": sender.lost})
    else:
        console().print(f"sent {count_text(sender.sent, 'span')}, {sender.lost} were not taken")
    return reading_verdict(source, differs=bool(sender.lost), nothing_compared=not sender.sent)


@asynccontextmanager
async def _messages(arguments: argparse.Namespace) -> AsyncIterator[tuple[Source, Messages]]:
    if arguments.recording is not None:
        source = RecordingSource(Path(arguments.recording))
        yield source, source.messages()
        return
    async with open_source(None, Path(arguments.state), remote_of(arguments)) as log:
        yield log, log.messages(follow=not arguments.no_follow)
