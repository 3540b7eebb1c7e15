"""`foresail effects`: what acting on a target changes, by targets that were left untouched on purpose."""

from __future__ import annotations

import argparse
import statistics
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
from projections.figures import percent, signed_text
from projections.target_effects import CONFIDENCE, READS, KindEffect, TargetEffects, estimate_of

VERB = Verb(66, "show what each kind of action changes, by targets that were left untouched")
EXAMPLES = (
    ("effects", "the running stack's estimate for each kind of action, beside what was expected"),
    ("effects --recording run.fslog --json", "the same of a recording, for scripts"),
)

EXIT_CODES = {ExitCode.NOTHING_COMPARED: "the log holds no draw of untouched targets"}

NOTHING = (
    "no target was ever drawn: they are with `foresail up --profile foresail` (docs/breakers.md)"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    add_source(parser)


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Read the log once and print the estimates.

    Raises:
        InputError: there is no log.
    """
    effects = TargetEffects()
    async with (
        open_source(arguments.recording, Path(arguments.state), remote_of(arguments)) as source,
        reading_source(source, "reading the log"),
    ):
        async for entry in read_events(source.messages(READS)):
            if entry.event is not None:
                effects.add(entry.event)
    if arguments.json:
        print_json(as_json(effects))
    else:
        page().print(view(effects))
    return reading_verdict(source, nothing_compared=effects.draw is None, partial=arguments.partial)


def as_json(effects: TargetEffects) -> dict[str, Any]:
    """Return the estimates as JSON values."""
    return {
        "draw": None if effects.draw is None else effects.draw.model_dump(mode="json"),
        "currency": "" if effects.prices is None else effects.prices.currency,
        "confidence_ratio": CONFIDENCE,
        "kinds": {
            name: {
                "proposed": len(kind.proposed),
                "left": len(kind.left),
                "cut": kind.cut,
                "expected_money_per_hour": _expected(kind),
                "effect": None if (effect := estimate_of(kind)) is None else asdict(effect),
            }
            for name, kind in sorted(effects.kinds.items())
        },
    }


def _expected(kind: KindEffect) -> float | None:
    return statistics.fmean(kind.expected) if kind.expected else None


def view(effects: TargetEffects) -> RenderableType:
    """Return the estimates as people see them."""
    draw, prices = effects.draw, effects.prices
    if draw is None or prices is None:
        return Text(NOTHING)
    drawn = (
        f"{percent(draw.ratio)} of the eligible targets are left untouched in each epoch, seed {draw.seed}; "
        f"{len(effects.open)} horizons are not over yet"
    )
    money = f"{prices.currency}/h a target"
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("kind")
    for heading in (
        "proposed",
        "left",
        "cut",
        f"acting changes, {money}",
        "95% interval",
        f"expected, {money}",
    ):
        table.add_column(heading, justify="right")
    for name, kind in sorted(effects.kinds.items()):
        effect, expected = estimate_of(kind), _expected(kind)
        interval = "-"
        if effect is not None and effect.low is not None and effect.high is not None:
            interval = f"{signed_text(effect.low)} to {signed_text(effect.high)}"
        table.add_row(
            *(name, str(len(kind.proposed)), str(len(kind.left)), str(kind.cut)),
            *("-" if effect is None else signed_text(effect.per_hour), interval),
            "-" if expected is None else signed_text(expected),
        )
    return Group(Text(drawn, style="dim"), table)
