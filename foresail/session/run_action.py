"""`foresail session run`: every job of a file, each to exactly one end."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from bus.clock import SystemClock
from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail import stopping
from foresail.output import console, print_json
from foresail.session.detached import FLAG, start_detached
from foresail.session.engine_choice import template_of
from foresail.session.place import add_place, folder_of, session_name
from foresail.session.plan_action import add_session_file, session_of
from foresail.session.running import Work, add_running, limits_of, run_session, start_of
from lab.sessions.attempts import attempt_of
from lab.sessions.engines.job_manifest import job_manifest, result_path
from lab.sessions.engines.port import Attempt
from lab.sessions.jobs_file import read_jobs_file
from lab.sessions.payloads import AnyPayload
from lab.sessions.planner import plan_jobs
from schemas.session import PlannedJob

EXAMPLES = (
    ("session run --jobs-file jobs.jsonl", "four jobs at a time on this machine"),
    ("session run --session-file session.yaml --retry-failed 2", "plan and run at once"),
    ("session run --jobs-file jobs.jsonl --dry-run", "show what would be started"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("--jobs-file", metavar="FILE",
                        help="jobs as JSON lines, as `session plan` writes them")  # fmt: skip
    add_session_file(parser, required=False)
    parser.add_argument("--session", metavar="NAME",
                        help="name of the session (default: that of the file, and a hash of it)")  # fmt: skip
    add_place(parser)
    add_running(parser)
    parser.add_argument(FLAG, action="store_true",
                        help="let a runner in the background do it; `session status` shows how far it is")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true",
                        help="show what would be started; start and reach nothing")  # fmt: skip


def run(arguments: argparse.Namespace) -> ExitCode:
    """Run a session.

    Raises:
        InputError: jobs, engine or limits cannot be used.
    """
    if (arguments.jobs_file is None) == (arguments.session_file is None):
        raise InputError("--jobs-file", arguments.jobs_file, "give it or --session-file")
    path = Path(arguments.jobs_file or arguments.session_file)
    payload, jobs = _work_of(arguments, path)
    if arguments.dry_run:
        return _show(arguments, payload, jobs)
    session = _session_of(arguments)
    if arguments.no_wait:
        return _detach(arguments, session)
    return stopping.run(run_session(arguments, Work(session, payload, jobs)))


def _work_of(
    arguments: argparse.Namespace, path: Path
) -> tuple[AnyPayload, tuple[PlannedJob, ...]]:
    """Return what is to be done: the jobs of a jobs file, its first `--max-jobs`, or those of a session file."""
    if arguments.jobs_file is None:
        planned = session_of(arguments)
        return planned.payload, plan_jobs(planned)
    for flag in ("choose", "seed"):
        if (value := getattr(arguments, flag)) is not None:
            raise InputError(f"--{flag}", value, "its jobs are chosen already; give --session-file")
    if arguments.max_jobs is not None and arguments.max_jobs < 1:
        raise InputError("--max-jobs", arguments.max_jobs, "give 1 or more")
    payload, jobs = read_jobs_file(path)
    return payload, jobs[: arguments.max_jobs]


def _session_of(arguments: argparse.Namespace) -> str:
    """Return the session's name; the first jobs of a file are another session than all of them."""
    path = Path(arguments.jobs_file or arguments.session_file)
    chosen = [f"{name}{value}" for name in ("max_jobs", "choose", "seed")
              if (value := getattr(arguments, name)) is not None]  # fmt: skip
    return session_name(path, arguments.session, "-".join(chosen).replace("_jobs", ""))


def _show(
    arguments: argparse.Namespace, payload: AnyPayload, jobs: tuple[PlannedJob, ...]
) -> ExitCode:
    """Print each job's command line; nothing is started, written or reached."""
    limits = limits_of(arguments)
    start = start_of(arguments)
    if arguments.engine == "kubernetes":
        start = replace(start, result_path=lambda _: result_path())
    for job in jobs:
        if job.refused:
            print_json({"job_id": job.job_id, "state": "invalid", "reason": job.refused})
            continue
        attempt = attempt_of(job, 1, payload, start, limits)
        print_json(_shown(arguments, attempt))
    return ExitCode.DIFFERS if any(job.refused for job in jobs) else ExitCode.GOOD


def _shown(arguments: argparse.Namespace, attempt: Attempt) -> dict[str, Any]:
    """Return what would be handed to the engine."""
    if arguments.engine == "kubernetes":
        session = _session_of(arguments)
        created = SystemClock().wall_ns() // 1_000_000_000
        return job_manifest(attempt, session, template_of(arguments), created)
    return {
        "job_id": attempt.job_id,
        "words": attempt.words,
        "output_json": attempt.output_json,
    }


def _detach(arguments: argparse.Namespace, session: str) -> ExitCode:
    folder = folder_of(arguments.state, session)
    folder.mkdir(parents=True, exist_ok=True)
    pid = stopping.run(start_detached(arguments.typed, folder))
    if arguments.json:
        print_json({"session": session, "pid": pid})
    else:
        text = f"{session} is run by process {pid}; `foresail session status {session}` shows it"
        console().print(text, markup=False, soft_wrap=True)
    return ExitCode.GOOD
