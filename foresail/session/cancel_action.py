"""`foresail session cancel`: ends a session, whether a runner works on it or not."""

from __future__ import annotations

import argparse
import socket

from bus.exit_codes import ExitCode
from foresail import stopping
from foresail.output import console, print_json
from foresail.session.engine_choice import add_cluster, kubeconfig_given
from foresail.session.place import add_session, any_log, folder_of, known_session
from lab.sessions.session_log import SessionLog
from projections.session_state import FINAL, SessionState, runner_counts

EXAMPLES = (("session cancel jobs-1a2b3c4d --reason 'wrong data'", "what runs is ended"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    add_session(parser)
    add_cluster(parser)
    parser.add_argument("--reason", default="", metavar="TEXT", help="why, for the log")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Ask the runner to end, or write the end where there is none.

    Raises:
        InputError: there is no such session.
    """
    session = known_session(arguments)
    asked = stopping.run(_cancel(arguments, session))
    if arguments.json:
        print_json({"session": session, "runner": asked})
    else:
        what = "its runner is asked to end" if asked else "cancelled"
        console().print(f"{session}: {what}", markup=False)
    return ExitCode.GOOD


async def _cancel(arguments: argparse.Namespace, session: str) -> bool:
    async with any_log(folder_of(arguments.state, session), session) as (log, running):
        await log.request_cancel(arguments.reason)
        if not running:
            await _delete_jobs(arguments, await log.read())
            await _end(log)
        return running


async def _delete_jobs(arguments: argparse.Namespace, state: SessionState) -> None:
    """Delete what a runner that has died left on a cluster."""
    if state.claimed is None or state.claimed.engine != "kubernetes":
        return
    from lab.sessions.engines.kubernetes import delete_jobs  # noqa: PLC0415
    from services.official_client import OfficialClientTransport  # noqa: PLC0415 - 0.3 s

    transport = OfficialClientTransport(kubeconfig_given(arguments), arguments.context)
    try:
        await delete_jobs(transport, state.session, arguments.namespace)
    finally:
        await transport.close()


async def _end(log: SessionLog) -> None:
    """Let every job that has not ended end as cancelled."""
    state = await log.read()
    left = [change for change in state.jobs.values() if change.state not in FINAL]
    if not left:
        return
    await log.claim("none", socket.gethostname(), {})
    cancelled = {"state": "cancelled", "why": "the session was cancelled"}
    changes = [change.model_copy(update=cancelled) for change in left]
    await log.advance(changes)
    for change in changes:
        state.jobs[change.job_id] = change
    await log.end("cancelled", state.counts, runner_counts(state.jobs).exit_code)
