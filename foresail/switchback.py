"""`foresail switchback`: what acting changes, by blocks that act and blocks that do not."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bus.events import read_events
from bus.exit_codes import ExitCode
from foresail.log_source import add_source, open_source, reading_verdict
from foresail.output import page, print_json
from foresail.progress import reading_source
from foresail.remote import remote_of
from foresail.verbs import Verb
from projections.figures import duration, known_number, signed_text
from projections.switchback.reading import READS, SwitchbackReading
from projections.switchback.schedule import SwitchbackSettings
from projections.switchback.tally import ClosedPair, contribution_of, effect_of
from projections.switchback.text import unit_text
from projections.times import CLUSTER, cluster_time
from schemas.switchback import switchback_text

VERB = Verb(65, "show what acting changes, by blocks of time that act and blocks that do not")
EXAMPLES = (
    ("switchback", "the running stack's estimate, its pairs of blocks, and other wash-outs"),
    ("switchback --recording run.fslog --json", "the same of a recording, for scripts"),
)

EXIT_CODES = {ExitCode.NOTHING_COMPARED: "the log holds no switchback"}

NOTHING = "no switchback: start with `foresail up --switchback time` (docs/switchback.md)"
SHOWN_PAIRS = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    add_source(parser)


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Read the log once and print the estimate.

    Raises:
        InputError: there is no log.
    """
    reading = SwitchbackReading()
    async with (
        open_source(arguments.recording, Path(arguments.state), remote_of(arguments)) as source,
        reading_source(source, "reading the log"),
    ):
        async for entry in read_events(source.messages(READS)):
            if entry.event is not None:
                reading.add(entry.event)
    if arguments.json:
        print_json(as_json(reading))
    else:
        page().print(view(reading))
    return reading_verdict(
        source, nothing_compared=reading.schedule is None, partial=arguments.partial
    )


def as_json(reading: SwitchbackReading) -> dict[str, Any]:
    """Return what was read as JSON values."""
    schedule = reading.schedule
    return {
        "schedule": None if schedule is None else schedule.model_dump(mode="json"),
        "stored": None if reading.newest is None else reading.newest.model_dump(mode="json"),
        "pairs": [] if schedule is None else [_pair_json(pair, schedule) for pair in reading.pairs],
        "by_wash_out": [
            {
                "wash_out_seconds": wash_out,
                "pairs": tally.used,
                "pairs_left_out": tally.left_out,
                "effect": None if (effect := effect_of(tally)) is None else asdict(effect),
            }
            for wash_out, tally in reading.tallies.items()
        ],
    }


def _pair_json(pair: ClosedPair, schedule: SwitchbackSettings) -> dict[str, Any]:
    return {
        "first_block": 2 * pair.number,
        "first_money_per_hour": pair.first.per_hour,
        "second_money_per_hour": pair.second.per_hour,
        "acting_first": list(pair.acting_first),
        "counts": pair.counts,
        "contribution_money_per_hour": contribution_of(pair, len(schedule.units)),
    }


def view(reading: SwitchbackReading) -> RenderableType:
    """Return what was read as people see it."""
    schedule = reading.schedule
    if schedule is None:
        return Text(NOTHING)
    stored = reading.newest
    text = (
        "the first pair of blocks is not over yet"
        if stored is None
        else f"acting {switchback_text(stored)}"
    )
    units = "" if schedule.unit == "time" else f" of {', '.join(map(unit_text, schedule.units))}"
    drawn = (
        f"blocks of {duration(schedule.block_seconds)} by {schedule.unit}{units}, "
        f"wash-out {duration(schedule.wash_out_seconds)}, seed {schedule.seed}"
    )
    parts: list[RenderableType] = [Text(text, style="bold"), Text(drawn, style="dim")]
    if reading.pairs:
        parts += [Text(""), _pairs(reading, schedule), Text(""), _wash_outs(reading)]
    return Group(*parts)


def _pairs(reading: SwitchbackReading, schedule: SwitchbackSettings) -> Table:
    money = f"{reading.currency}/h"
    left = len(reading.pairs) - SHOWN_PAIRS
    title = f"the newest {SHOWN_PAIRS} of {len(reading.pairs)} pairs" if left > 0 else "pairs"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column(f"from ({CLUSTER})")
    table.add_column("acts")
    for heading in (f"first, {money}", f"second, {money}", f"acting changed, {money}"):
        table.add_column(heading, justify="right")
    for pair in list(reading.pairs)[-SHOWN_PAIRS:]:
        begins = cluster_time(2 * pair.number * schedule.block_seconds).removesuffix(f" {CLUSTER}")
        both = (known_number(pair.first.per_hour), known_number(pair.second.per_hour))
        changed = signed_text(contribution_of(pair, len(schedule.units)))
        table.add_row(
            begins, _acting(pair, schedule), *both, changed if pair.counts else "left out"
        )
    return table


def _acting(pair: ClosedPair, schedule: SwitchbackSettings) -> str:
    if schedule.unit == "time":
        return "first" if pair.acting_first else "second"
    return f"first: {', '.join(map(unit_text, pair.acting_first)) or 'none'}"


def _wash_outs(reading: SwitchbackReading) -> Table:
    title = "with other wash-outs: an estimate that moves on says that effects outlast it"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for heading in ("wash-out", "pairs", f"acting changes, {reading.currency}/h", "95% interval"):
        table.add_column(heading, justify="right")
    for wash_out, tally in reading.tallies.items():
        effect = effect_of(tally)
        money = "-" if effect is None else signed_text(effect.per_hour)
        interval = "-"
        if effect is not None and effect.low is not None and effect.high is not None:
            interval = f"{signed_text(effect.low)} to {signed_text(effect.high)}"
        table.add_row(duration(wash_out), str(tally.used), money, interval)
    return table
