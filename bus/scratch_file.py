"""Bytes that would be too many in memory: a file that nobody else sees and that goes with its object."""

from __future__ import annotations

import errno
import os
import tempfile
import weakref


class ScratchFile:
    """Bytes in a file without a name, in the folder for temporary files; written at its end, read anywhere.

    Not for several threads.

    Raises:
        OSError: there is no folder that can be written to.
    """

    def __init__(self) -> None:
        self.size_bytes = 0
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed with its object
        weakref.finalize(self, self._file.close)

    def append(self, content: bytes) -> None:
        """Write behind what is there.

        Raises:
            OSError: the disk has no room for it; the file is as before.
        """
        if os.pwrite(self._file.fileno(), content, self.size_bytes) < len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.size_bytes += len(content)

    def read(self, offset: int, size: int) -> bytes:
        """Return so many bytes from an offset on, fewer where the file ends before."""
        return os.pread(self._file.fileno(), size, offset)
