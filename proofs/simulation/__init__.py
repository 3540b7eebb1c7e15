"""Simulation: the whole pipeline in one process on virtual time, under faults drawn from a seed.

`prove` runs each seed twice: with faults that leave the world alone (the log must be that of the
undisturbed run, but for recorded reasons), and with faults everywhere. A failure names
the call that repeats it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from functools import cache
from multiprocessing import get_context

from rich.progress import track

from inputs.parent_process import die_with_parent
from proofs.faults.log_check import check
from proofs.results import Results, fingerprint
from proofs.row import ProofRow, ProofSize
from proofs.simulation.compare import compare
from proofs.simulation.plan import FaultPlan, draw_plan, world_of
from proofs.simulation.planted import DEFECTS, SEEDS, find_catching_seed, find_report
from proofs.simulation.world import LEAST_CALM_DECISIONS, RunResult, run
from schemas.subjects import parse

OPEN_CYCLES = 3
"""Cycles at the end of a calm run that may still be on their way."""


@dataclass
class SeedVerdict:
    """What one seed showed."""

    seed: int
    problems: list[str] = field(default_factory=list)
    crashes: int = 0
    events: int = 0
    executions: int = 0
    zombies: int = 0
    compared: int = 0
    different: int = 0


def try_seed(seed: int) -> SeedVerdict:
    """Run one seed's faults, first beside the sources, then everywhere, and judge both."""
    verdict = SeedVerdict(seed)
    quiet = undisturbed_run(world_of(seed))
    same_world = run(draw_plan(seed, sources=False), mode="shadow")
    everywhere = run(draw_plan(seed, sources=True))
    for name, ran in (("same world", same_world), ("everywhere", everywhere)):
        verdict.problems += [f"{name}: {text}" for text in find_problems(ran)]
        verdict.crashes += ran.crashes
        verdict.events += len(ran.messages)
        verdict.zombies += ran.superseded_writers
        verdict.executions += check(ran.messages).executed
    comparison = compare(quiet.messages, same_world.messages)
    verdict.compared, verdict.different = comparison.compared, comparison.different
    verdict.problems += [f"compared: {text}" for text in comparison.problems]
    return verdict


@cache
def undisturbed_run(world: int) -> RunResult:
    """Return the run that others are compared with, itself without a problem."""
    ran = run(FaultPlan(0, world), mode="shadow")
    problems = find_problems(ran)
    assert not problems, problems[0]
    return ran


def count_calm_decisions(ran: RunResult) -> int:
    """Return how many decisions were stored after the faults had ended."""
    return sum(
        parse(message.subject).layer == "decision" and message.time_ns >= ran.calm_from_ns
        for message in ran.messages
    )


def find_problems(ran: RunResult) -> list[str]:
    """Return everything that is wrong with one run."""
    result = check(ran.messages, open_cycles=OPEN_CYCLES)
    problems = [*ran.problems, *map(str, result.problems)]
    decided = count_calm_decisions(ran)
    if decided < LEAST_CALM_DECISIONS:
        problems.append(f"only {decided} cycles were decided after the faults had ended")
    return problems


def prove(scale: ProofSize) -> Iterator[ProofRow]:
    """Try `scale.seeds` seeds, less those whose results are kept, and every planted defect."""
    seeds = range(scale.seed, scale.seed + scale.seeds)
    verdicts = _all_verdicts(seeds, scale)
    bad = [verdict for verdict in verdicts if verdict.problems]
    detail = (
        f"{sum(verdict.crashes for verdict in verdicts)} crashes, "
        f"{sum(verdict.events for verdict in verdicts)} events, "
        f"{sum(verdict.executions for verdict in verdicts)} executions, "
        f"{sum(verdict.zombies for verdict in verdicts)} second writers stopped"
    )
    if bad:
        detail = f"try_seed({bad[0].seed}): {bad[0].problems[0]}"
    yield ProofRow(
        "simulation",
        "seeds under faults, every invariant",
        len(seeds),
        len(seeds) - len(bad),
        detail,
    )
    compared = sum(verdict.compared for verdict in verdicts)
    unexplained = sum("compared:" in text for verdict in verdicts for text in verdict.problems)
    yield ProofRow(
        "simulation",
        "events equal to those of the undisturbed run, or different for a recorded reason",
        compared,
        compared - unexplained,
        f"{sum(verdict.different for verdict in verdicts)} differ for a recorded reason",
    )
    caught = [name for name in DEFECTS if find_catching_seed(name)]
    missed = ", ".join(name for name in DEFECTS if name not in caught)
    yield ProofRow("simulation", "planted defects caught", len(DEFECTS), len(caught), missed)
    plans = [(name, seed) for name in DEFECTS for seed in SEEDS]
    false = [plan for plan in plans if find_report(*plan, planted=False)]
    yield ProofRow(
        "simulation",
        "the same plans without a defect report none",
        len(plans),
        len(plans) - len(false),
        ", ".join(f"{name} with seed {seed}" for name, seed in false),
    )


def _all_verdicts(seeds: range, scale: ProofSize) -> list[SeedVerdict]:
    """Return every seed's verdict in order, from kept results where they are there.

    Raises:
        InputError: the kept results are of other code.
    """
    code = fingerprint()
    results = Results.open(scale.results, "simulation", code)
    missing = [seed for seed in seeds if str(seed) not in results.found]
    with ProcessPoolExecutor(
        scale.jobs,
        mp_context=get_context("spawn"),
        initializer=die_with_parent,  # a killed proof leaves no seeds running
        initargs=(os.getpid(),),
    ) as pool:
        trying = [pool.submit(try_seed, seed) for seed in missing]
        progress = track(
            as_completed(trying),
            "simulated seeds",
            total=len(seeds),
            completed=len(seeds) - len(missing),
            transient=True,
        )
        try:
            for tried in progress:
                verdict = tried.result()
                results.add(str(verdict.seed), asdict(verdict))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [SeedVerdict(**results.found[str(seed)]) for seed in seeds]
