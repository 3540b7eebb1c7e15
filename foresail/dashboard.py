"""`foresail dashboard FILE`: open a recording in the dashboard, without a stack, a server or a network."""

from __future__ import annotations

import argparse
import logging
import sys
import webbrowser
from pathlib import Path

from bus.exit_codes import ExitCode, verdict
from foresail import stopping
from foresail.output import console, print_note
from foresail.verbs import Verb

VERB = Verb(42, "open a recording in the dashboard, offline, at any of its moments")
EXAMPLES = (
    ("dashboard run.fslog", "the whole run, on a free port of this machine"),
    ("dashboard run.fslog --port 8765 --open", "on a port you choose, in your browser"),
    (
        "dashboard run.fslog --host 0.0.0.0 --users users --certificate tls.crt --key tls.key",
        "for colleagues who log in",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a recording")
    parser.add_argument(
        "--port",
        type=int,
        default=0,
        metavar="PORT",
        help="TCP port to serve on (default: any free one)",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to serve on (default: the loopback; any other needs --users and --certificate)",
    )
    parser.add_argument(
        "--host-name",
        action="append",
        default=[],
        metavar="NAME",
        help="another name in the Host header that is answered; can be repeated",
    )
    parser.add_argument(
        "--users", type=Path, metavar="FILE", help="who may read: a line NAME:SECRET each"
    )
    parser.add_argument(
        "--certificate", type=Path, metavar="FILE", help="TLS certificate chain, PEM"
    )
    parser.add_argument("--key", type=Path, metavar="FILE", help="the certificate's key, PEM")
    parser.add_argument("--open", action="store_true", help="open it in this machine's browser")


def main(arguments: argparse.Namespace) -> ExitCode:
    """Serve the recording until told to stop.

    Raises:
        ConfigError: the port is taken, or strangers would reach the address.
        InputError: the file is no recording.
    """
    return stopping.run(_serve(arguments))


async def _serve(arguments: argparse.Namespace) -> ExitCode:
    import structlog  # noqa: PLC0415 - the command line starts without it

    from bus.clock import SystemClock  # noqa: PLC0415
    from bus.ports import free_port  # noqa: PLC0415
    from bus.recording.bus import RecordingBus  # noqa: PLC0415
    from schemas.identity import Origin  # noqa: PLC0415
    from services.dashboard.access import check_access  # noqa: PLC0415
    from services.dashboard.service import run  # noqa: PLC0415
    from services.dashboard.settings import DashboardSettings  # noqa: PLC0415

    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    bus = RecordingBus(arguments.file)
    origin = Origin(str(bus.header.get("cluster", "")), str(bus.header.get("incarnation", "")))
    settings = DashboardSettings(
        host=arguments.host,
        port=arguments.port or free_port(),
        users_file=arguments.users,
        tls_certificate=arguments.certificate,
        tls_key=arguments.key,
    )
    names = (*settings.host_names, *arguments.host_name)
    settings = settings.model_copy(update={"host_names": names})
    check_access(settings)
    console().print(
        f"dashboard: {settings.url}  ({arguments.file.name}; Ctrl-C ends)", markup=False
    )
    if bus.damage:
        print_note(f"the recording is damaged: {bus.damage}")
    if arguments.open:
        webbrowser.open(settings.url)
    await run(settings, bus, SystemClock(), origin, file=arguments.file.name)
    return verdict(cut_off=bool(bus.damage))
