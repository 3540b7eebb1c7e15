"""Runs a session from the command line: what `run` and `resume` share."""

from __future__ import annotations

import argparse
import asyncio
import socket
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass

from bus.clock import SystemClock
from bus.errors import AnotherWriter, InputError
from bus.exit_codes import ExitCode
from foresail.flags import seconds
from foresail.output import console, print_error, print_json, print_note
from foresail.progress import doing_shares
from foresail.run_log import add_run
from foresail.session.engine_choice import add_engine, engine_of, environment_given
from foresail.session.place import SessionTaken, folder_of, owned_log
from foresail.session.ray_notes import ray_noted
from foresail.session.stack_copy import copied
from foresail.session.summary import header_of, progress_text, run_summary, summary_text
from lab.sessions.attempts import JobStart
from lab.sessions.engines.port import Engine
from lab.sessions.limits import Limits
from lab.sessions.payloads import AnyPayload, check_files, read_payload
from lab.sessions.runner import SessionRunner
from lab.sessions.session_log import SessionLog
from projections.session_state import FINAL, SessionState
from schemas.session import PlannedJob

CODES = {0: ExitCode.GOOD, 1: ExitCode.DIFFERS, 2: ExitCode.BAD_INPUT}
AGAIN = frozenset({"unsubmitted"})
"""States that a resumed session leaves: those jobs have not had their turn."""
RETRIED = frozenset({"failed", "timed-out"})
"""States that it leaves, too, with --retry-failed."""


@dataclass(frozen=True, slots=True)
class Work:
    """A session that is to be run."""

    session: str
    payload: AnyPayload | None
    """None: as the log has it."""
    jobs: tuple[PlannedJob, ...]
    """Empty: as the log has them."""


def add_running(parser: argparse.ArgumentParser) -> None:
    """Add how jobs are run."""
    defaults = Limits()
    add_engine(parser)
    add_run(parser)
    parser.add_argument("--max-parallel", type=int, default=defaults.max_parallel, metavar="N",
                        help="jobs at the same time (default: %(default)s)")  # fmt: skip
    parser.add_argument("--timeout-per-job", type=seconds, metavar="DURATION",
                        default=defaults.timeout_per_job_seconds,
                        help="a job that takes longer is ended (default: 5m)")  # fmt: skip
    parser.add_argument("--timeout-session", type=seconds, metavar="DURATION",
                        default=defaults.timeout_session_seconds,
                        help="after it everything is ended (default: 1h)")  # fmt: skip
    parser.add_argument("--retry-failed", type=int, nargs="?", const=1, default=0, metavar="N",
                        help="try a job that failed or timed out N times more (without N: once)")  # fmt: skip
    parser.add_argument("--stop-on-error", action="store_true",
                        help="begin no job after one has not succeeded")  # fmt: skip
    parser.add_argument("--python-executable", metavar="FILE",
                        help="Python of the jobs (default: this one; in containers: python)")  # fmt: skip


def limits_of(arguments: argparse.Namespace) -> Limits:
    """Return the limits that the arguments mean; raises InputError where nothing would ever run."""
    limits = Limits(
        arguments.max_parallel,
        arguments.timeout_per_job,
        arguments.timeout_session,
        arguments.retry_failed,
        arguments.stop_on_error,
    )
    limits.check()
    return limits


def start_of(arguments: argparse.Namespace) -> JobStart:
    """Return how jobs' processes are started; raises InputError for a variable that cannot be read."""
    own = sys.executable if arguments.engine == "local" else "python"
    return JobStart(arguments.python_executable or own, environment_given(arguments))


async def run_session(arguments: argparse.Namespace, work: Work) -> ExitCode:
    """Run what is left of a session, print what came of it, and return the exit code.

    Raises:
        InputError: engine, payload or limits cannot be used.
    """
    folder = folder_of(arguments.state, work.session)
    limits = limits_of(arguments)
    if work.payload is not None:
        check_files(work.payload)
    try:
        async with (
            owned_log(folder, work.session) as log,
            copied(log, arguments.state),
        ):
            state = await log.read()
            if not state.whole:
                if work.payload is None:
                    raise InputError("SESSION", work.session, "it was never planned to its end")
                await log.plan(work.payload.model_dump(mode="json"), work.jobs)
                state = await log.read()
            payload = read_payload("payload", state.payload)
            _note_earlier(state, retry=limits.retries > 0)
            engine = engine_of(arguments, work.session, folder)
            with doing_shares(f"session {work.session}") as show:
                runner = SessionRunner(
                    log, engine, state, payload, limits, SystemClock(),
                    start=start_of(arguments),
                    on_change=_shown(show, limits),
                )  # fmt: skip
                code = await _run(runner, engine, log)
    except (SessionTaken, AnotherWriter) as error:
        print_error(f"{error}; nothing of this run goes on")
        return ExitCode.ANOTHER_WRITER
    if not getattr(arguments, "quiet", False):
        _print(arguments, work.session, state)
    return CODES[code]


async def _run(runner: SessionRunner, engine: Engine, log: SessionLog) -> int:
    try:
        await engine.open()
        async with ray_noted(log, engine, runner.state.trainings):
            try:
                return await runner.run(socket.gethostname())
            except asyncio.CancelledError:
                await runner.interrupt()
                raise
    finally:
        await engine.close()


def _note_earlier(state: SessionState, *, retry: bool) -> None:
    """Let jobs wait again that are to have another turn, and say what stands already."""
    again = AGAIN | RETRIED if retry else AGAIN
    for job_id, change in state.jobs.items():
        if change.state in again and not state.planned[job_id].refused:
            state.jobs[job_id] = change.model_copy(update={"state": "waiting", "why": ""})
    done = sum(change.state in FINAL for change in state.jobs.values())
    if state.claimed is not None:
        print_note(f"{done} of {state.total} jobs had ended before; the others go on")


def _shown(show: Callable[[str, float], None], limits: Limits) -> Callable[[SessionState], None]:
    def on_change(state: SessionState) -> None:
        done = sum(change.state in FINAL for change in state.jobs.values())
        show(progress_text(state, limits.max_parallel), done / max(1, state.total))

    return on_change


def _print(arguments: argparse.Namespace, session: str, state: SessionState) -> None:
    summary = run_summary(session, state, arguments.engine)
    if arguments.json:
        print_json(asdict(summary))
    else:
        console().print(summary_text(summary, header_of(arguments.engine)), markup=False)
