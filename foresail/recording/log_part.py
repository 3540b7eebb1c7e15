"""A part of a log that a bus gives: where it begins, so that what comes after can be re-run."""

from __future__ import annotations

from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any

from bus.errors import InputError
from bus.events import event_of
from bus.identities import keeps_state
from bus.port import Bus, LogInfo, StoredMessage
from bus.recording.start_point import FRAMED, KEPT_WHOLE, STANDING, StartFinder
from bus.recording.window import cycle_of_message
from schemas import subjects
from schemas.checkpoint import Checkpoint
from schemas.config import CODE_VERSION, Config
from schemas.identity import Origin
from schemas.registry import EVENT_TYPES, UnknownEvent
from schemas.run import RunData
from schemas.snapshot import SnapshotNodes
from services.identities import IDENTITIES

STATEFUL = sorted(identity.name for identity in IDENTITIES if keeps_state(identity.name))
"""Processes that store checkpoints."""
LOOK_BACK = 2_000
"""Messages looked back for checkpoints and keyframes at first; four times as many each time more."""
KNOWN_LAYERS = tuple(dict.fromkeys(kind.PATTERN[0] for kind in EVENT_TYPES))


@dataclass(frozen=True, slots=True)
class LogPart:
    """Where a part begins."""

    first_seq: int
    """From here on every message of the wanted layers is taken."""
    from_seq: int
    """The request."""
    complete: bool
    whole: bool
    """It is the log from its first event on."""
    heads: tuple[StoredMessage, ...] = ()

    def header_entry(self) -> dict[str, Any]:
        """Return it as a recording's header tells it."""
        return {
            "first_seq": self.first_seq,
            "from_seq": self.from_seq,
            "heads": len(self.heads),
            "complete": self.complete,
            "window": f"seq {self.from_seq}..",
        }


async def header_of(
    bus: Bus, origin: Origin, layers: tuple[str, ...] | None, part: LogPart
) -> dict[str, Any]:
    """Return the header of a recording of a part of a log, of some layers or of all; with the settings that the stack
    has announced, if one has.
    """
    header: dict[str, Any] = {
        "cluster": origin.cluster,
        "incarnation": origin.incarnation,
        "code_version": CODE_VERSION,
    }
    stack = subjects.build(origin.cluster, (Config.PATTERN[0], RunData.WRITER))
    with suppress(UnknownEvent):
        if (announced := await bus.last(stack)) is not None:
            header["settings"] = event_of(announced).data.settings
    if layers is not None:
        header["layers"] = sorted(layers)
    return header if part.whole else {**header, "cut": part.header_entry()}


def patterns_of(cluster: str, layers: tuple[str, ...] | None) -> list[str]:
    """Return the subject patterns of some layers, or of all; settings are always among them.

    Raises:
        InputError: there is no such layer.
    """
    if layers is None:
        return [subjects.pattern(cluster, (">",))]
    for layer in layers:
        if layer not in KNOWN_LAYERS:
            raise InputError("--layers", layer, f"choose from {', '.join(KNOWN_LAYERS)}")
    layers_and_config = dict.fromkeys((*layers, Config.PATTERN[0]))
    return [
        subjects.pattern(cluster, tokens)
        for layer in layers_and_config
        for tokens in ((layer,), (layer, ">"))
    ]


async def beginning_for(
    bus: Bus, cluster: str, patterns: list[str], seq: int, first_seq: int
) -> LogPart:
    """Return where to begin so that everything from `seq` on can be re-run; see
    `bus.recording.start_point`.
    """
    if seq <= first_seq:
        return LogPart(first_seq, first_seq, complete=first_seq == 1, whole=first_seq == 1)
    back = LOOK_BACK
    while True:
        start = max(first_seq, seq - back)
        finder = await _finder_with_log(bus, cluster, patterns, start, seq)
        start_point = finder.start_for(seq)
        if start_point.complete or start == first_seq:
            heads = tuple(message for message, _ in start_point.heads)
            whole = start_point.first_seq == 1 and not heads
            return LogPart(start_point.first_seq, seq, start_point.complete, whole, heads)
        back *= 4


async def first_since(
    bus: Bus, cluster: str, info: LogInfo, *, cycle: int | None = None, time_ns: int = 0
) -> int:
    """Return the position of the first message of a cycle, or from a time on; behind the newest when
    there is none yet.
    """
    everything = subjects.pattern(cluster, (">",))
    if cycle is not None:
        nodes = subjects.pattern(cluster, SnapshotNodes.PATTERN)
        async with aclosing(bus.history([nodes], start_seq=info.first_seq)) as messages:
            async for message in messages:
                if (cycle_of_message(message) or 0) >= cycle:
                    return message.seq
        return info.last_seq + 1
    low, high = info.first_seq, info.last_seq + 1
    while low < high:
        middle = (low + high) // 2
        async with aclosing(
            bus.history([everything], start_seq=middle, end_seq=middle)
        ) as newest_messages:
            newer = [message.time_ns >= time_ns async for message in newest_messages]
        low, high = (low, middle) if not newer or newer[0] else (middle + 1, high)
    return low


async def _finder_with_log(
    bus: Bus, cluster: str, patterns: list[str], start: int, seq: int
) -> StartFinder:
    """Look at the log before a position, from a start on; of standing messages, from the beginning."""

    def is_wanted(subject: str) -> bool:
        return any(subjects.matches(pattern, subject) for pattern in patterns)

    checkpoint = subjects.build(cluster, (Checkpoint.PATTERN[0], "x"))
    finder = StartFinder(first_seq=start, needs_checkpoints=is_wanted(checkpoint))

    for tokens in sorted(FRAMED):
        subject = subjects.build(cluster, tokens)
        if is_wanted(subject) and await bus.last(subject) is not None:
            finder.keyframes[subject] = None
    for process in STATEFUL if finder.needs_checkpoints else ():
        config_subject = subjects.build(cluster, (Config.PATTERN[0], process))
        if await bus.last(config_subject) is not None:
            finder.applied_seqs[process] = None
    standing = [
        subjects.pattern(cluster, tokens)
        for data_class in (*STANDING, KEPT_WHOLE)
        for tokens in (data_class, (*data_class, ">"))
        if is_wanted(subjects.build(cluster, (*data_class, "x")))
        or is_wanted(subjects.build(cluster, data_class))
    ]
    if start > 1 and standing:
        async with aclosing(bus.history(standing, end_seq=start - 1)) as messages:
            async for message in messages:
                finder.add(message)
    async with aclosing(bus.history(patterns, start_seq=start, end_seq=seq - 1)) as messages:
        async for message in messages:
            finder.add(message)
    return finder
