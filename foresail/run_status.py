"""`foresail status --run`: how a run, or a tuning session, stands."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bus.errors import InputError
from bus.events import read_entry
from bus.exit_codes import ExitCode, verdict
from bus.recording import open_recording
from foresail.output import console, print_json
from foresail.session.place import folder_of
from projections.run_progress import RunProgress, run_progress


async def show_run(name: str, state: str, *, as_json: bool) -> ExitCode:
    """Print a run's events as a state: of a recording, or of a session in the state folder.

    Raises:
        InputError: there is neither.
    """
    progress = _written(Path(name), folder_of(state, name))
    if progress is not None:
        _print(progress, as_json=as_json)
        return verdict(differs=progress.failed)
    from foresail.session import status_action  # noqa: PLC0415 - needs a server of its own

    session = argparse.Namespace(session=name, state=state, json=as_json)
    return await status_action.show(session)


def _written(path: Path, session: Path) -> RunProgress | None:
    """Return how the run in a file stands; None where it is a session. Raises as `show_run`."""
    if path.is_file():
        return read_run(path)
    if not session.is_dir():
        remedy = "give the FILE of a verb's --run, a recording, or the name of a session"
        raise InputError("--run", path, remedy)
    return None


def read_run(path: Path) -> RunProgress:
    """Return how the run in a recording stands; one that is still written is read as far as it is.

    Raises:
        InputError: it is no recording.
    """
    entries = (read_entry(message) for message in open_recording(path))
    return run_progress(entry.event for entry in entries if entry.event is not None)


def _print(progress: RunProgress, *, as_json: bool) -> None:
    if as_json:
        content: dict[str, Any] = progress.as_json()
        print_json(content)
        return
    for line in progress.lines():
        console().print(line, markup=False, soft_wrap=True)
