"""`foresail experiment reward-audit RECORDING`: did the baseline's reward notice what the score says?"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from bus.events import read_entry
from bus.exit_codes import ExitCode, verdict
from bus.recording import Recording, open_recording
from foresail.output import console, print_json
from lab.experiments.report import without_nan
from lab.experiments.reward_audit import RewardAudit, audit_rewards
from projections.figures import known_number, number, percent
from schemas.envelope import Event

EXAMPLES = (("experiment reward-audit run.fslog", "exit code 1: the reward does not follow"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("file", metavar="RECORDING", help="a recording with rewards and scores")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Audit and print.

    Raises:
        InputError: the recording cannot be read.
    """
    recording = open_recording(Path(arguments.file))
    audit = audit_rewards(_events(recording))
    if arguments.json:
        print_json(without_nan({**asdict(audit), "follows": audit.follows}))
    else:
        _show(audit)
    compared = not math.isnan(audit.rank_correlation)
    return verdict(
        differs=compared and not audit.follows,
        nothing_compared=not compared,
        cut_off=bool(recording.damage),
    )


def _events(recording: Recording) -> Iterator[Event[Any]]:
    for message in recording:
        event = read_entry(message).event
        if event is not None:
            yield event


def _show(audit: RewardAudit) -> None:
    out = console()
    follows = "follows" if audit.follows else "does not follow"
    if math.isnan(audit.rank_correlation):
        follows = "cannot be compared with"
    together = (
        f"it moved with it in {audit.moved_together} steps, against it in {audit.moved_apart}"
    )
    correlation, queue = map(known_number, (audit.rank_correlation, audit.queue_correlation))
    not_done = f"{number(audit.bonus_not_done)} for actions that were refused, failed or dry runs"
    out.print(
        f"the reward {follows} the score: rank correlation {correlation} over {audit.pairs} decisions; {together}\n"
        f"rank correlation of reward and queue length: {queue}\n"
        f"paid above the base: {number(audit.bonus)}, of it {not_done}",
        markup=False,
        soft_wrap=True,
    )
    out.print(_actions(audit))
    out.print(_changes(audit))
    fresh = ", ".join(f"{name} {percent(share)}" for name, share in audit.coverage.items())
    most = ", ".join(f"{name} {known_number(value)}" for name, value in audit.most.items())
    out.print(f"fresh in {audit.observations} observations: {fresh}", markup=False, soft_wrap=True)
    out.print(f"most: {most}", markup=False, soft_wrap=True)


def _table(*heads: str, names: int = 1) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for place, head in enumerate(heads):
        table.add_column(head, justify="left" if place < names else "right")
    return table


def _actions(audit: RewardAudit) -> Table:
    table = _table("action", "what became of it", "decisions", "mean reward", "mean score", names=2)
    for row in audit.actions:
        ends = ", ".join(f"{end} {count}" for end, count in row.by_end.items())
        table.add_row(
            row.kind, ends, str(row.decisions), known_number(row.mean_reward), known_number(row.mean_score)
        )  # fmt: skip
    return table


def _changes(audit: RewardAudit) -> Table:
    table = _table(
        "agent", "field", "rises", "reward's change", "falls", "reward's change", names=2
    )
    for one in audit.changes:
        table.add_row(
            one.agent, one.field, str(one.rises), known_number(one.mean_when_rising), str(one.falls),
            known_number(one.mean_when_falling),
        )  # fmt: skip
    return table
