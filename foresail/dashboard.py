"""`foresail dashboard FILE`: open a recording in the dashboard, without a stack, a server or a network."""

from __future__ import annotations

import argparse
import logging
import sys
import webbrowser
from pathlib import Path

from bus.errors import InputError
from bus.exit_codes import ExitCode, verdict
from foresail import stopping
from foresail.compare_answer import CompareAnswer
from foresail.experiment.arm_recordings import NamedRecording, named_recording
from foresail.html_page import write_page
from foresail.output import console, print_note
from foresail.progress import doing_shares
from foresail.run_log import note_artifact
from foresail.verbs import Verb
from projections.figures import size

VERB = Verb(42, "open a recording in the dashboard, offline, at any of its moments")
EXAMPLES = (
    ("dashboard run.fslog", "the whole run, on a free port of this machine"),
    ("dashboard run.fslog --port 8765 --open", "on a port you choose, in your browser"),
    ("dashboard before.fslog --compare after.fslog", "two runs beside each other"),
    ("dashboard run.fslog --export run.html --cycles 20-60", "41 cycles, in one file for a report"),
    (
        "dashboard run.fslog --host 0.0.0.0 --users users --certificate tls.crt --key tls.key",
        "for colleagues who log in",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument(
        "file", metavar="FILE", help="a recording, or FOLDER:ARM of an experiment's results"
    )
    parser.add_argument(
        "--compare", metavar="FILE", help="another one, which the page Compare shows beside it"
    )
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
    parser.add_argument(
        "--export",
        type=Path,
        metavar="OUT.html",
        help="write a cut of it as one file that needs no server and no network, and serve nothing",
    )
    parser.add_argument(
        "--cycles",
        default="",
        metavar="FIRST-LAST",
        help="with --export: which cycles (default: the newest 60)",
    )
    parser.add_argument("--open", action="store_true", help="open it in this machine's browser")


def main(arguments: argparse.Namespace) -> ExitCode:
    """Serve the recording until told to stop.

    Raises:
        ConfigError: the port is taken, or strangers would reach the address.
        InputError: the file is no recording, or holds no such cycles.
    """
    recording = named_recording(arguments.file, "FILE")
    if arguments.compare is not None:
        named_recording(arguments.compare, "--compare")
    if arguments.export is not None:
        return stopping.run(_export(arguments, recording))
    if arguments.cycles:
        raise InputError(
            "--cycles", arguments.cycles, "it says what --export OUT.html writes: give both"
        )
    return stopping.run(_serve(arguments, recording))


async def _export(arguments: argparse.Namespace, recording: NamedRecording) -> ExitCode:
    from bus.clock import SystemClock  # noqa: PLC0415 - the command line starts without it
    from bus.recording.bus import RecordingBus  # noqa: PLC0415
    from services.dashboard.cut import cut_of, html_of  # noqa: PLC0415

    bus = RecordingBus(recording.path)
    with doing_shares("cycles of the cut") as advance:
        cut = await cut_of(
            bus,
            SystemClock(),
            recording.name,
            arguments.cycles,
            lambda done, all_: advance(f"cycle {done} of {all_}", done / all_),
        )
    if arguments.compare is not None:
        answer = CompareAnswer(arguments.file, arguments.compare)
        cut["answers"]["/api/compare"] = await answer()
    page = html_of(cut)
    write_page(arguments.export, page, "--export")
    note_artifact(arguments.export, "report")
    console().print(
        f"{arguments.export}: cycles {cut['first_cycle']} to {cut['last_cycle']}, "
        f"{len(cut['rows'])} events, {size(len(page))}; open it in a browser",
        markup=False,
    )
    return verdict(cut_off=bool(bus.damage))


async def _serve(arguments: argparse.Namespace, recording: NamedRecording) -> ExitCode:
    import structlog  # noqa: PLC0415 - the command line starts without it

    from bus.clock import SystemClock  # noqa: PLC0415
    from bus.ports import free_port  # noqa: PLC0415
    from bus.recording.bus import RecordingBus  # noqa: PLC0415
    from foresail.what_if_answers import WhatIfAnswers  # noqa: PLC0415
    from lab.rerun.garbage import rare_collections  # noqa: PLC0415
    from schemas.identity import Origin  # noqa: PLC0415
    from services.dashboard.access import check_access  # noqa: PLC0415
    from services.dashboard.service import run  # noqa: PLC0415
    from services.dashboard.settings import DashboardSettings  # noqa: PLC0415

    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    bus = RecordingBus(recording.path)
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
    console().print(f"dashboard: {settings.url}  ({recording.name}; Ctrl-C ends)", markup=False)
    if bus.damage:
        print_note(f"the recording is damaged: {bus.damage}")
    if arguments.open:
        webbrowser.open(settings.url)
    # A recording of a day is a gigabyte that stays: each look through it for garbage takes half a second.
    with rare_collections():
        await run(
            settings,
            bus,
            SystemClock(),
            origin,
            file=recording.name,
            what_if=WhatIfAnswers(recording.path),
            compare=None
            if arguments.compare is None
            else CompareAnswer(arguments.file, arguments.compare),
        )
    return verdict(cut_off=bool(bus.damage))
