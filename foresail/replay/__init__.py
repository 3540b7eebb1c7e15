"""`foresail replay FILE`: publish a recording again, as a cluster of its own called `replay-<run>`.

At the original pace, N times as fast, or as fast as possible; with pause and step. The dashboard
and taps attach as to a live cluster. Nothing is executed from it.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import re
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import structlog
from rich.live import Live
from rich.text import Text

from bus.cancellation import cancel_and_wait
from bus.clock import Clock, SystemClock
from bus.errors import InputError
from bus.exit_codes import ExitCode, verdict
from bus.port import StoredMessage
from bus.recording import open_recording
from bus.recording.cut import CutSource, LocatedWindow, locate_window
from bus.recording.format import rfc3339_nanoseconds
from bus.recording.window import Window, WindowUnit
from foresail import stopping
from foresail.output import console, print_json
from foresail.replay.keys import HELP, reading_keys
from foresail.replay.player import FASTER, Player
from foresail.replay.stage import ReplayLog, ReplayTarget, open_stage, run_name
from foresail.run_log import add_run
from foresail.run_log import stage as run_stage
from foresail.spans import moment
from foresail.verbs import Verb
from inputs.plain_numbers import parse_number
from projections.figures import number
from projections.times import WALL
from schemas.wording import count_text

VERB = Verb(40, "play a recording as a cluster of its own, for the dashboard and taps")
EXAMPLES = (
    ("replay run.fslog --speed 10", "ten times as fast, with the dashboard"),
    ("replay run.fslog --from cycle:40 --step", "stop before each cycle from cycle 40 on"),
)

FRAMES_PER_SECOND = 4
STAYS = "after the last event dashboard and taps stay, until q or Ctrl-C (--no-stay: no)"
ENDS = "with the last event, or with q or Ctrl-C before"
_FROM = re.compile("(seq|cycle):([0-9]{1,18})")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a recording")
    parser.add_argument(
        "--speed",
        default="1",
        metavar="N|max",
        help="multiple of the original pace, or as fast as possible (default: 1)",
    )
    parser.add_argument(
        "--from",
        dest="begin",
        metavar="seq:N|cycle:N|TIME",
        help="start there; the state it needs is published first. TIME: 5m from the beginning, or "
        "2026-01-01T10:00:00Z",
    )
    parser.add_argument("--pause", action="store_true", help="start paused; space resumes")
    parser.add_argument(
        "--step", action="store_true", help="pause before each cycle; space plays the next one"
    )
    parser.add_argument(
        "--name", metavar="RUN", help="name the cluster replay-RUN (default: the file's name)"
    )
    parser.add_argument(
        "--no-stay",
        action="store_true",
        help="end after the last event instead of waiting for Ctrl-C",
    )
    parser.add_argument("--no-dashboard", action="store_true", help="do not serve the dashboard")
    parser.add_argument(
        "--dashboard-port",
        type=int,
        default=0,
        metavar="PORT",
        help="TCP port of the dashboard (default: any free one)",
    )
    parser.add_argument(
        "--nats-url", metavar="URL", help="publish on this NATS server (default: one of its own)"
    )
    parser.add_argument(
        "--state",
        default=".foresail",
        type=Path,
        metavar="FOLDER",
        help="state folder of the stack (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_run(parser)


def main(arguments: argparse.Namespace) -> ExitCode:
    """Replay. The recording is proven first, in the main thread, where Ctrl-C interrupts at once."""
    speed = _speed(arguments.speed)
    return stopping.run(_replay(arguments, speed, _part(arguments)))


async def _replay(
    arguments: argparse.Namespace, speed: float | None, part: LocatedWindow
) -> ExitCode:
    clock = SystemClock()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    place = ReplayTarget(
        arguments.state,
        run_name(arguments.file, arguments.name),
        str(part.source.recording.header.get("incarnation", "")),
        arguments.nats_url,
        None if arguments.no_dashboard else arguments.dashboard_port,
    )
    async with open_stage(place, clock) as stage:
        player = Player(
            stage.bus,
            place.cluster,
            clock,
            speed=speed,
            paused=arguments.pause,
            stepping=arguments.step,
        )
        stay = not arguments.no_stay
        stage.caption.read = lambda: position(player, part)

        def on_change() -> None:
            stage.store(arguments.file.name, part.last_seq, pace(player))

        on_change()
        if not arguments.json:
            _introduce(arguments.file, part, stage, stay=stay)
        interrupted = await _until_end(player, part, clock, on_change, stay=stay)
    _conclude(arguments, player, part, stage)
    if interrupted and not player.played.done:
        return ExitCode.INTERRUPTED
    return verdict(cut_off=bool(part.damage))


def _speed(text: str) -> float | None:
    if text == "max":
        return None
    try:
        speed = parse_number(text.removesuffix("x"))
    except ValueError:
        speed = 0.0
    if not 0 < speed <= 1e9:
        raise InputError("--speed", text, "give a number above 0 such as 10, or max")
    return speed


def _part(arguments: argparse.Namespace) -> LocatedWindow:
    recording = open_recording(arguments.file)
    if arguments.begin is None:
        return locate_window(CutSource(recording), Window(WindowUnit.SEQ))
    match = _FROM.fullmatch(arguments.begin)
    if match is not None:
        return locate_window(CutSource(recording), Window(WindowUnit(match[1]), int(match[2])))
    first = next(iter(recording), None)
    begin_ns = moment("--from", arguments.begin, first.time_ns if first else 0)
    return locate_window(CutSource(recording), Window(WindowUnit.TIME, begin_ns))


def _messages(part: LocatedWindow) -> Iterator[StoredMessage]:
    with run_stage("replaying") as told:
        played = 0
        for kept in part.lines():
            if kept is not None:
                yield kept[0]
                played += 1
                told.advance(kept[0].seq / max(1, part.last_seq), samples=played)


async def _until_end(
    player: Player, part: LocatedWindow, clock: Clock, on_change: Callable[[], None], *, stay: bool
) -> bool:
    """Play, show, and take keys until the end or until told to stop; return whether a signal said so.

    `on_change` hears of another pace, a pause and the end.
    """
    stop, signalled = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        signalled.set()
        stop.set()

    for signal_number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signal_number, on_signal)
    playing = asyncio.create_task(player.play(_messages(part), part.from_seq), name="replay")
    waiting = [playing, asyncio.create_task(stop.wait())]
    showing = asyncio.create_task(_show(player, part, clock))

    def on_key(key: str) -> None:
        _press(player, key, stop)
        on_change()

    try:
        with reading_keys(on_key):
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if playing.done():
                playing.result()
                on_change()
            if stay and not stop.is_set():
                _say_at_end(player)
                await stop.wait()
    finally:
        await cancel_and_wait(*waiting, showing)
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(signal_number)
    return signalled.is_set()


def _press(player: Player, key: str, stop: asyncio.Event) -> None:
    match key:
        case " " | "p":
            player.pause()
        case "s" | "\n" | "\r":
            player.step()
        case "+" | "=":
            player.hasten(FASTER)
        case "-":
            player.hasten(1 / FASTER)
        case "m":
            player.set_speed(None)
        case "q":
            stop.set()


def _say_at_end(player: Player) -> None:
    """Say on what is no terminal that everything is played, and how the replay ends."""
    out = console()
    if not out.is_terminal and player.played.done:
        out.print(f"at its end: {count_text(player.played.messages, 'message')} replayed; {STAYS}")


async def _show(player: Player, part: LocatedWindow, clock: Clock) -> None:
    out = console()
    if not out.is_terminal:
        return
    with Live(console=out, refresh_per_second=FRAMES_PER_SECOND, transient=True) as live:
        while True:
            live.update(Text(f"{position(player, part)}\n{HELP}"))
            await clock.sleep(1 / FRAMES_PER_SECOND)


def pace(player: Player) -> str:
    """Return how a replay goes on: its pace, paused, or at its end."""
    if player.played.done:
        return "at its end"
    if player.played.paused:
        return "paused"
    return "as fast as possible" if player.speed is None else f"{number(player.speed)}x"


def position(player: Player, part: LocatedWindow) -> str:
    """Return where in the recording a replay is, and how it goes on."""
    played = player.played
    recorded = (
        rfc3339_nanoseconds(played.time_ns)[:19].replace("T", " ") if played.messages else "-"
    )
    return (
        f"replay: seq {played.seq} of {part.last_seq}, recorded {recorded} UTC {WALL}, "
        f"cycle {played.cycle}, {pace(player)}"
    )


def _introduce(path: Path, part: LocatedWindow, stage: ReplayLog, *, stay: bool) -> None:
    out = console()
    span = f"seq {part.from_seq} to {part.last_seq}"
    lines = [
        f"{path.name} as cluster {stage.stack.cluster} on {stage.where}, {span}",
        "nothing is executed from a replay; only the identity replayer publishes in it",
        f"attach:    foresail tap --state {stage.folder} decision",
        f"end:       {STAYS if stay else ENDS}",
    ]
    if stage.stack.dashboard_url:
        lines.insert(0, f"dashboard: {stage.stack.dashboard_url}")
    if part.damage:
        lines.append(f"the recording is damaged: {part.damage}")
    for line in lines:
        out.print(line, markup=False)


def _conclude(
    arguments: argparse.Namespace, player: Player, part: LocatedWindow, stage: ReplayLog
) -> None:
    played = player.played
    if arguments.json:
        summary: dict[str, Any] = {
            "cluster": stage.stack.cluster,
            "messages": played.messages,
            "last_seq": played.seq,
            "complete": played.done,
            "damage": part.damage,
        }
        print_json(summary)
    else:
        stopped = f"stopped before its end, at seq {played.seq} of {part.last_seq}"
        end = "to its end" if played.done else stopped
        console().print(f"{count_text(played.messages, 'message')} replayed, {end}")
