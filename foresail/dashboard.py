"""`foresail dashboard FILE`: open a recording in the dashboard, without a stack, a server or a network; or, without
a file, the running stack once more, such as beside a recording.
"""

from __future__ import annotations

import argparse
import logging
import sys
import webbrowser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bus.errors import InputError
from bus.exit_codes import ExitCode, verdict
from foresail import stopping
from foresail.compare_answer import CompareAnswer
from foresail.experiment.arm_recordings import NamedRecording, checked_recording
from foresail.growing import changed_ms
from foresail.html_page import write_page
from foresail.log_source import connect, login_of
from foresail.output import console, print_note
from foresail.progress import doing_shares
from foresail.remote import add_remote, remote_of
from foresail.run_log import note_artifact
from foresail.shown_log import ShownFile, ShownStack, environment_of
from foresail.stack.state_folder import StackFile, StateFolder
from foresail.verbs import Verb
from projections.figures import size

if TYPE_CHECKING:
    from services.dashboard.settings import DashboardSettings

VERB = Verb(
    42, "open a recording in the dashboard, offline, at any of its moments; or a running stack"
)
EXAMPLES = (
    ("dashboard run.fslog", "the whole run, on a free port of this machine"),
    ("dashboard run.fslog --port 8765 --open", "on a port you choose, in your browser"),
    ("dashboard before.fslog --compare after.fslog", "two runs beside each other"),
    ("dashboard --compare before.fslog", "the stack that runs here beside a recording"),
    ("dashboard run.fslog --export run.html --cycles 20-60", "41 cycles, in one file for a report"),
    (
        "dashboard run.fslog --host 0.0.0.0 --users users --certificate tls.crt --key tls.key",
        "for colleagues who log in",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help="a recording, also one that is still being written, or FOLDER:ARM of an experiment's results "
        "(default: the stack that runs)",
    )
    parser.add_argument(
        "--compare", metavar="FILE", help="a recording that the page Compare shows beside it"
    )
    parser.add_argument(
        "--state",
        default=".foresail",
        metavar="FOLDER",
        help="without FILE: state folder of the stack (default: %(default)s)",
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
    add_remote(parser)


def main(arguments: argparse.Namespace) -> ExitCode:
    """Serve the recording or the stack until told to stop.

    Raises:
        ConfigError: the port is taken, or strangers would reach the address.
        InputError: the file is no recording, or holds no such cycles; or there is no stack.
    """
    remote = remote_of(arguments)
    if arguments.compare is not None:
        checked_recording(arguments.compare, "--compare")
    if arguments.cycles and arguments.export is None:
        raise InputError(
            "--cycles", arguments.cycles, "it says what --export OUT.html writes: give both"
        )
    if arguments.file is None:
        if arguments.export is not None:
            raise InputError("--export", arguments.export, "give the recording it is a cut of")
        return stopping.run(_serve_stack(arguments, remote))
    if remote is not None:
        raise InputError("--nats-url", arguments.nats_url, "give it or FILE, not both")
    recording = checked_recording(arguments.file, "FILE")
    if arguments.export is not None:
        return stopping.run(_export(arguments, recording))
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
        answer = CompareAnswer(ShownFile(recording.path), arguments.compare, arguments.file)
        cut["answers"]["/api/compare"] = await answer(None, 0)
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
    from bus.clock import SystemClock  # noqa: PLC0415 - the command line starts without it
    from bus.recording.followed import FollowedRecording  # noqa: PLC0415
    from foresail.what_if_answers import WhatIfAnswers  # noqa: PLC0415
    from lab.rerun.garbage import rare_collections  # noqa: PLC0415
    from schemas.identity import Origin  # noqa: PLC0415
    from services.dashboard.service import run  # noqa: PLC0415

    settings = _settings(arguments)
    bus = FollowedRecording(recording.path)
    origin = Origin(str(bus.header.get("cluster", "")), str(bus.header.get("incarnation", "")))
    _say(arguments, settings, recording.name)
    if bus.damage:
        print_note(f"the recording is damaged: {bus.damage}")
    if bus.grows:
        print_note("the recording is not sealed: what is added to it is shown, too")
    shown = ShownFile(recording.path)
    # A recording of a day is a gigabyte that stays: each look through it for garbage takes half a second.
    with rare_collections():
        await run(
            settings,
            bus,
            SystemClock(),
            origin,
            file=recording.name,
            appended_ms=lambda: changed_ms(recording.path) if bus.grows else None,
            what_if=WhatIfAnswers(shown),
            compare=None
            if arguments.compare is None
            else CompareAnswer(shown, arguments.compare, arguments.file),
        )
    return verdict(cut_off=bool(bus.damage))


async def _serve_stack(arguments: argparse.Namespace, remote: StackFile | None) -> ExitCode:
    from bus.clock import SystemClock  # noqa: PLC0415 - the command line starts without it
    from foresail.what_if_answers import WhatIfAnswers  # noqa: PLC0415
    from schemas.identity import Origin  # noqa: PLC0415
    from services.dashboard.service import run  # noqa: PLC0415

    state = StateFolder(Path(arguments.state))
    stack = remote or state.read()
    if not stack.running:
        remedy = "no stack runs here now: start one with `foresail up`, or give a recording as FILE"
        raise InputError("--state", arguments.state, remedy)
    settings = _settings(arguments)
    async with connect(stack, state) as bus:
        with TemporaryDirectory(prefix="foresail-page-") as folder:
            shown = ShownStack(environment_of(stack, login_of(stack, state)), Path(folder))
            _say(arguments, settings, f"the stack {stack.cluster}/{stack.incarnation}")
            await run(
                settings,
                bus,
                SystemClock(),
                Origin(stack.cluster, stack.incarnation),
                what_if=WhatIfAnswers(shown),
                compare=None
                if arguments.compare is None
                else CompareAnswer(shown, arguments.compare),
            )
    return ExitCode.GOOD


def _settings(arguments: argparse.Namespace) -> DashboardSettings:
    """Return where the page is served; what goes wrong there is said on stderr from here on."""
    import structlog  # noqa: PLC0415 - the command line starts without it

    from bus.ports import free_port  # noqa: PLC0415
    from services.dashboard.access import check_access  # noqa: PLC0415
    from services.dashboard.settings import DashboardSettings  # noqa: PLC0415

    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
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
    return settings


def _say(arguments: argparse.Namespace, settings: DashboardSettings, what: str) -> None:
    console().print(f"dashboard: {settings.url}  ({what}; Ctrl-C ends)", markup=False)
    if arguments.open:
        webbrowser.open(settings.url)
