"""`foresail queue explain FILE JOB`: what a policy could choose when a Job waited, and why it went first or did not."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.table import Table

from bus.errors import InputError
from bus.exit_codes import ExitCode
from bus.recording import open_recording
from foresail.output import console, print_json
from inputs.close_matches import remedy_for
from lab.queue.history import QueueHistory, read_history
from projections.figures import duration, number
from schemas.envelope import rfc3339
from schemas.queue import QueueChoice, QueueJob

LAST = "last"
EXAMPLES = (
    ("queue explain choices.fslog", "the newest choice: slots, mask, scores, the runner-up"),
    ("queue explain choices.fslog train-7", "the last choice in which this Job could be chosen"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("file", metavar="FILE", type=Path, help="of `queue inference --record`")
    parser.add_argument("job", metavar="JOB|last", nargs="?", default=LAST,
                        help="a Job that stood in a slot (default: the newest choice)")  # fmt: skip


def run(arguments: argparse.Namespace) -> ExitCode:
    """Explain one choice.

    Raises:
        InputError: the recording cannot be read, or holds no such choice.
    """
    history = read_history(open_recording(arguments.file))
    if not history.choices:
        raise InputError("FILE", arguments.file, "it holds no choice of a policy")
    choice = _choice(history, arguments.job)
    if arguments.json:
        print_json(choice.model_dump(mode="json"))
    else:
        _print(choice, history)
    return ExitCode.GOOD


def _choice(history: QueueHistory, name: str) -> QueueChoice:
    """Return the choice that admits a Job, or the first one of the newest look at which it could be chosen."""
    known = [one for one in history.choices if name in (LAST, *one.slots)]
    if not known:
        names = sorted({slot for one in history.choices for slot in one.slots})
        raise InputError("JOB", name, remedy_for(name, names))
    admitted = next((one for one in known if one.admits == name), None)
    return admitted or next(one for one in known if one.look == known[-1].look)


def _print(choice: QueueChoice, history: QueueHistory) -> None:
    how = "in shadow" if choice.means is None else f"acts by {choice.means}"
    head = f"{rfc3339(choice.cluster_time_seconds)[:19]} {choice.policy} ({how})"
    quota = f"{number(choice.quota_cpu_cores)} cores of quota"
    console().print(f"{head}, look {choice.look}, choice {choice.place}; {quota}", markup=False)
    rows = {row.name: row for row in history.jobs.values()}
    table = Table(box=None)
    for title in ("slot", "may", "score", "", "what became of it"):
        table.add_column(title, justify="right" if title == "score" else "left")
    for action, score in enumerate(choice.scores):
        name = choice.name_of(action)
        if action >= len(choice.slots) and action < len(choice.scores) - 1:
            continue  # nobody stood there
        word = {choice.action: "chosen", choice.runner_up: "runner-up"}.get(action, "")
        may = "yes" if choice.allowed[action] else "no"
        table.add_row(name, may, number(score), word, _fate(rows.get(name)))
    console().print(table)
    if choice.admits is not None and choice.admits != choice.name_of(choice.action):
        text = f"nothing runs and waiting would change nothing, so {choice.admits} is admitted"
        console().print(text, markup=False)
    if choice.left_out:
        console().print(f"held back by others: {', '.join(choice.left_out)}", markup=False)
    if history.scores:
        console().print(history.scores[-1].line(), markup=False)


def _fate(row: QueueJob | None) -> str:
    if row is None:
        return ""
    if row.admission_time_seconds is None:
        return row.status.lower()
    waited = row.admission_time_seconds - row.submission_time_seconds
    return f"admitted after {duration(waited)}, {row.status.lower()}"
