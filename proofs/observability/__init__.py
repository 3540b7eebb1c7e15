"""What can be seen from outside: every panel answered by a real Prometheus, every cycle one trace in a
real collector.

A stack is started as a user starts it, with the exerciser; its nats-server and its referee are
killed once, so that failure counters are not zero. Prometheus (Debian's package) scrapes
every process with the generated configuration; Phoenix receives what `foresail trace` sends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from deploy.grafana.make_dashboard import DASHBOARD
from deploy.grafana.make_prometheus import CONTAINERS, OPTIONAL, PORT, local_scraping
from deploy.grafana.make_prometheus import scraping as scrape_config
from proofs.faults import silence_bus_log
from proofs.faults.live_stack import LiveStack, NotReady
from proofs.observability import traces
from proofs.observability.panels import PanelAnswer, answer_all, queries
from proofs.observability.phoenix import Phoenix, PhoenixFailed, running_phoenix
from proofs.observability.prometheus import (
    MISSING,
    Prometheus,
    PrometheusFailed,
    config_objection,
    find_prometheus,
    running_prometheus,
)
from proofs.row import ProofRow, ProofSize

PART = "observability"
FAULTS = ("nats-server", "referee")
CYCLES = 6
"""Decided before and after each fault."""
DECIDED_SECONDS = 900.0
SCRAPE_SECONDS = 1.0
TOLD_SECONDS = 900.0
TRACED = "cycles that are one whole trace in Phoenix"


def prove(scale: ProofSize) -> Iterator[ProofRow]:
    """Query, trace and compare; only the scale's seed is used."""
    silence_bus_log()
    with TemporaryDirectory(prefix="foresail-observability-", ignore_cleanup_errors=True) as made:
        yield from asyncio.run(_prove_in(Path(made), scale.seed))


async def _prove_in(folder: Path, seed: int) -> list[ProofRow]:
    if find_prometheus() is None:
        return [ProofRow(PART, "panels answered with data by Prometheus", 1, 0, MISSING)]
    rows = _configurations(folder)
    try:
        async with running_phoenix(folder) as collector:
            rows += await traces.of_recording(folder, collector, seed)
            return rows + await _live(folder, seed, collector)
    except PhoenixFailed as error:
        rows.append(ProofRow(PART, TRACED, 1, 0, str(error)))
        return rows + await _live(folder, seed, None)


def _configurations(folder: Path) -> list[ProofRow]:
    """Let promtool read what compose gives to Prometheus."""
    targets = {name: f"{name}:{PORT}" for name in CONTAINERS}
    objection = config_objection(scrape_config(targets, looked_up=OPTIONAL), folder)
    return [
        ProofRow(
            PART, "promtool takes the scrape configuration", 1, int(not objection), objection[:300]
        )
    ]


async def _live(folder: Path, seed: int, collector: Phoenix | None) -> list[ProofRow]:
    stack = LiveStack(folder / "stack", seed=seed, nodes=10, untouched=True)
    try:
        await stack.start(CYCLES)
        config = local_scraping(stack.folder / "state" / "stack.json", SCRAPE_SECONDS)
        async with running_prometheus(config, folder) as prometheus:
            rows = [await _panels(stack, prometheus), *await _numbers(stack, prometheus)]
        if collector is not None:
            stored = list(stack.watch.messages)
            rows += await traces.of_stack(folder, stack.folder / "state", stored, collector)
        return rows
    except (NotReady, PrometheusFailed) as error:
        return [ProofRow(PART, "panels answered with data by Prometheus", 1, 0, str(error)[:300])]
    finally:
        await stack.stop()


async def _panels(stack: LiveStack, prometheus: Prometheus) -> ProofRow:
    for name in FAULTS:
        stack.signal(name)
        await stack.watch.wait_for_decisions(CYCLES, DECIDED_SECONDS)
    answers = await answer_all(queries(DASHBOARD), prometheus)
    return panels_row(answers)


def panels_row(answers: Sequence[PanelAnswer]) -> ProofRow:
    """Return the row of all panels: tried, answered, and the first that was not."""
    wrong = [f"{answer.asked.panel}: {answer.objection}" for answer in answers if answer.objection]
    series = sum(answer.series for answer in answers)
    detail = wrong[0] if wrong else f"{series} series; {' and '.join(FAULTS)} killed once each"
    tried, held = len(answers), len(answers) - len(wrong)
    return ProofRow(PART, "panels answered with data by Prometheus", tried, held, detail)


async def _numbers(stack: LiveStack, prometheus: Prometheus) -> list[ProofRow]:
    """Numbers that must show what was done: everything is scraped, and the outage was noticed."""
    processes = len(stack.file["health"])
    up = await _eventually(prometheus, "sum(up)", lambda value: value == processes)
    trouble = (
        "sum(foresail_publish_retries_total) + sum(foresail_publish_failures_total)"
        " + sum(max_over_time(foresail_lag_positions[5m]))"
        " + sum(1 - min_over_time(foresail_connected[5m]))"
    )
    value = await _eventually(prometheus, trouble, lambda value: value > 0)
    return [
        ProofRow(PART, "processes that Prometheus scrapes", processes, round(up)),
        ProofRow(PART, "a killed server shows in the numbers", 1, int(value > 0), f"{value:g}"),
    ]


async def _eventually(
    prometheus: Prometheus, expression: str, fits: Callable[[float], bool]
) -> float:
    """Return an expression's value once it fits, or as it is after a minute."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + TOLD_SECONDS
    while True:
        series = await asyncio.to_thread(prometheus.ask, expression)
        value = series[0].value if series else 0.0
        if fits(value) or loop.time() > deadline:
            return value
        await asyncio.sleep(1.0)
