"""Real faults against a real nats-server and separate processes; every verdict is read from the log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import structlog

from proofs.faults import frozen, kills, storage
from proofs.faults.live_stack import SERVICES
from proofs.faults.verdict import Verdict
from proofs.row import Row, Scale

PART = "faults"
KILLS_A_STACK = 20
"""After so many kills a stack is ended, by turns with Ctrl-C and with kill -9, and the next begins."""
LONGEST_FREEZE_SECONDS = 60.0
LONGEST_OUTAGE_SECONDS = 300.0
SERVER_WINDOW_SECONDS = 120.0
OUTAGES: tuple[tuple[str, frozen.How], ...] = (
    ("referee", "killed"),
    ("executor", "frozen"),
)


def prove(scale: Scale) -> Iterator[Row]:
    """Break a running stack in every way, `scale.kills` times with kill -9."""
    quiet()
    with TemporaryDirectory(prefix="foresail-proof-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        yield _kills(folder / "kills", scale)
        yield _killed_stacks(folder / "up", scale)
        freeze = min(LONGEST_FREEZE_SECONDS, 3.0 * scale.kills)
        one = asyncio.run(frozen.second_referee(folder / "second", scale.seed, freeze))
        yield _row(f"referee frozen {freeze:g} s, a second one decides, the first wakes", [one])
        yield _outages(folder, scale)
        yield _lost_acks(folder / "acks", scale)
        cuts = max(2, scale.kills // 10)
        one = asyncio.run(storage.truncated_store(folder / "cut", scale.seed, cuts))
        yield _row(f"server stopped and its newest file cut, {cuts} times in a row", [one])
        if storage.may_mount():
            one = asyncio.run(storage.full_disk(folder / "full", scale.seed, 8))
            yield _row("disk full, then space again", [one])
        one = asyncio.run(storage.refused_store(folder / "refused"))
        yield _row("store too small for the log: one line, nothing left running", [one])


def quiet() -> None:
    """Keep what the bus says of each lost connection out of the table; losing them is the point."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))


def _kills(folder: Path, scale: Scale) -> Row:
    done = held = events = decisions = executions = 0
    failure = ""
    number = 0
    while done < scale.kills:
        count = min(KILLS_A_STACK, scale.kills - done)
        seed = scale.seed * 1_000 + number
        verdict = asyncio.run(kills.session(folder, seed, count, brutal=number % 2 == 1))
        done, number = done + count, number + 1
        held += count if verdict.held else 0
        failure = failure or verdict.failure()
        events += verdict.log.events
        decisions += verdict.log.decided
        executions += verdict.log.executed
    figures = f"{number} stacks, {events} events, {decisions} decisions, {executions} executions"
    return Row(
        PART, "kill -9 of a service, the twin or nats-server", done, held, failure or figures
    )


def _killed_stacks(folder: Path, scale: Scale) -> Row:
    count = max(2, scale.kills // 20)
    verdicts = asyncio.run(kills.killed_stacks(folder, scale.seed, count))
    return _row("kill -9 of foresail up: nothing left after 5 s, next start clean", verdicts)


def _outages(folder: Path, scale: Scale) -> Row:
    seconds = min(LONGEST_OUTAGE_SECONDS, float(scale.kills))
    window = None if seconds > SERVER_WINDOW_SECONDS else seconds / 4
    verdict = asyncio.run(
        frozen.outages(folder / "outage", scale.seed, OUTAGES, seconds, window_seconds=window)
    )
    held = len(OUTAGES) if verdict.held else 0
    what = f"outage of one service for {seconds:g} s, longer than the dedupe window"
    return Row(PART, what, len(OUTAGES), held, _detail([verdict]))


def _lost_acks(folder: Path, scale: Scale) -> Row:
    seconds = max(30.0, min(LONGEST_OUTAGE_SECONDS, float(scale.kills)))
    verdict, lost = asyncio.run(storage.lost_acks(folder, scale.seed, seconds, SERVICES))
    held = lost if verdict.held else 0
    return Row(PART, "acknowledgements lost, each event's first", lost, held, _detail([verdict]))


def _row(what: str, verdicts: list[Verdict]) -> Row:
    held = sum(one.held for one in verdicts)
    return Row(PART, what, len(verdicts), held, _detail(verdicts))


def _detail(verdicts: list[Verdict]) -> str:
    failed = next((one.failure() for one in verdicts if not one.held), "")
    return failed or "; ".join(", ".join(one.faults[:4]) for one in verdicts if one.faults)
