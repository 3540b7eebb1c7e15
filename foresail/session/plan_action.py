"""`foresail session plan`: the jobs of a session file, as JSON lines."""

from __future__ import annotations

import argparse
from pathlib import Path

from bus.exit_codes import ExitCode
from foresail.output import console, print_json
from lab.sessions.field_errors import FLAG
from lab.sessions.jobs_file import write_jobs_file
from lab.sessions.planner import plan_jobs
from lab.sessions.session_file import CHOICES, SessionFile, checked_session, read_session_file
from schemas.wording import count_text

EXAMPLES = (
    (
        "session plan --session-file session.yaml --output-jobs-file jobs.jsonl",
        "then: foresail session run --jobs-file jobs.jsonl",
    ),
    (
        "session plan --session-file session.yaml --output-jobs-file jobs.jsonl --max-jobs 20 --choose sobol",
        "20 combinations that cover the grid",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    add_session_file(parser, required=True)
    parser.add_argument("--output-jobs-file", required=True, metavar="FILE",
                        help="the jobs, one JSON line each")  # fmt: skip


def add_session_file(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add a session file, and what of it can be given otherwise."""
    parser.add_argument("--session-file", required=required, metavar="FILE",
                        help="YAML or JSON: fixed values, grids, what a job does (docs/sessions.md)")  # fmt: skip
    parser.add_argument("--max-jobs", type=int, metavar="N",
                        help="most jobs, instead of the file's max_jobs")  # fmt: skip
    parser.add_argument("--choose", choices=CHOICES,
                        help="which combinations stay when there are more, instead of the file's")  # fmt: skip
    parser.add_argument(
        "--seed", type=int, metavar="N", help="of the choice, instead of the file's"
    )


def session_of(arguments: argparse.Namespace) -> SessionFile:
    """Return the session that the arguments mean.

    Raises:
        InputError: file or value cannot be used.
    """
    session = read_session_file(Path(arguments.session_file))
    given = {name: getattr(arguments, name) for name in ("max_jobs", "choose", "seed")}
    changed = {name: value for name, value in given.items() if value is not None}
    return checked_session(FLAG, {**dict(session), **changed}) if changed else session


def run(arguments: argparse.Namespace) -> ExitCode:
    """Plan and write.

    Raises:
        InputError: the session file cannot be used, or the jobs cannot be written.
    """
    session = session_of(arguments)
    jobs = plan_jobs(session)
    path = Path(arguments.output_jobs_file)
    write_jobs_file(path, session.payload, jobs)
    if arguments.json:
        print_json({"jobs": len(jobs), "jobs_file": str(path)})
    else:
        console().print(f"{count_text(len(jobs), 'job')} in {path}", markup=False, soft_wrap=True)
    return ExitCode.GOOD
