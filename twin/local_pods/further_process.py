"""A command that a client runs in a container that is there: `exec`, with or without a terminal."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import struct
import termios
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from twin.local_pods.limits import ProcessLimits, apply_limits, kill_session
from twin.local_pods.process import ContainerProcess, find_program

STDOUT, STDERR = 1, 2
_PIECE = 16 << 10
_SCREEN = (24, 80)


class FurtherProcess:
    """One command; `start` it, read `outputs` to their end, then `wait`."""

    def __init__(
        self, container: ContainerProcess, limits: ProcessLimits, environment: Mapping[str, str]
    ) -> None:
        """Run it in `container`, within its limits; `environment` goes before its own variables."""
        self._container = container
        self._limits = limits
        self._environment = environment
        self._process: asyncio.subprocess.Process | None = None
        self._terminal: int | None = None
        self._outlets: dict[int, int] = {}
        self._pieces: asyncio.Queue[tuple[int, bytes] | None] = asyncio.Queue(64)
        self._readers: list[asyncio.Task[None]] = []

    async def start(self, words: Sequence[str], *, stdin: bool, tty: bool) -> None:
        """Start a program of the local installation.

        Raises:
            CannotStart: it is not one.
        """
        program = str(find_program(words[0]))
        given = await self._open(stdin=stdin, tty=tty)
        bind = partial(apply_limits, os.getpid(), self._limits, self._container.launch.disk_bytes)
        try:
            self._process = await asyncio.create_subprocess_exec(
                program,
                *words[1:],
                cwd=self._container.folder,
                env=self._container.exec_environment(self._environment),
                stdin=given[0],
                stdout=given[1],
                stderr=given[2],
                start_new_session=True,
                preexec_fn=partial(_with_terminal, bind, given[0]) if tty else bind,
            )
        finally:
            for inlet in {one for one in given if one >= 0}:
                os.close(inlet)
        self._container.client_sessions.add(self._process.pid)
        for channel, outlet in self._outlets.items():
            self._readers.append(asyncio.create_task(self._read(channel, outlet)))

    async def _open(self, *, stdin: bool, tty: bool) -> tuple[int, int, int]:
        """Return what the process gets as its three files."""
        if tty:
            self._terminal, inside = pty.openpty()
            self.resize(*_SCREEN[::-1])
            self._outlets = {STDOUT: os.dup(self._terminal)}
            return inside, inside, inside
        inlets = []
        for channel in (STDOUT, STDERR):
            self._outlets[channel], inlet = os.pipe()
            inlets.append(inlet)
        given = asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL
        return given, inlets[0], inlets[1]

    async def outputs(self) -> AsyncIterator[tuple[int, bytes]]:
        """Yield what it prints, by channel, until it has ended."""
        assert self._process is not None, "not started"
        ending = asyncio.create_task(self._end_reading(self._process))
        try:
            while (piece := await self._pieces.get()) is not None:
                yield piece
        finally:
            ending.cancel()

    async def wait(self) -> int:
        """Wait until it ends; return its exit code."""
        assert self._process is not None, "not started"
        code = await self._process.wait()
        return code if code >= 0 else 128 - code

    async def write(self, data: bytes) -> None:
        """Give it input; what it takes no more is dropped."""
        assert self._process is not None, "not started"
        with suppress(OSError):
            if self._terminal is not None:
                os.write(self._terminal, data)
            elif self._process.stdin is not None:
                self._process.stdin.write(data)
                await self._process.stdin.drain()

    def end_input(self) -> None:
        """Close its input."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    def resize(self, columns: int, rows: int) -> None:
        """Tell its terminal how large the client's is."""
        if self._terminal is not None:
            fcntl.ioctl(
                self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0)
            )

    def close(self) -> None:
        """Kill what is left of it and free what it held."""
        for task in self._readers:
            task.cancel()
        if self._process is not None:
            kill_session(self._process.pid)
            self._container.client_sessions.discard(self._process.pid)
        if self._terminal is not None:
            os.close(self._terminal)
            self._terminal = None

    async def _end_reading(self, process: asyncio.subprocess.Process) -> None:
        await process.wait()
        kill_session(process.pid)  # what it has left keeps its output open
        await asyncio.gather(*self._readers, return_exceptions=True)
        await self._pieces.put(None)

    async def _read(self, channel: int, outlet: int) -> None:
        reader, loop = asyncio.StreamReader(), asyncio.get_running_loop()
        file = os.fdopen(outlet, "rb", buffering=0)
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), file
        )
        try:
            with suppress(OSError):  # a terminal whose other side is closed says so by an error
                while data := await reader.read(_PIECE):
                    await self._pieces.put((channel, data))
        finally:
            transport.close()


def _with_terminal(bind: Callable[[], None], terminal: int) -> None:
    """In the child: make a terminal that of its session.

    uvloop calls this before the child has its three files, and perhaps before its session.
    """
    bind()
    if os.getsid(0) != os.getpid():
        os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
