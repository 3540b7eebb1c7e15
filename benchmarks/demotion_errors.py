"""How often the demotion of models of demand is wrong: made-up days of which it is known what acting was worth.

`python -m benchmarks.demotion_errors [--seeds 200] [--hours 24]` plays, for each seed, two rises of an hour in each six
hours, with some raises in each quarter of one. A raise is worth 1 (the unit says nothing) where its rise comes and -0.5
where it does not; whether it comes is drawn once for all raises of a quarter. Bands are scored in every quarter, with
the coverage and the loss that are given, and errors that a quarter shares. Judged by the default settings; printed are
the runs in which a model was ever left out, the share of judgements after which it was, and when first.
"""

from __future__ import annotations

import argparse
import statistics
from random import Random
from typing import NamedTuple

from benchmarks.machine import quiet
from projections.demotion.band_sums import BandSums
from projections.demotion.judging import judge
from projections.demotion.settings import ForesightSettings
from projections.demotion.tally import DemandTally
from schemas.foresight_score import AheadScore

HOUR, BEGIN_SECONDS = 3_600.0, 1_767_225_600.0
RISE_HOURS = (1, 4)
"""Of each six hours, those with a rise."""
RAISES, TARGETS = 6, 60
"""In a quarter of an hour."""
GAIN, LOSS = 1.0, -0.5
MODEL = "made-up/1"


class Worth(NamedTuple):
    """What is true of a model."""

    name: str
    comes: float
    """Chance that a rise comes."""
    inside: float
    """Chance that a target lies in the 80 % band."""
    loss: float
    """In that of the simple rule."""


MODELS = (
    Worth("earns", 0.7, 0.8, 0.7),
    Worth("earns, its bands as bad as the simple rule's", 0.7, 0.8, 1.0),
    Worth("breaks even", 1 / 3, 0.8, 0.9),
    Worth("loses a little", 0.2, 0.8, 0.9),
    Worth("loses", 0.05, 0.8, 0.9),
    Worth("loses always, and misses its band", 0.0, 0.4, 1.5),
)


def left_out(worth: Worth, seed: int, hours: float, settings: ForesightSettings) -> list[bool]:
    """Return after each judgement of a run whether the model is left out."""
    random, tally, judged = Random(f"{worth.name}/{seed}"), DemandTally(), []
    block = settings.block_seconds
    for number in range(int(hours * HOUR / block)):
        now = BEGIN_SECONDS + number * block
        tally, judgement = judge(tally, now, settings)
        if judgement is not None:
            judged.append(bool(judgement.shadows))
        model = tally.model(MODEL).with_targets(now, scored(worth, random), block)
        if int(number * block // HOUR) % 6 in RISE_HOURS and not tally.shadows:
            comes = random.random() < worth.comes
            for _ in range(RAISES):
                model = model.with_raise(raised(now, comes, random))
        tally = tally.with_model(model)
    return judged


def scored(worth: Worth, random: Random) -> BandSums:
    """Return a quarter's bands: half of what is off is shared by all of its targets."""
    inside = min(1.0, max(0.0, random.gauss(worth.inside, 0.1)))
    loss = max(0.05, random.gauss(worth.loss, 0.3))
    return BandSums(
        targets=TARGETS,
        inside=sum(random.random() < inside for _ in range(TARGETS)),
        compared=TARGETS,
        loss_sum=0.1 * loss * TARGETS,
        last_value_loss_sum=0.1 * TARGETS,
    )


def raised(at: float, comes: bool, random: Random) -> AheadScore:
    """Return a raise, over a quarter of an hour later."""
    return AheadScore(
        service="shop/web", replicas_before=4, replicas_after=7, replicas_without=4, level=40.0,
        executed_seconds=at, until_seconds=at + 900.0, rise_seconds=None, ready_seconds=None,
        lead_seconds=60.0 if comes else None, right=comes, spared_seconds=0.0, extra_replica_seconds=0.0,
        value=random.gauss(GAIN if comes else LOSS, 0.2), currency="USD",
    )  # fmt: skip


def main() -> None:
    """Print a line for each model."""
    quiet()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--hours", type=float, default=24.0)
    arguments = parser.parse_args()
    settings = ForesightSettings()
    for worth in MODELS:
        runs = [left_out(worth, seed, arguments.hours, settings) for seed in range(arguments.seeds)]
        firsts = [run.index(True) * settings.block_seconds / HOUR for run in runs if any(run)]
        share = sum(map(sum, runs)) / sum(map(len, runs))
        when = f", first after {statistics.median(firsts):.1f} h (median)" if firsts else ""
        print(
            f"{worth.name}: left out in {len(firsts)} of {len(runs)} runs, {100 * share:.1f} % of judgements{when}"
        )


if __name__ == "__main__":
    main()
