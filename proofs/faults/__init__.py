"""Real faults against a real nats-server and separate processes; every verdict is read from the log."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import structlog

from proofs.faults import frozen, kills, storage
from proofs.faults.live_stack import SERVICES
from proofs.faults.verdict import LogVerdict
from proofs.results import Results, fingerprint
from proofs.row import ProofRow, ProofSize

PART = "faults"
KILLS_A_STACK = 20
"""After so many kills a stack is ended, by turns with Ctrl-C and with kill -9, and the next begins."""
LONGEST_FREEZE_SECONDS = 60.0
LONGEST_OUTAGE_SECONDS = 300.0
SERVER_WINDOW_SECONDS = 120.0
FROZEN = ("referee", "executor", "twin", "nats-server")
KILLS_A_FREEZE = 60
"""One in sixty of a scale's kills is also the number of freezes of each process."""
Record = dict[str, Any]
FIGURES = ("events", "decisions", "executions")
OUTAGES: tuple[tuple[str, frozen.How], ...] = (
    ("referee", "killed"),
    ("executor", "frozen"),
)


def prove(scale: ProofSize) -> Iterator[ProofRow]:
    """Break a running stack in every way, `scale.kills` times with kill -9."""
    silence_bus_log()
    results = Results.open(scale.results, PART, fingerprint())
    size = f"seed {scale.seed} kills {scale.kills}"
    with TemporaryDirectory(prefix="foresail-proof-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        yield _kills(folder / "kills", scale, results)
        for name, run in _other_proofs(folder, scale).items():
            yield ProofRow(
                **resume_or_run(results, f"{name} {size}", lambda run=run: asdict(run()))
            )  # type: ignore[misc]  # a default argument of a lambda


def resume_or_run(results: Results, key: str, run: Callable[[], Record]) -> Record:
    """Return what was found for `key`; try it, and keep that, when no earlier run did."""
    if key not in results.found:
        results.add(key, run())
    return results.found[key]


def _other_proofs(folder: Path, scale: ProofSize) -> dict[str, Callable[[], ProofRow]]:
    """Return everything besides the kills, by name, in the order in which it is tried."""
    others = {
        "killed stacks": lambda: _killed_stacks(folder / "up", scale),
        "frozen": lambda: _frozen(folder / "frozen", scale),
        "second referee": lambda: _second_referee(folder / "second", scale),
        "outages": lambda: _outages(folder, scale),
        "lost acks": lambda: _lost_acks(folder / "acks", scale),
        "truncated store": lambda: _truncated_store(folder / "cut", scale),
    }
    if storage.may_mount():
        others["full disk"] = lambda: _full_disk(folder / "full", scale)
    others["refused store"] = lambda: _refused_store(folder / "refused")
    return others


def silence_bus_log() -> None:
    """Keep what the bus says of each lost connection out of the table; losing them is the point."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))


def _kills(folder: Path, scale: ProofSize, results: Results) -> ProofRow:
    done = number = 0
    sums = Counter[str]()
    failure = ""
    while done < scale.kills:
        count = min(KILLS_A_STACK, scale.kills - done)
        seed = scale.seed * 1_000 + number
        key = f"kills seed {seed} count {count}"
        run = partial(_one_session, folder, seed, count, brutal=number % 2 == 1)
        record = resume_or_run(results, key, run)
        done, number = done + count, number + 1
        failure = failure or record["failure"]
        sums.update(record["figures"])
    figures = f"{number} stacks, " + ", ".join(f"{sums[name]} {name}" for name in FIGURES)
    what = "kill -9 of a service, the twin or nats-server"
    return ProofRow(PART, what, done, sums["held"], failure or figures)


def _one_session(folder: Path, seed: int, count: int, *, brutal: bool) -> Record:
    """Kill in one stack; its log's verdict is that of each of its kills."""
    verdict = asyncio.run(kills.session(folder, seed, count, brutal=brutal))
    log = verdict.log
    figures = dict(zip(FIGURES, (log.events, log.decided, log.executed), strict=True))
    held = count if verdict.held else 0
    return {
        "faults": verdict.faults,
        "failure": verdict.failure(),
        "figures": {**figures, "held": held},
    }


def _frozen(folder: Path, scale: ProofSize) -> ProofRow:
    names = FROZEN * max(1, scale.kills // KILLS_A_FREEZE)
    verdict = asyncio.run(frozen.prove_replacement(folder, scale.seed, names))
    held = len(names) if verdict.held else 0
    what = f"SIGSTOP of {', '.join(FROZEN)}: replaced within {frozen.REPLACED_SECONDS:g} s"
    detail = verdict.failure() or "; ".join(verdict.faults[-len(FROZEN) :])
    return ProofRow(PART, what, len(names), held, detail)


def _second_referee(folder: Path, scale: ProofSize) -> ProofRow:
    seconds = min(LONGEST_FREEZE_SECONDS, 3.0 * scale.kills)
    verdict = asyncio.run(frozen.second_referee(folder, scale.seed, seconds))
    return _row(f"referee frozen {seconds:g} s, a second one decides, the first wakes", [verdict])


def _truncated_store(folder: Path, scale: ProofSize) -> ProofRow:
    cuts = max(2, scale.kills // 10)
    verdict = asyncio.run(storage.truncated_store(folder, scale.seed, cuts))
    return _row(f"server stopped and its newest file cut, {cuts} times in a row", [verdict])


def _full_disk(folder: Path, scale: ProofSize) -> ProofRow:
    verdict = asyncio.run(storage.full_disk(folder, scale.seed, 8))
    return _row("disk full, then space again", [verdict])


def _refused_store(folder: Path) -> ProofRow:
    verdict = asyncio.run(storage.refused_store(folder))
    return _row("store too small for the log: one line, nothing left running", [verdict])


def _killed_stacks(folder: Path, scale: ProofSize) -> ProofRow:
    count = max(2, scale.kills // 20)
    verdicts = asyncio.run(kills.killed_stacks(folder, scale.seed, count))
    return _row("kill -9 of foresail up: nothing left after 5 s, next start clean", verdicts)


def _outages(folder: Path, scale: ProofSize) -> ProofRow:
    seconds = min(LONGEST_OUTAGE_SECONDS, float(scale.kills))
    window = None if seconds > SERVER_WINDOW_SECONDS else seconds / 4
    verdict = asyncio.run(
        frozen.prove_outages(folder / "outage", scale.seed, OUTAGES, seconds, window_seconds=window)
    )
    held = len(OUTAGES) if verdict.held else 0
    what = f"outage of one service for {seconds:g} s, longer than the dedupe window"
    return ProofRow(PART, what, len(OUTAGES), held, _detail([verdict]))


def _lost_acks(folder: Path, scale: ProofSize) -> ProofRow:
    seconds = max(30.0, min(LONGEST_OUTAGE_SECONDS, float(scale.kills)))
    verdict, lost = asyncio.run(storage.lost_acks(folder, scale.seed, seconds, SERVICES))
    held = lost if verdict.held else 0
    return ProofRow(
        PART, "acknowledgements lost, each event's first", lost, held, _detail([verdict])
    )


def _row(what: str, verdicts: list[LogVerdict]) -> ProofRow:
    held = sum(verdict.held for verdict in verdicts)
    return ProofRow(PART, what, len(verdicts), held, _detail(verdicts))


def _detail(verdicts: list[LogVerdict]) -> str:
    failed = next((verdict.failure() for verdict in verdicts if not verdict.held), "")
    return failed or "; ".join(
        ", ".join(verdict.faults[:4]) for verdict in verdicts if verdict.faults
    )
