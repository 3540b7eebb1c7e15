"""What a report says of foresight: read beside the rest, and only where something rested on a forecast."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing

from bus.events import read_entry
from bus.port import StoredMessage
from foresail.log_source import Source
from foresail.progress import reading_source
from projections.figures import known_number, signed_text
from projections.foresight.log import READS, ForesightLog, Settled
from projections.foresight.totals import Verdict, verdict_on
from projections.times import clock

PROPOSALS = ("proposal.*",)
RESTS = b'"forecast":{'
"""How a message of a proposal that rests on a forecast is told from others without decoding it."""
COLUMNS = ("Service", "replicas", "foreseen", "rise", "lead, min", "failed", "without us", "worth")
MOST_ROWS = 30
VERDICTS = {Verdict.NONE: "none came", Verdict.OPEN: "not due yet"}
Begun = Sequence[tuple[str, Source, int]]
"""Logs, what to read of them, and from which position; parts of one log in their order."""


async def read_foresight(begun: Begun, from_ns: int) -> list[tuple[Settled, float]]:
    """Return every rise that was foreseen and acted on, with the cluster time at which its log ends.

    Args:
        begun: what to read.
        from_ns: recorded time before which nothing counts.
    """
    if not await _rests_on_forecasts(begun, from_ns):
        return []
    logs: dict[str, ForesightLog] = {}
    async for name, message in _messages(begun, from_ns, READS):
        event = read_entry(message).event
        if event is not None:
            logs[name] = logs.get(name, ForesightLog()).after(event)
    return [(one, log.seen_seconds) for log in logs.values() for one in log.outcomes()]


async def _rests_on_forecasts(begun: Begun, from_ns: int) -> bool:
    async with aclosing(_messages(begun, from_ns, PROPOSALS)) as messages:
        async for _, message in messages:
            if RESTS in message.data:
                return True
    return False


async def _messages(
    begun: Begun, from_ns: int, subjects: Sequence[str]
) -> AsyncGenerator[tuple[str, StoredMessage]]:
    """Yield each message once, although parts of a log may overlap."""
    last_seqs: Counter[str] = Counter()
    for name, source, start_seq in begun:
        first = max(start_seq, last_seqs[name] + 1)
        async with reading_source(source, "reading forecasts"):
            async for message in source.messages(subjects, start_seq=first):
                last_seqs[name] = max(last_seqs[name], message.seq)
                if message.time_ns >= from_ns:
                    yield name, message


def foresight_cells(found: Sequence[tuple[Settled, float]]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each rise that was acted on, the newest ones where there are many."""
    done = [(one, last) for one, last in found if one.rise.carried_out]
    for one, last in done[-MOST_ROWS:]:
        first, outcome = one.rise.first, one.outcome
        lead = outcome.lead_seconds(one.rise)
        yield (
            one.rise.service,
            f"{first.replicas_before} to {one.rise.last.replicas_after}",
            clock(first.spoke_seconds),
            VERDICTS.get(verdict_on(one, last)) or clock(outcome.rise_seconds or 0.0),
            known_number(None if lead is None else lead / 60.0),
            known_number(outcome.here.failed),
            known_number(None if outcome.there is None else outcome.there.failed),
            "-" if outcome.worth is None else signed_text(outcome.worth),
        )
