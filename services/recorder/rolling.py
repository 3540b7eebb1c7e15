"""The folder of recordings: one that is open, the sealed ones before it, and where to go on after a kill."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bus.errors import RecordingDamaged
from bus.port import StoredMessage
from bus.recording import RecordingWriter, open_recording
from bus.recording.footer import stated_last_seq
from bus.recording.log_part import LogPart
from schemas.config import CODE_VERSION
from schemas.identity import Origin
from services.recorder.names import ENDING, NANOSECONDS, OPEN, RecordingName, read_name
from services.recorder.retention import KeptFile
from services.recorder.settings import RecorderSettings


class RecordingFolder:
    """The recordings of one cluster; one recorder writes there."""

    def __init__(self, settings: RecorderSettings, origin: Origin) -> None:
        """Write into `settings.folder`; nothing is touched yet."""
        assert settings.folder is not None
        self.path = Path(settings.folder)
        self._settings = settings
        self._origin = origin
        self._roll_ns = round(settings.roll_seconds * NANOSECONDS)
        self._writer: RecordingWriter | None = None
        self._open_name = ""
        self._span = 0
        """Which multiple of `roll_seconds` the open recording covers."""
        self._first_seq = 0
        """The first position of that time; before it stands what a re-run of it needs."""

    @property
    def is_open(self) -> bool:
        """Whether a recording is being written."""
        return self._writer is not None

    @property
    def last_seq(self) -> int:
        """Position of the last message in the open recording; 0 when none is open."""
        return 0 if self._writer is None else self._writer.last_seq

    def resume(self) -> StoredMessage | None:
        """Take the folder up where a recorder left it; return the last recorded message of this log, None for none.

        What a killed recorder left open is gone on with; of other starts of the stack it is sealed.

        Raises:
            OSError: the folder cannot be read or written.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        own: list[tuple[RecordingName, Path]] = []
        for file in sorted(self.path.iterdir()):
            name = read_name(file.name.removesuffix(OPEN))
            if name is None or name.cluster != self._origin.cluster:
                continue
            kept = self._take_up(file, name) if file.name.endswith(OPEN) else file
            if kept is not None and name.incarnation == self._origin.incarnation:
                own.append((name, kept))
        newest = max(own, key=lambda one: (one[0].begin_seconds, one[0].first_seq), default=None)
        if newest is None:
            return None
        if self._writer is not None and newest[1].name != self._open_name:
            self.seal()
        return last_message(newest[1])

    def _take_up(self, file: Path, name: RecordingName) -> Path | None:
        """Go on with an unsealed file, or seal it; return it under the name that it has now."""
        if stated_last_seq(file) is not None:  # killed between sealing and giving it its name
            return _give_name(file)
        try:
            writer = RecordingWriter.reopen(file)
        except RecordingDamaged:  # killed before its first frame was whole
            file.unlink()
            return None
        if writer.last_seq < name.first_seq:  # it has no more than what stands in front
            writer.abandon()
            file.unlink()
            return None
        if name.incarnation == self._origin.incarnation and self._writer is None:
            self._writer, self._open_name = writer, file.name
            self._span = name.begin_seconds * NANOSECONDS // self._roll_ns
            self._first_seq = name.first_seq
            return file
        writer.seal()
        return _give_name(file)

    def covers(self, message: StoredMessage) -> bool:
        """Say whether a message belongs into the open recording: by its time, or since that needs it in front."""
        if self._writer is None:
            return False
        return message.seq < self._first_seq or message.time_ns // self._roll_ns == self._span

    def is_over(self, wall_ns: int) -> bool:
        """Say whether the time of the open recording has passed."""
        return self._writer is not None and wall_ns // self._roll_ns > self._span

    def open(self, message: StoredMessage, part: LogPart, more: Mapping[str, Any]) -> None:
        """Begin the recording whose first own message this is; `part.heads` go in front.

        Raises:
            OSError: it cannot be written.
        """
        seconds = message.time_ns // NANOSECONDS
        origin = self._origin
        name = RecordingName(origin.cluster, origin.incarnation, seconds, message.seq).text() + OPEN
        header = {
            "cluster": origin.cluster,
            "incarnation": origin.incarnation,
            "code_version": CODE_VERSION,
            **({} if part.whole else {"cut": part.header_entry()}),
            **more,
        }
        self._check_room()
        self._writer = RecordingWriter(self.path / name, header)
        self._open_name = name
        self._span, self._first_seq = message.time_ns // self._roll_ns, message.seq
        for head in part.heads:
            self._writer.write(head)

    def write(self, message: StoredMessage) -> None:
        """Append a message to the open recording.

        Raises:
            OSError: it cannot be written.
        """
        assert self._writer is not None
        if message.seq > self._writer.last_seq:
            self._writer.write(message)

    def flush(self) -> None:
        """Hand what was written to the operating system, while there is room.

        Raises:
            OSError: there is none, or it cannot be written.
        """
        self._check_room()
        if self._writer is not None:
            self._writer.flush()

    def seal(self) -> str:
        """Seal the open recording and give it its name; return that, empty when none was open.

        Raises:
            OSError: it cannot be written.
        """
        if self._writer is None:
            return ""
        self._writer.seal()
        sealed = _give_name(self.path / self._open_name).name
        self._writer, self._open_name = None, ""
        folder = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return sealed

    def abandon(self) -> None:
        """Let the open file go after a write that failed; `resume` takes it up again."""
        if self._writer is not None:
            self._writer.abandon()
            self._writer, self._open_name = None, ""

    def discard(self) -> None:
        """Remove the open recording, which lacks something of what has to stand in front."""
        name = self._open_name
        self.abandon()
        if name:
            (self.path / name).unlink(missing_ok=True)

    def sealed(self, safe_names: frozenset[str] | None) -> list[KeptFile]:
        """Return the sealed recordings of this cluster, the oldest first.

        Args:
            safe_names: what is in the bucket; None where no bucket is wanted.
        """
        found = []
        for file in sorted(self.path.glob(f"*{ENDING}")):
            name = read_name(file.name)
            if name is None or name.cluster != self._origin.cluster:
                continue
            state = file.stat()
            safe = safe_names is None or file.name in safe_names
            found.append(
                KeptFile(file.name, name.begin_seconds, state.st_mtime, state.st_size, safe)
            )
        return sorted(found, key=lambda one: (one.begin_seconds, one.name))

    def _check_room(self) -> None:
        """Leave the disk some room: the log may lie there, too.

        Raises:
            OSError: less than `least_free_bytes` are free.
        """
        if shutil.disk_usage(self.path).free < self._settings.least_free_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))


def last_message(file: Path) -> StoredMessage | None:
    """Return the last whole message of a recording; None where there is none."""
    last = None
    for content in open_recording(file).whole_frames():
        if content.messages:
            last = content.messages[-1]
    return last


def _give_name(file: Path) -> Path:
    return file.rename(file.with_name(file.name.removesuffix(OPEN)))
