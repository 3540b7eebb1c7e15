"""`foresail session status`: how a session stands, whether a runner works on it or not."""

from __future__ import annotations

import argparse
from typing import Any

from bus.exit_codes import ExitCode
from foresail import stopping
from foresail.output import print_json
from foresail.session.place import add_session, any_log, folder_of, known_session
from foresail.session.summary import print_state, run_summary
from projections.session_state import SessionState

EXAMPLES = (
    ("session status", "the newest session"),
    ("session status jobs-1a2b3c4d --json", "one of them, for scripts"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    add_session(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Read the session's log and print it.

    Raises:
        InputError: there is no such session.
    """
    return stopping.run(show(arguments))


async def show(arguments: argparse.Namespace) -> ExitCode:
    """Read and print it, in a loop that runs already; raises as `run`."""
    session = known_session(arguments)
    state, running = await _read(arguments.state, session)
    if arguments.json:
        print_json(_as_json(session, state, running=running))
    else:
        print_state(session, state, running=running)
    return ExitCode.DIFFERS if state.failures() else ExitCode.GOOD


async def _read(state: str, session: str) -> tuple[SessionState, bool]:
    async with any_log(folder_of(state, session), session) as (log, running):
        return await log.read(), running


def _as_json(session: str, state: SessionState, *, running: bool) -> dict[str, Any]:
    engine = state.claimed.engine if state.claimed is not None else "local"
    summary = run_summary(session, state, engine)
    return {
        "session": session,
        "running": running,
        "status": None if state.ended is None else state.ended.status,
        "engine": None if state.claimed is None else state.claimed.engine,
        "total": state.total,
        "states": state.counts,
        "best": summary.best,
        "study": None if state.study is None else state.study.model_dump(mode="json"),
        "ray": None if state.ray is None else state.ray.model_dump(mode="json"),
        "trainings": {
            job_id: change.training.model_dump(mode="json")
            for job_id, change in state.jobs.items()
            if change.training is not None
        },
        "failures": [change.model_dump(mode="json") for change in state.failures()],
    }
