"""Search of a policy's weights by evolution (CMA-ES, by the library cmaes).

Learning from rewards has to find out which of some hundred admissions made a stream better; a search asks only which
policy did. Candidates of one generation play the same streams of the train split, other ones each time, and are held
against a rule on these very streams. Slowdown alone would pay for letting a few long jobs wait for all others, so
waiting longer than by the rule is charged (`players.cost`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from lab.learning.jobs import JobStream
from lab.learning.libraries import library
from lab.learning.search.players import Players, cost
from lab.learning.search.scoring import Floats, first_weights, searched_weights


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """Everything that a search's result depends on but its streams."""

    rule: str = "sjf+easy"
    """Whom candidates are held against."""
    slots: int = 128
    units: int = 8
    """Of the hidden layer."""
    batch: int = 256
    """Streams that the candidates of a generation play."""
    generations: int = 300
    evaluate_every: int = 10
    """Generations between two evaluations of the distribution's mean on the development split."""
    deviation: float = 0.3
    """Of the first candidates' weights."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """The distribution's mean after some generations, on the development split."""

    generation: int
    played: int
    """Streams of the train split so far, over all candidates."""
    weights: Floats
    cost: float
    """1 is the rule's."""
    figures: tuple[float, ...]
    """Means over streams, by `playing`'s places: slowdown, mean wait, longest wait."""


def search(
    train: Sequence[JobStream],
    development: Sequence[JobStream],
    plan: SearchPlan,
    threads: int,
    report: Callable[[Found], None],
) -> Found:
    """Return the weights that cost least on the development split.

    Args:
        train: streams that candidates play.
        development: streams that choose among the means.
        plan: how it is searched.
        threads: that play; the result is the same for any number.
        report: told each evaluation.

    Raises:
        InputError: a library of the extra `learn` is missing.
    """
    cma = library("cmaes").CMA
    library("numba")
    players, judges = (
        Players(streams, plan.rule, plan.slots, plan.units, threads)
        for streams in (train, development)
    )
    random = np.random.Generator(np.random.PCG64(plan.seed))  # noqa: TID251 - made from a seed
    whole = first_weights(plan.units, random)
    searched = searched_weights(train, plan.rule, plan.slots, plan.units)
    evolution = cma(mean=whole[searched], sigma=plan.deviation, seed=plan.seed)

    def filled(part: Floats) -> Floats:
        weights = whole.copy()
        weights[searched] = part
        return weights

    best, played = None, 0
    for generation in range(1, plan.generations + 1):
        chosen = random.choice(len(train), size=min(plan.batch, len(train)), replace=False)
        parts = [evolution.ask() for _ in range(evolution.population_size)]
        figures = players.figures([filled(part) for part in parts], chosen)
        costs = [cost(one, players.rule[chosen]) for one in figures]
        evolution.tell(list(zip(parts, costs, strict=True)))
        played += len(parts) * len(chosen)
        if generation % plan.evaluate_every and generation < plan.generations:
            continue
        mean = filled(evolution.mean)
        made = judges.figures([mean], np.arange(len(development)))[0]
        found = Found(
            generation, played, mean, cost(made, judges.rule), tuple(made.mean(axis=0).tolist())
        )
        report(found)
        if best is None or found.cost < best.cost:
            best = found
    assert best is not None
    return best
