"""`foresail session pipeline`: plan, validate, run, health, history and alerts; a dry run unless told otherwise."""

from __future__ import annotations

import argparse
from pathlib import Path

from bus.clock import SystemClock
from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail import stopping
from foresail.notifier import Send, add_channel, sender
from foresail.output import console, print_json
from foresail.session.place import SessionTaken, add_place, any_log, folder_of
from foresail.session.running import Work, add_running, run_session
from lab.sessions.jobs_file import read_jobs_file
from lab.sessions.payloads import AnyPayload
from lab.sessions.pipeline import (
    Mode,
    PipelineResult,
    append_history,
    exit_code_of,
    health_of,
    read_history,
    send_incidents,
)
from lab.sessions.planner import plan_jobs
from lab.sessions.session_file import read_session_file
from projections.session_state import SessionState
from schemas.envelope import rfc3339
from schemas.session import PlannedJob

TITLE = "Foresail session"
EXAMPLES = (
    ("session pipeline --jobs-dir jobs", "what would run, and whether it could"),
    (
        "session pipeline --jobs-dir jobs --enable-apply --enable-alerts --channel-type webhook --webhook-url json://host/path",
        "run it, and tell of trouble",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("--jobs-dir", required=True, metavar="DIR",
                        help="folder of session files (.yaml, .json) and jobs files (.jsonl)")  # fmt: skip
    parser.add_argument("--label-selector", metavar="NAME=VALUE,...",
                        help="take only jobs whose configuration has these values")  # fmt: skip
    parser.add_argument("--history-file", default="outputs/pipeline_history.jsonl", metavar="FILE",
                        help="one JSON line for each run that applied (default: %(default)s)")  # fmt: skip
    parser.add_argument(
        "--enable-apply", action="store_true", help="run the jobs (default: dry run)"
    )
    parser.add_argument("--enable-alerts", action="store_true", help="tell of what did not succeed")
    parser.add_argument("--strict-health", action="store_true",
                        help="exit with 1 for any job that did not succeed, not from half of them on")  # fmt: skip
    add_channel(parser)
    parser.add_argument("--events-limit", type=int, default=20, metavar="N",
                        help="incidents that are shown and sent at most (default: %(default)s)")  # fmt: skip
    parser.add_argument("--history-limit", type=int, default=20, metavar="N",
                        help="runs of the history that are shown at most (default: %(default)s)")  # fmt: skip
    add_place(parser)
    add_running(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Do every step, print what was done, and return the exit code.

    Raises:
        InputError: the folder, a session file, a channel or the history cannot be used.
    """
    send: Send | None = sender(arguments, TITLE) if arguments.enable_alerts else None
    mode: Mode = "dry_run"
    if arguments.enable_apply:
        mode = "full_alerts" if arguments.enable_alerts else "apply"
    payload, jobs = _jobs(arguments)
    result = PipelineResult(mode, generated_jobs=len(jobs), steps=["plan", "validate"])
    result.validated_jobs = sum(not job.refused for job in jobs)
    state: SessionState | None = None
    if arguments.enable_apply:
        state = _apply(arguments, payload, jobs)
        result.applied_jobs = sum(change.attempt > 0 for change in state.jobs.values())
        result.steps.append("run")
    result.health_status, incidents = health_of(state, len(jobs), result.validated_jobs)
    result.steps.append("health")
    result.exit_code = exit_code_of(result.health_status, strict=arguments.strict_health)
    if send is not None:
        result.incidents_sent = send_incidents(incidents[: arguments.events_limit], send)
        result.steps.append("alerts")
    if arguments.enable_apply:
        result.history_appended = True
        result.steps.append("history")
        now = rfc3339(SystemClock().wall_ns() / 1e9)
        append_history(Path(arguments.history_file), {"time": now, **result.as_json()})
    _print(arguments, result, incidents[: arguments.events_limit])
    return ExitCode.GOOD if result.exit_code == 0 else ExitCode.DIFFERS


def _jobs(arguments: argparse.Namespace) -> tuple[AnyPayload, tuple[PlannedJob, ...]]:
    """Return the jobs of every file of the folder; all do the same thing."""
    folder = Path(arguments.jobs_dir)
    files = sorted(
        path for path in folder.glob("*") if path.suffix in {".yaml", ".yml", ".json", ".jsonl"}
    )
    if not files:
        raise InputError("--jobs-dir", folder, "give a folder with session files or jobs files")
    read: list[tuple[AnyPayload, tuple[PlannedJob, ...]]] = []
    for path in files:
        if path.suffix == ".jsonl":
            read.append(read_jobs_file(path))
        else:
            session = read_session_file(path)
            read.append((session.payload, plan_jobs(session)))
    payload = read[0][0]
    other = next((path for path, (one, _) in zip(files, read, strict=True) if one != payload), None)
    if other is not None:
        raise InputError(
            "--jobs-dir", other, f"its payload is not that of {files[0]}; use two folders"
        )
    jobs = tuple(job for _, some in read for job in some)
    if arguments.label_selector is not None:
        jobs = _selected(arguments.label_selector, jobs)
    return payload, jobs


def _selected(selector: str, jobs: tuple[PlannedJob, ...]) -> tuple[PlannedJob, ...]:
    """Return the jobs whose configuration has every `name=value` of a selector; raises InputError where none has."""
    pairs = [word.partition("=") for word in selector.split(",")]
    if not all(name and sign for name, sign, _ in pairs):
        raise InputError("--label-selector", selector, "write it as NAME=VALUE,NAME=VALUE")
    wanted = {name: value for name, _, value in pairs}
    chosen = tuple(
        job
        for job in jobs
        if all(str(job.config.get(name)) == value for name, value in wanted.items())
    )
    if not chosen:
        raise InputError("--label-selector", selector, f"none of the {len(jobs)} jobs has this")
    return chosen


def _apply(
    arguments: argparse.Namespace, payload: AnyPayload, jobs: tuple[PlannedJob, ...]
) -> SessionState:
    session = f"pipeline-{SystemClock().wall_ns():x}"
    arguments.quiet = True
    stopping.run(run_session(arguments, Work(session, payload, jobs)))
    return stopping.run(_read(arguments.state, session))


async def _read(state: str, session: str) -> SessionState:
    try:
        async with any_log(folder_of(state, session), session) as (log, _):
            return await log.read()
    except SessionTaken as error:
        raise InputError("--state", state, str(error)) from error


def _print(arguments: argparse.Namespace, result: PipelineResult, incidents: list[str]) -> None:
    if arguments.json:
        print_json(result.as_json())
        return
    lines = [
        "[D36_PIPELINE] TUNING PIPELINE SUMMARY",
        f"Mode:             {result.mode}",
        f"Generated Jobs:   {result.generated_jobs}",
        f"Validated Jobs:   {result.validated_jobs}",
        f"Applied Jobs:     {result.applied_jobs}",
        f"Health:           {result.health_status}",
        f"Incidents Sent:   {result.incidents_sent}",
        f"History Appended: {'yes' if result.history_appended else 'no'}",
        f"Steps:            {', '.join(result.steps)}",
        f"Exit Code:        {result.exit_code}",
        *(f"  - {incident}" for incident in incidents),
    ]
    earlier = read_history(Path(arguments.history_file), arguments.history_limit)
    lines += [f"  {one['time']} {one['mode']} {one['health_status']}" for one in earlier]
    console().print("\n".join(lines), markup=False, soft_wrap=True)
