"""`foresail architecture`: which process reads and publishes what, as a table, JSON or Mermaid.

What is published comes from the table of identities, by which the server's rights are made; what is read from the
handlers themselves.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from bus.exit_codes import ExitCode
from foresail.output import console, print_json
from foresail.verbs import Verb

VERB = Verb(122, "which process reads and publishes what")
EXAMPLES = (
    ("architecture", "a table of processes"),
    ("architecture --json", "for programs"),
    ("architecture --mermaid", "a flowchart: who hands what to whom"),
)
EVERYTHING = ">"
BESIDE = frozenset(("config", "checkpoint", "run"))
"""Families that every process has, and nobody decides by."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process, with the subjects of its events, those behind `foresail.<cluster>.`."""

    name: str
    purpose: str
    publishes: tuple[str, ...]
    reads: tuple[str, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the processes as JSON")
    form.add_argument("--mermaid", action="store_true", help="print a Mermaid flowchart")


def main(arguments: argparse.Namespace) -> ExitCode:
    """Print it."""
    known = processes()
    if arguments.json:
        print_json(architecture(known))
    elif arguments.mermaid:
        console().print(mermaid(known), markup=False, soft_wrap=True)
    else:
        table = Table(box=None)
        for column in ("process", "what it does", "reads", "publishes"):
            table.add_column(column)
        for one in known:
            table.add_row(one.name, one.purpose, ", ".join(one.reads), ", ".join(one.publishes))
        console().print(table)
    return ExitCode.GOOD


def architecture(known: tuple[Process, ...]) -> dict[str, Any]:
    """Return processes and what goes from one to another."""
    edges = [
        {"from": writer, "to": reader, "families": families}
        for (writer, reader), families in flows(known).items()
    ]
    return {"processes": [asdict(one) for one in known], "flows": edges}


def processes() -> tuple[Process, ...]:
    """Return every process that connects to the log, in the order of its chain."""
    from services.identities import IDENTITIES  # noqa: PLC0415 - loads every agent

    reads = _reads_of_handlers()
    return tuple(
        Process(
            one.name,
            one.purpose,
            tuple(".".join(tokens) for tokens in one.publishes),
            reads.get(one.name, (EVERYTHING,) if one.reads else ()),
        )
        for one in IDENTITIES
    )


def _reads_of_handlers() -> dict[str, tuple[str, ...]]:
    """Return what each handler reads, as it is by default."""
    from schemas.agents import agent_names  # noqa: PLC0415 - only this verb needs them
    from schemas.identity import Origin  # noqa: PLC0415
    from services.agents.service import build as build_agent  # noqa: PLC0415
    from services.agents.settings import AgentSettings  # noqa: PLC0415
    from services.executor.ledger.handler import ExecutorHandler  # noqa: PLC0415
    from services.exerciser.service import ExerciserHandler  # noqa: PLC0415
    from services.inference.service import build as build_inference  # noqa: PLC0415
    from services.inference.settings import InferenceSettings  # noqa: PLC0415
    from services.referee.service import build as build_referee  # noqa: PLC0415
    from services.referee.settings import RefereeSettings  # noqa: PLC0415
    from services.scoreboard.service import ScoreboardHandler  # noqa: PLC0415

    origin = Origin("any", "1")
    handlers: list[Any] = [
        build_inference(InferenceSettings(shadow_models=(), rate_model=""), origin),
        *(build_agent(AgentSettings(), origin, agent) for agent in agent_names()),
        build_referee(RefereeSettings(), origin),
        ExecutorHandler(),
        ExerciserHandler(),
    ]
    known = {one.name: one.reads for one in handlers} | {"scoreboard": ScoreboardHandler.reads}
    return {name: tuple(".".join(tokens) for tokens in reads) for name, reads in known.items()}


def flows(known: tuple[Process, ...]) -> dict[tuple[str, str], list[str]]:
    """Return the families of events that go from one process to another; those who read everything are left out."""
    found: dict[tuple[str, str], list[str]] = {}
    for writer in known:
        for reader in known:
            if reader is writer or EVERYTHING in reader.reads:
                continue
            families = {
                written.split(".")[0]
                for written in writer.publishes
                for read in reader.reads
                if overlap(written.split("."), read.split("."))
            }
            if families - BESIDE:
                found[writer.name, reader.name] = sorted(families - BESIDE)
    return found


def overlap(left: list[str], right: list[str]) -> bool:
    """Say whether some subject fits both patterns: `*` is any token, `>` all that follow."""
    for one, other in zip(left, right, strict=False):
        if EVERYTHING in (one, other):
            return True
        if one != other and "*" not in (one, other):
            return False
    return len(left) == len(right)


def mermaid(known: tuple[Process, ...]) -> str:
    """Return the flows as a flowchart."""
    lines = ["flowchart LR"]
    for (writer, reader), families in flows(known).items():
        lines.append(f"    {writer} -->|{', '.join(families)}| {reader}")
    return "\n".join(lines)
