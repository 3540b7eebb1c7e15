"""How often the promotion of risk models is wrong: made-up worlds of known truth, models of known worth.

`python -m benchmarks.promotion_errors [--seeds 100] [--hours 24]` plays, for each seed, 100 nodes of which some go
through episodes of repeated failures (or none do), and five models: one that knows the episodes and is calibrated, one
that knows them and exaggerates, one that says the true rate of all, one that says it with made-up differences between
nodes, and one that is three times too high. Each is judged by the default settings as if it were alone. Printed are
the runs in which it ever drove, and the share of the judgements after which it did.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping
from random import Random

from benchmarks.machine import quiet
from projections.promotion.judging import judge
from projections.promotion.settings import PromotionSettings
from projections.promotion.sums import ScoredTarget
from projections.promotion.tally import PromotionTally

NODES = 100
HOUR, HORIZON, SPACING, LOOK = 3600.0, 900.0, 300.0, 60.0
QUIET_RATE, EPISODE_RATE = 0.02, 3.0
"""Failures of a node in an hour, outside and within an episode."""
EPISODES_PER_HOUR = 0.02
EPISODE_SECONDS = 3600.0
BEGIN_SECONDS = 1_767_225_600.0
MODELS = ("knows", "exaggerates", "constant", "made up", "too high")


def failures_of(random: Random, seconds: float, *, episodes: bool) -> list[float]:
    """Return when one node fails, seconds from the beginning."""
    times, spans, at = [], [], 0.0
    while episodes and at < seconds:
        at += random.expovariate(EPISODES_PER_HOUR / HOUR)
        length = random.expovariate(1.0 / EPISODE_SECONDS)
        spans.append((at, at + length))
        at += length
    at = 0.0
    while at < seconds:
        at += random.expovariate(EPISODE_RATE / HOUR)
        within = any(begin <= at < end for begin, end in spans)
        if within or random.random() < QUIET_RATE / EPISODE_RATE:
            times.append(at)
    return times


class World:
    """Nodes and when they fail."""

    def __init__(self, seed: int, hours: float, *, episodes: bool) -> None:
        """Draw a world."""
        self.seconds = hours * HOUR
        self.failures = {
            f"node-{number}": failures_of(
                Random(f"{seed}/{number}"), self.seconds, episodes=episodes
            )
            for number in range(NODES)
        }
        self.bias = {name: Random(f"{seed}/{name}/bias").gauss(0.0, 0.7) for name in self.failures}

    def fails(self, name: str, begin: float, end: float) -> bool:
        """Say whether a node fails after `begin` and not after `end`."""
        return any(begin < at <= end for at in self.failures[name])

    def rows(self) -> Iterator[tuple[float, str, bool, bool]]:
        """Yield time, node, whether it failed lately, and whether it fails within the horizon."""
        at = HORIZON
        while at + HORIZON <= self.seconds:
            for name in self.failures:
                lately = self.fails(name, at - HORIZON, at)
                yield at, name, lately, self.fails(name, at, at + HORIZON)
            at += SPACING


def rates_of(rows: list[tuple[float, str, bool, bool]]) -> dict[bool | None, float]:
    """Return the true share of failures: of all rows (None), and by whether the node failed lately."""
    rates: dict[bool | None, float] = {}
    for which in (None, False, True):
        fits = [fails for _, _, lately, fails in rows if which is None or lately is which]
        rates[which] = sum(fits) / max(1, len(fits))
    return rates


def ratio_of(model: str, rates: Mapping[bool | None, float], lately: bool, bias: float) -> float:
    """Return what a model predicts."""
    rate, known = rates[None] or 0.0, rates[lately]
    match model:
        case "knows":
            return known
        case "exaggerates":
            return min(1.0, 3.0 * known) if lately else known
        case "made up":
            odds = math.exp(bias) * rate / (1.0 - rate)
            return odds / (1.0 + odds)
        case "too high":
            return min(1.0, 3.0 * rate)
        case _:
            return rate


def driven(world: World, model: str, settings: PromotionSettings) -> tuple[int, int]:
    """Return the judgements after which a model drove, and all judgements."""
    rows = list(world.rows())
    rates = rates_of(rows)
    tally, waiting = PromotionTally(), rows
    active = judged = place = 0
    now = 0.0
    while now < world.seconds:
        now += LOOK
        while place < len(waiting) and waiting[place][0] + HORIZON <= now:
            at = waiting[place][0]
            scored = []
            while place < len(waiting) and waiting[place][0] == at:
                _, name, lately, fails = waiting[place]
                ratio = ratio_of(model, rates, lately, world.bias[name])
                scored.append(ScoredTarget(name, ratio, fails, ratio >= 1.5 * (rates[None] or 0.0)))
                place += 1
            tally = tally.after_scored(1, model, BEGIN_SECONDS + at, scored, 0, settings)
        tally, judgement = judge(tally, BEGIN_SECONDS + now, settings)
        if judgement is not None:
            judged += 1
            active += bool(judgement.driving)
    return active, judged


def main() -> None:
    """Print a line for each kind of world and model."""
    quiet()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--hours", type=float, default=24.0)
    arguments = parser.parse_args()
    settings = PromotionSettings(when="on")
    for episodes in (True, False):
        for model in MODELS:
            runs = [
                driven(World(seed, arguments.hours, episodes=episodes), model, settings)
                for seed in range(1, arguments.seeds + 1)
            ]
            ever = sum(active > 0 for active, _ in runs)
            share = sum(active for active, _ in runs) / sum(judged for _, judged in runs)
            world = "episodes" if episodes else "no episodes"
            print(
                f"{world}, {model}: drove in {ever} of {len(runs)} runs, {100 * share:.1f} % of judgements"
            )


if __name__ == "__main__":
    main()
