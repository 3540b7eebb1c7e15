"""The recording shell: follow the log, roll from one recording to the next, copy what is sealed, remove what is old.

Where to go on is read from the files themselves, so nothing is lost or doubled by a kill: the log holds what they do
not. What cannot be written waits there; a full disk, an unwritable folder and a bucket that does not answer are said
once, in `status` and as `run.error`, until they are over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing, suppress

import structlog

from bus.cancellation import cancel_and_wait, finish_undisturbed
from bus.clock import Clock
from bus.errors import ConfigError, Temporary
from bus.events import event_of
from bus.follow import Publisher
from bus.handler_process import config_of
from bus.port import Bus, LogInfo, StoredMessage
from bus.process import Progress
from bus.recording.log_part import LogPart, finder_before, first_since, part_from
from bus.recording.start_point import StartFinder
from projections.times import wall_time
from schemas import subjects
from schemas.config import CODE_VERSION
from schemas.envelope import NewEvent
from schemas.identity import Origin
from schemas.run import RunError
from schemas.wording import count_text
from services.identities import STATEFUL
from services.recorder.bucket import Bucket, BucketUnavailable
from services.recorder.retention import to_remove
from services.recorder.rolling import RecordingFolder
from services.recorder.settings import RecorderSettings

NAME = "recorder"
TICK_SECONDS = 1.0
QUIET_SECONDS = 5.0
"""Without a message for so long, a recording whose time is over is sealed by the machine's clock."""
LAST_SECONDS, UPLOAD_SECONDS = 4.0, 2.0
"""How long the end of the log may be waited for when told to stop, and then the bucket; a keeper waits for 8 s."""
SAY_SECONDS = 5.0
"""How long publishing that something is wrong may take: the log may be what is wrong."""
FIRST_RETRY_SECONDS = 1.0


async def run(
    settings: RecorderSettings,
    bus: Bus,
    clock: Clock,
    origin: Origin,
    *,
    progress: Progress,
    code_version: str = CODE_VERSION,
) -> None:
    """Record until cancelled, then to the end of the log.

    Raises:
        ConfigError: no folder is named, or the bucket's library is missing.
    """
    if settings.folder is None:
        raise ConfigError("recorder.folder", "(unset)", "name the folder of the recordings")
    recorder = Recorder(settings, bus, clock, origin, progress, code_version)
    following = asyncio.create_task(recorder.follow(), name="recorder-follow")
    helping = [asyncio.create_task(recorder.tick(), name="recorder-tick")]
    if settings.bucket is not None:
        helping.append(asyncio.create_task(recorder.upload(), name="recorder-upload"))
    try:
        await asyncio.wait({following, *helping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await finish_undisturbed(_end(recorder, following, *helping))
    for task in (following, *helping):
        if not task.cancelled():
            task.result()


async def _end(recorder: Recorder, *tasks: asyncio.Task[None]) -> None:
    """End the tasks, and then what they did; a process that is told to stop cancels whoever waits for them."""
    await cancel_and_wait(*tasks)
    await recorder.finish()


class Recorder:
    """One log into one folder, and from there into one bucket."""

    def __init__(
        self,
        settings: RecorderSettings,
        bus: Bus,
        clock: Clock,
        origin: Origin,
        progress: Progress,
        code_version: str = CODE_VERSION,
    ) -> None:
        """Record the log of `origin`; `progress` shows how far it is and what is wrong.

        Raises:
            ConfigError: the bucket's library is missing.
        """
        self._settings = settings
        self._bus = bus
        self._clock = clock
        self._origin = origin
        self._progress = progress
        self._publisher = Publisher(bus, origin, NAME)
        self._code_version = code_version
        self._log = structlog.get_logger(NAME)
        self._everything = [subjects.pattern(origin.cluster, (">",))]
        self._folder = RecordingFolder(settings, origin)
        self._bucket = (
            None
            if settings.bucket is None
            else Bucket(
                settings.bucket, endpoint=settings.bucket_endpoint, region=settings.bucket_region
            )
        )
        self._stored: frozenset[str] | None = None
        """What the bucket holds; None before it was asked."""
        self._finder: StartFinder | None = None
        self._opening = asyncio.Lock()
        self._taken_at = clock.monotonic()
        self._troubles: dict[str, str] = {}
        self._lost_from = 0
        self._next_seq = 1
        self.waiting_uploads = 0

    async def follow(self) -> None:
        """Record what is stored, then what comes, until cancelled; wait out a disk that is full."""
        await self._announce()
        while True:
            try:
                await self._record()
            except OSError as error:
                self._folder.abandon()
                self._progress("catching_up", self._progress.seq)
                await self._trouble("disk", self._disk_text(error))
                await self._clock.sleep(self._settings.retry_seconds)

    async def _announce(self) -> None:
        settings = self._settings.model_dump(
            mode="json", include={"roll_seconds", "max_age_seconds", "max_bytes"}
        )
        config = config_of(NAME, settings, self._code_version)
        await self._publisher.publish_config(config, self._clock.wall_ns() / 1e9)

    async def _record(self) -> None:
        start_seq = await self._resume()
        self._progress("catching_up", start_seq - 1)
        tail = (await self._bus.info()).last_seq
        async with aclosing(self._bus.read(self._everything, start_seq=start_seq)) as messages:
            if tail < start_seq:
                self._progress("live", start_seq - 1)
            async for message in messages:
                await self._take(message)
                self._progress("live" if message.seq >= tail else "catching_up", message.seq)

    async def _resume(self) -> int:
        """Take the folder up; return the position to go on at."""
        last = self._folder.resume()
        info = await self._bus.info()
        start_seq = info.first_seq if last is None else await self._after(last, info)
        self._lost_from = 0
        if last is not None and info.first_seq > 1 and last.seq + 1 < info.first_seq == start_seq:
            self._lost_from = last.seq + 1
            count = count_text(start_seq - self._lost_from, "event is", "events are")
            text = f"{count} lost to the recordings: the log gave up seq {self._lost_from} to {start_seq - 1}"
            self._log.error(text)
            await self._publish_error(text)
        if self._lost_from or start_seq <= self._folder.last_seq:
            self._seal()
        self._finder = await finder_before(
            self._bus,
            self._origin.cluster,
            self._everything,
            start_seq,
            info.first_seq,
            stateful=STATEFUL,
        )
        self._next_seq = start_seq
        self._log.info("records on", seq=start_seq, folder=str(self._folder.path))
        return start_seq

    async def _after(self, last: StoredMessage, info: LogInfo) -> int:
        """Return the position behind the last recorded message, by time where the log is another one of the same name,
        or has lost its end.
        """
        if last.seq < info.first_seq and info.first_seq > 1:
            return info.first_seq
        stored = self._bus.history(self._everything, start_seq=last.seq, end_seq=last.seq)
        async with aclosing(stored) as messages:
            async for message in messages:
                if message.time_ns == last.time_ns:
                    return last.seq + 1
        self._log.warning("the log is not the one that was recorded", recorded_seq=last.seq)
        return await first_since(self._bus, self._origin.cluster, info, time_ns=last.time_ns + 1)

    async def _take(self, message: StoredMessage) -> None:
        assert self._finder is not None
        async with self._opening:
            if not self._folder.covers(message):
                self._seal()
                await self._open(message)
            self._folder.write(message)
            self._finder.add(message)
            self._next_seq = message.seq + 1
            self._taken_at = self._clock.monotonic()

    async def _open(self, message: StoredMessage) -> None:
        """Begin a recording with what its first message needs of the log before it."""
        assert self._finder is not None
        part = part_from(self._finder, message.seq)
        if self._lost_from or message.seq == 1:
            part = LogPart(message.seq, message.seq, message.seq == 1, message.seq == 1)
        more = {"lost_from_seq": self._lost_from} if self._lost_from else {}
        self._folder.open(message, part, more)
        try:
            await self._copy(part.first_seq, message.seq - 1)
        except BaseException:
            self._folder.discard()
            raise
        self._lost_from = 0

    async def _copy(self, first_seq: int, last_seq: int) -> None:
        """Write what the log holds of these positions in front."""
        if first_seq > last_seq:
            return
        stored = self._bus.history(self._everything, start_seq=first_seq, end_seq=last_seq)
        async with aclosing(stored) as before:
            async for one in before:
                self._folder.write(one)

    def _seal(self) -> None:
        name = self._folder.seal()
        if name:
            self._log.info("sealed", recording=name)

    async def tick(self) -> None:
        """Hand over what was written, seal what is over, remove what is old, again and again."""
        while True:
            await self._clock.sleep(TICK_SECONDS)
            try:
                async with self._opening:
                    self._folder.flush()
                    if self._folder.is_open and self._progress.state == "live":
                        self._over("disk")
                    quiet = self._clock.monotonic() - self._taken_at > QUIET_SECONDS
                    if quiet and self._folder.is_over(self._clock.wall_ns()):
                        self._seal()
                await self._remove_old()
            except OSError as error:
                if self._folder.is_open:
                    self._folder.abandon()
                    await self._trouble("disk", self._disk_text(error))

    async def _remove_old(self) -> None:
        if not self._folder.path.is_dir():
            return
        safe = None if self._bucket is None else self._stored or frozenset()
        removals = to_remove(
            self._folder.sealed(safe),
            now_seconds=self._clock.wall_ns() / 1e9,
            max_age_seconds=self._settings.max_age_seconds,
            max_bytes=self._settings.max_bytes,
        )
        for file, reason in removals:
            (self._folder.path / file.name).unlink(missing_ok=True)
            if file.safe:
                self._log.info("removed", recording=file.name, reason=reason)
                continue
            text = f"{file.name} was removed before it was uploaded: the folder is over recorder.max_bytes"
            self._log.error(text)
            await self._publish_error(text)

    async def upload(self) -> None:
        """Copy sealed recordings into the bucket until cancelled; try again what fails, longer apart each time."""
        pause = FIRST_RETRY_SECONDS
        while True:
            try:
                await self._upload_waiting()
            except (BucketUnavailable, OSError) as error:
                files = count_text(self.waiting_uploads, "recording waits", "recordings wait")
                await self._trouble("upload", f"{files} to be uploaded: {error}")
                await self._clock.sleep(pause)
                pause = min(2 * pause, self._settings.retry_seconds)
            else:
                self._over("upload")
                pause = FIRST_RETRY_SECONDS
                await self._clock.sleep(TICK_SECONDS)

    async def _upload_waiting(self) -> None:
        assert self._bucket is not None
        files = self._folder.sealed(self._stored or frozenset())
        waiting = [file for file in files if not file.safe]
        self.waiting_uploads = len(waiting)
        if self._stored is None:
            sizes = await self._bucket.sizes()
            self._stored = frozenset(
                file.name for file in files if sizes.get(file.name) == file.bytes
            )
            waiting = [file for file in waiting if file.name not in self._stored]
        for file in waiting:
            path = self._folder.path / file.name
            if path.exists():  # not removed meanwhile
                await self._bucket.upload(path)
                self._log.info("uploaded", recording=file.name, bytes=file.bytes)
            self._stored |= {file.name}
            self.waiting_uploads -= 1

    async def finish(self) -> None:
        """Record what is stored by now and seal the recording; what fails is left to the next start."""
        if self._finder is not None and "disk" not in self._troubles:
            with suppress(TimeoutError, OSError, Temporary):
                async with asyncio.timeout(LAST_SECONDS):
                    await self._record_rest()
        with suppress(OSError):
            self._seal()
        if self._bucket is not None:
            with suppress(TimeoutError, OSError, Temporary):
                async with asyncio.timeout(UPLOAD_SECONDS):
                    await self._upload_waiting()

    async def _record_rest(self) -> None:
        rest = self._bus.history(self._everything, start_seq=self._next_seq)
        async with aclosing(rest) as messages:
            async for message in messages:
                await self._take(message)

    def _disk_text(self, error: OSError) -> str:
        since = wall_time(self._clock.wall_ns() / 1e9)
        return (
            f"nothing is recorded since {since}: {error.strerror or error}; events wait in the log"
        )

    async def _trouble(self, what: str, text: str) -> None:
        """Say once that something is wrong, and keep it in view until `_over`."""
        known = what in self._troubles
        self._troubles.setdefault(what, text)
        self._show_troubles()
        if not known:
            self._log.error(text)
            await self._publish_error(text)

    def _over(self, what: str) -> None:
        if self._troubles.pop(what, None) is not None:
            self._log.info("is well again", what=what)
            self._show_troubles()

    def _show_troubles(self) -> None:
        texts: Sequence[str] = [self._troubles[name] for name in sorted(self._troubles)]
        self._progress.trouble = "; ".join(texts)

    async def _publish_error(self, text: str) -> None:
        """Publish what an operator should see; a log that takes nothing is no reason to stop."""
        with suppress(TimeoutError, Temporary):
            async with asyncio.timeout(SAY_SECONDS):
                run_id = self._origin.incarnation
                subject = subjects.build(self._origin.cluster, ("run", "error", NAME))
                newest = await self._bus.last(subject)
                number = 0 if newest is None else event_of(newest).data.sequence + 1
                data = RunError(run_id=run_id, process=NAME, sequence=number, text=text)
                now = self._clock.wall_ns() / 1e9
                await self._publisher.publish([NewEvent(data, 0, now)])
