"""One container as a session of processes: started, watched, ended."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from twin.local_pods.command import CannotStart, Launch
from twin.local_pods.limits import ProcessLimits, apply_limits, kill_session
from twin.local_pods.log_file import LONGEST_LINE, LogFile

KILLED = 128 + signal.SIGKILL
MESSAGE_BYTES = 4_096
"""Of a termination message; a kubelet reads as many."""
_TAIL_BYTES, _TAIL_LINES = 2_048, 80
"""Of the log, where that is the termination message."""
_LAST_LINES_SECONDS = 5.0
"""Wall seconds that the log has to be read to its end when all processes are dead."""
START_ERROR = 128
"""Exit code of a container that could not be started, as containerd gives it."""


@dataclass(frozen=True, slots=True)
class ContainerExit:
    """How a container's run ended."""

    code: int
    reason: str
    message: str = ""


class ContainerProcess:
    """One run of one container, in a folder of its own."""

    def __init__(
        self,
        launch: Launch,
        folder: Path,
        log: LogFile,
        limits: ProcessLimits,
        now: Callable[[], float],
    ) -> None:
        """Run `launch` in `folder`; `now` is cluster time, for the log's lines."""
        self.launch = launch
        self.folder = folder
        self.log = log
        self._limits = limits
        self._now = now
        self._process: asyncio.subprocess.Process | None = None
        self._killed_because: ContainerExit | None = None

    @property
    def session(self) -> int:
        """The id of its session; 0 while nothing runs."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else 0

    @property
    def most_memory(self) -> int:
        """Resident bytes that its processes may hold together."""
        return self.launch.memory_bytes or self._limits.memory_bytes

    async def run(self, environment: Mapping[str, str]) -> ContainerExit:
        """Start it and wait for its end; `environment` goes before its own variables."""
        try:
            words = (str(find_program(self.launch.words[0])), *self.launch.words[1:])
            self._prepare()
        except CannotStart as error:
            return ContainerExit(START_ERROR, "StartError", str(error))
        except OSError as error:
            return ContainerExit(
                START_ERROR, "StartError", f"its files cannot be written: {error.strerror}"
            )
        outlet, inlet = os.pipe()
        try:
            self._process = process = await asyncio.create_subprocess_exec(
                *words,
                cwd=self.folder / (self.launch.working_folder or "."),
                env={**environment, **self._own_variables(), **self.launch.environment},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=inlet,
                stderr=inlet,
                start_new_session=True,
                preexec_fn=partial(apply_limits, os.getpid(), self._limits, self.launch.disk_bytes),
            )
        except (OSError, ValueError) as error:
            os.close(outlet)
            return ContainerExit(START_ERROR, "StartError", f"exec: {words[0]}: {error}")
        finally:
            os.close(inlet)
        session = process.pid
        reading = asyncio.create_task(self._read(outlet))
        try:
            return await self._wait(process)
        finally:
            kill_session(session)  # whatever its first process has left
            with suppress(TimeoutError):
                await asyncio.wait_for(reading, _LAST_LINES_SECONDS)

    async def _wait(self, process: asyncio.subprocess.Process) -> ContainerExit:
        try:
            code = await asyncio.wait_for(process.wait(), self._limits.seconds)
        except TimeoutError:
            text = f"killed after {self._limits.seconds:g} seconds, the most that a command may run"
            self.kill(ContainerExit(KILLED, "Error", text))
            code = await process.wait()
        if self._killed_because is not None:
            return self._killed_because
        code = code if code >= 0 else 128 - code
        return ContainerExit(code, "Error" if code else "Completed", self._message(code))

    def terminate(self) -> None:
        """Ask it to end, as a kubelet does before the grace period."""
        if self.session:
            with suppress(ProcessLookupError):
                os.killpg(self.session, signal.SIGTERM)

    def kill(self, because: ContainerExit | None = None) -> None:
        """Kill all of it; `because` is then how it ended."""
        if self.session:
            self._killed_because = because
            kill_session(self.session)

    def _own_variables(self) -> dict[str, str]:
        return {
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder / "tmp"),
            "FORESAIL_ROOT": str(self.folder),
            "FORESAIL_TERMINATION_LOG": str(self.folder / self.launch.message_path),
        }

    def _prepare(self) -> None:
        """Make the container's folder and files."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in self.launch.folders:
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        for name, volume in self.launch.links.items():
            shared = self.folder.parent.parent / "volumes" / volume
            shared.mkdir(parents=True, exist_ok=True)
            link = self.folder / name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(shared)
        if not (self.folder / "tmp").exists():  # it may be a volume
            (self.folder / "tmp").mkdir()
        for name, content in self.launch.files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        message = self.folder / self.launch.message_path
        message.parent.mkdir(parents=True, exist_ok=True)
        message.write_bytes(b"")

    def _message(self, code: int) -> str:
        try:
            with (self.folder / self.launch.message_path).open("rb") as file:
                text = file.read(MESSAGE_BYTES).decode(errors="replace")
        except OSError:
            text = ""
        if not text and code and self.launch.falls_back_to_log:
            return self.log.tail(_TAIL_BYTES, _TAIL_LINES)
        return text

    async def _read(self, outlet: int) -> None:
        """Write all that is printed into the log.

        From a pipe of our own: asyncio holds the end of a process back while any child of it has one of
        asyncio's pipes open.
        """
        reader, loop = asyncio.StreamReader(), asyncio.get_running_loop()
        file = os.fdopen(outlet, "rb", buffering=0)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await loop.connect_read_pipe(lambda: protocol, file)
        rest = b""
        try:
            while data := await reader.read(LONGEST_LINE):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self.log.write(self._now(), line)
                if len(rest) >= LONGEST_LINE:
                    self.log.write(self._now(), rest)
                    rest = b""
            if rest:
                self.log.write(self._now(), rest)
        finally:
            transport.close()


def find_program(name: str) -> Path:
    """Return a program of the local installation: what the image has, and all that may run.

    Raises:
        CannotStart: it is not one; so there is no shell either.
    """
    folder = installation()
    path = Path(name)
    if "/" not in name:
        path = folder / name
        missing = f'exec: "{name}": executable file not found in $PATH'
    else:
        missing = f'exec: "{name}": stat {name}: no such file or directory'
    if path.parent != folder or not path.is_file() or not os.access(path, os.X_OK):
        raise CannotStart(f"failed to create containerd task: {missing}")
    return path


def installation() -> Path:
    """Return the folder of the programs of the local installation."""
    return Path(sys.executable).parent
