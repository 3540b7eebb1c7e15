"""Search of weights over whole streams: what plays is what is written, and it gets better than where it began."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lab.learning.baselines.play import play
from lab.learning.comparison.benchmark import mean_slowdown
from lab.learning.comparison.learned_rule import ExportedRule
from lab.learning.search.players import Players, cost
from lab.learning.search.scoring import first_weights
from lab.learning.search.search import Found, SearchPlan, search
from lab.learning.search.writing import policy_of
from lab.learning.simulator import Cluster
from lab.learning.workloads.sources import SourceOptions, stream_source

PLAN = SearchPlan(rule="sjf+fit", slots=32, units=3, batch=40, generations=12, evaluate_every=6)
SOURCE = {"count": 60}


def _search(threads: int) -> tuple[Found, list[Found]]:
    source = stream_source("lublin-256", SourceOptions(count=60))
    streams = [source(seed) for seed in range(80)]
    told: list[Found] = []
    return search(streams, streams, PLAN, threads, told.append), told


def test_a_search_gets_better_and_its_file_plays_as_it_did() -> None:
    """On the streams that it searched on; the file's integers admit as the compiled network did, all but exactly."""
    found, told = _search(threads=2)
    assert [one.generation for one in told] == [6, 12]
    source = stream_source("lublin-256", SourceOptions(count=60))
    streams = [source(seed) for seed in range(80)]
    everything = np.arange(len(streams))
    players = Players(streams, PLAN.rule, PLAN.slots, PLAN.units, 1)
    first = first_weights(PLAN.units, np.random.Generator(np.random.PCG64(PLAN.seed)))
    begun, reached = players.figures([first, found.weights], everything)
    assert cost(reached, players.rule) < cost(begun, players.rule)
    assert found.cost == cost(reached, players.rule)

    rule = ExportedRule(policy_of(found, PLAN, "found", "lublin-256", SOURCE))
    slowdowns = []
    for stream in streams[:20]:
        cluster = Cluster(stream)
        play(cluster, rule)
        slowdowns.append(mean_slowdown(cluster))
    same = np.isclose(slowdowns, reached[:20, 0])
    assert same.mean() >= 0.9, "near-ties may differ in a stream or two"
    assert _search(threads=1)[0].cost == found.cost, "threads change nothing"


def test_longer_waits_are_charged() -> None:
    """The rule costs 1; half its slowdown bought with twice its longest wait costs more."""
    rule = np.array([[20.0, 600.0, 7_200.0]] * 3)
    assert cost(rule, rule) == pytest.approx(1.0)
    assert cost(rule * [0.5, 1.0, 1.0], rule) == pytest.approx(0.5)
    assert cost(rule * [0.5, 1.0, 2.0], rule) > 1.0


def test_a_plan_is_all_that_matters() -> None:
    """Another seed finds something else."""
    source = stream_source("lublin-256", SourceOptions(count=30))
    streams = [source(seed) for seed in range(10)]
    short = replace(PLAN, generations=1, batch=10)
    costs = [
        search(streams, streams, replace(short, seed=seed), 1, lambda _: None).cost
        for seed in (0, 0, 1)
    ]
    assert costs[0] == costs[1] != costs[2]
