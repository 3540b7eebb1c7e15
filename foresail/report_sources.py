"""What a report reads: a running stack's log, one recording, or all of a folder or a bucket; each event once."""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from bus.clock import SystemClock
from bus.errors import InputError, JetStreamMissing, StreamMissing
from bus.events import LogEntry, read_events
from bus.exit_codes import ExitCode
from bus.port import Messages
from bus.recording import open_recording
from bus.streams import StreamDeclaration
from foresail.log_source import LogSource, RecordingSource, Since, Source, open_source, reached
from foresail.log_source import reading_verdict as verdict_of
from foresail.progress import reading_source
from foresail.remote import remote_of
from foresail.spans import NANOSECONDS
from foresail.stack.state_folder import StateFolder
from projections.activity import READS, Activity
from projections.activity_days import Days, merge
from schemas.envelope import rfc3339
from schemas.rollup import RollupDay, days_cluster
from services.recorder.bucket import Bucket, BucketUnavailable
from services.recorder.names import RecordingName, read_name
from services.rollup.service import stored_days

BUCKET = "s3://"


@dataclass
class ReportPart:
    """One source of events, and which log it is a part of."""

    source: Source
    log: str = ""
    begin_ns: int = 0
    """Recorded time of the first event that is its own."""
    rolled: bool = False
    """The recorder made it: where the next one of its log begins, it has ended."""


@dataclass
class ReportSources:
    """Everything that is read, in order."""

    parts: list[ReportPart]
    partial: bool = False
    code: ExitCode = ExitCode.GOOD
    """What reading found: a recording that ends too early."""
    from_ns: int = 0
    days: tuple[RollupDay, ...] = ()
    """The days of a cluster that are summed up, the oldest first; of recordings none."""
    incarnation: str = ""
    """Whose log is read, where days are summed up."""
    _read: dict[str, tuple[int, int]] = field(default_factory=dict)

    async def entries(
        self, patterns: Sequence[str], since_seconds: float | None
    ) -> AsyncIterator[LogEntry]:
        """Yield every event of the last `since_seconds` once."""
        start_seqs = await self._beginnings(since_seconds)
        for part, start_seq in start_seqs:
            async with reading_source(part.source, "reading the log"):
                messages = part.source.messages(patterns, start_seq=start_seq)
                async for entry in read_events(self._unread(part.log, messages)):
                    yield entry
            found = verdict_of(part.source, partial=self.partial)
            self.code = found if self.code is ExitCode.GOOD else self.code

    async def _unread(self, log: str, messages: Messages) -> Messages:
        """Yield what counts of one part and no part before it held; a log of the same name that began anew has old
        positions with new times.
        """
        last_seq, last_ns = self._read.get(log, (0, 0))
        async with aclosing(messages):
            async for message in messages:
                seq, time_ns = message.seq, message.time_ns
                if time_ns < self.from_ns or (seq <= last_seq and time_ns <= last_ns):
                    continue
                if time_ns >= self._read.get(log, (0, 0))[1]:
                    self._read[log] = (seq, time_ns)
                yield message

    async def add_to(self, activity: Activity, since_seconds: float | None) -> None:
        """Count the last `since_seconds`: where the log does not go back so far, from its sums of whole days."""
        entries = self.entries(READS, since_seconds)
        if not self.days or not await self._needs_days(since_seconds):
            async for entry in entries:
                if entry.event is not None:
                    activity.add(entry.event)
            return
        sums = Days()
        begin = "" if since_seconds is None else self._first_day(since_seconds)
        for data in self.days:
            if data.day >= begin:
                sums.restore(data, self.incarnation)
        async for entry in entries:
            if entry.event is not None:
                sums.add(entry.event, entry.seq)
        for _, day in sorted(sums.days.items()):
            merge(activity, day)

    async def _needs_days(self, since_seconds: float | None) -> bool:
        """Say whether the log begins behind what is asked for."""
        (part,) = self.parts
        if since_seconds is None:
            return True
        first = await anext(aiter(part.source.messages()), None)
        if first is None:
            return True
        start_seq = await part.source.start_of(Since(seconds=since_seconds))
        return start_seq <= first.seq

    def _first_day(self, since_seconds: float) -> str:
        (part,) = self.parts
        end_ns = SystemClock().wall_ns()
        if not part.source.running:
            end_ns = round(self.days[-1].last_time_seconds * NANOSECONDS)
        return rfc3339(end_ns / NANOSECONDS - since_seconds)[:10]

    async def _beginnings(self, since_seconds: float | None) -> list[tuple[ReportPart, int]]:
        if since_seconds is None:
            return [(part, 1) for part in self.parts]
        if len(self.parts) == 1:
            (part,) = self.parts
            return [(part, await part.source.start_of(Since(seconds=since_seconds)))]
        self.from_ns = await self._end_ns() - round(since_seconds * NANOSECONDS)
        return [(part, 1) for part in self.parts if not self._is_over(part)]

    async def _end_ns(self) -> int:
        """Return the recorded time of the newest event; of the recorder's files only the newest is read."""
        rolled = [part for part in self.parts if part.rolled]
        newest = max(rolled, key=lambda part: part.begin_ns, default=None)
        end_ns = 0
        for part in [part for part in self.parts if not part.rolled or part is newest]:
            async with reading_source(part.source, "looking for the newest event"):
                async for message in part.source.messages():
                    end_ns = max(end_ns, message.time_ns)
        return end_ns

    def _is_over(self, part: ReportPart) -> bool:
        """Say whether the recorder had ended a file before the time that counts."""
        later = [
            other.begin_ns
            for other in self.parts
            if other.rolled and other.log == part.log and other.begin_ns > part.begin_ns
        ]
        return part.rolled and min(later, default=self.from_ns + 1) <= self.from_ns


async def open_report_sources(
    arguments: argparse.Namespace, stack: AsyncExitStack
) -> ReportSources:
    """Open what a report was asked to read.

    Raises:
        InputError: there is no log, or the recordings are of several clusters.
    """
    given = arguments.recording
    if given is not None and given.startswith(BUCKET):
        fetched = Path(stack.enter_context(TemporaryDirectory(prefix="foresail-report-")))
        await _download(given, fetched, arguments.since)
        return ReportSources(_parts_of(fetched, given), arguments.partial)
    folder = None if given is None else Path(given)
    if folder is None or not folder.is_dir():
        if given is None:
            return await _log_with_days(arguments, stack)
        opened = open_source(given, Path(arguments.state), remote_of(arguments))
        source = await stack.enter_async_context(opened)
        return ReportSources([ReportPart(source)], arguments.partial)
    return ReportSources(_parts_of(folder, given), arguments.partial)


async def _log_with_days(arguments: argparse.Namespace, stack: AsyncExitStack) -> ReportSources:
    """Open the log of a stack, and read its sums of days where it has any."""
    from bus.nats_adapter import NatsBus  # noqa: PLC0415 - a recording is read without NATS

    state = StateFolder(Path(arguments.state))
    file = remote_of(arguments) or state.read()
    url, login = await stack.enter_async_context(reached(file, state))
    bus = await NatsBus.connect(url, cluster=file.cluster, stream=file.stream, login=login)
    stack.push_async_callback(bus.close)
    now_ns = SystemClock().wall_ns()
    source = LogSource(bus, file.cluster, running=file.running, now_ns=now_ns)
    name, cluster = StreamDeclaration.of_days(file.cluster).name, days_cluster(file.cluster)
    days: list[RollupDay] = []
    with suppress(StreamMissing, JetStreamMissing):  # nothing sums them up there
        days_bus = await NatsBus.connect(url, cluster=cluster, stream=name, login=login)
        stack.push_async_callback(days_bus.close)
        days = await stored_days(days_bus, file.cluster)
    return ReportSources(
        [ReportPart(source)],
        arguments.partial,
        days=tuple(days),
        incarnation=file.incarnation,
    )


async def _download(address: str, folder: Path, since_seconds: float | None) -> None:
    """Fetch the recordings of a bucket that may reach into the time asked for."""
    bucket = Bucket(address, endpoint=os.environ.get("AWS_ENDPOINT_URL"))
    try:
        names = list(await bucket.sizes())
        for name in needed(names, since_seconds):
            await bucket.download(name, folder / name)
    except BucketUnavailable as error:
        remedy = f"see that it can be read ({error})"
        raise InputError("--recording", address, remedy) from error


def needed(names: Sequence[str], since_seconds: float | None) -> list[str]:
    """Return the names of the recordings that may hold events of the last `since_seconds` of all."""
    read = {name: found for name in names if (found := read_name(name)) is not None}
    if since_seconds is None or not read:
        return sorted(read)
    by_log: dict[tuple[str, str], list[tuple[RecordingName, str]]] = defaultdict(list)
    for name, found in read.items():
        by_log[found.cluster, found.incarnation].append((found, name))
    begin = max(found.begin_seconds for found in read.values()) - since_seconds
    wanted = []
    for ordered in map(sorted, by_log.values()):
        for place, (_, name) in enumerate(ordered):
            following = ordered[place + 1 :]
            if not following or following[0][0].begin_seconds > begin:
                wanted.append(name)
    return sorted(wanted)


def _parts_of(folder: Path, given: str) -> list[ReportPart]:
    files = list(folder.glob("*.fslog"))
    if not files:
        raise InputError("--recording", given, "it holds no *.fslog; give a folder of recordings")
    parts = sorted(map(_part_of, files), key=lambda part: (part.log, part.begin_ns))
    clusters = sorted({part.source.cluster for part in parts})
    if len(clusters) > 1:
        why = f"recordings of several clusters ({', '.join(clusters)}); give a folder for each"
        raise InputError("--recording", given, why)
    return parts


def _part_of(file: Path) -> ReportPart:
    """Return the part of a log that a recording is: each start of a stack has a log of its own, whose positions begin
    anew.
    """
    recording = open_recording(file)
    cut = recording.header.get("cut")
    cut_seq = cut.get("first_seq") if isinstance(cut, Mapping) else None
    name = read_name(file.name)
    own_seq = cut_seq if isinstance(cut_seq, int) else 1
    if name is not None:
        own_seq = name.first_seq
    own = next((message for message in recording if message.seq >= own_seq), None)
    return ReportPart(
        RecordingSource(file),
        str(recording.header.get("incarnation", "")),
        0 if own is None else own.time_ns,
        rolled=name is not None,
    )
