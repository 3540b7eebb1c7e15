"""The twin and programs beside it, as processes of this machine."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import yaml

from proofs.real_programs.requests import Api, patience

ASSETS = "KUBEBUILDER_ASSETS"
"""Folder of programs and of what is installed with them."""
END_SECONDS = 900.0


class Missing(Exception):
    """A program, or a file that it needs, is not on this machine."""


def program(name: str) -> Path:
    """Return where a program is; raises Missing."""
    assets = os.environ.get(ASSETS, "")
    found = (shutil.which(name, path=assets) if assets else None) or shutil.which(name)
    if found is None:
        raise Missing(f"{name} is neither on PATH nor in {ASSETS}")
    return Path(found)


def beside(name: str, file: str) -> Path:
    """Return a file that lies in the folder of a program; raises Missing."""
    path = program(name).parent / file
    if not path.is_file():
        raise Missing(f"{file} is not beside {name}")
    return path


def lease_flags() -> list[str]:
    """Return flags by which a program of Kubernetes leads as long as a busy machine needs to renew its Lease."""
    return [
        f"--leader-elect-lease-duration={15 * patience():g}s",
        f"--leader-elect-renew-deadline={10 * patience():g}s",
    ]


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


class Twin:
    """A twin whose Roles and bindings count, at speed 1, as a process that can be started again."""

    def __init__(self, folder: Path, flags: Sequence[str]) -> None:
        """Start it and wait until it answers; with `--port` and `--journal` among its flags it can be restarted."""
        self._command = [sys.executable, "-m", "twin", "--workload", "idle"]
        self._command += ["--authorization", "rbac", "--metrics-scrape-seconds", "0"]
        self._command += ["--kubeconfig-dir", str(folder), *flags]
        self._log = folder / "twin.log"
        self._process = self._start()
        self.api = Api(self._kubeconfig)

    def _start(self) -> subprocess.Popen[str]:
        with self._log.open("ab") as log:
            twin = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert twin.stdout is not None
        self._kubeconfig = Path(json.loads(twin.stdout.readline())["admin_kubeconfig"])
        return twin

    def restart(self) -> None:
        """Kill it as a machine that fails, and start it again from its journal."""
        self._process.kill()
        self.end()
        self._process = self._start()

    def end(self) -> None:
        """Stop it."""
        _end(self._process)


@contextmanager
def running_twin(folder: Path, *flags: str) -> Iterator[Api]:
    """Start a twin; yield its administrator."""
    twin = Twin(folder, flags)
    try:
        yield twin.api
    finally:
        twin.end()


Command = tuple[Sequence[str], Mapping[str, str]]
"""A command line and what its environment has besides ours."""


class Supervised:
    """A program that is started again whenever it ends, can be killed, and have a second one beside it."""

    def __init__(
        self, make: Callable[[], Command], log: Path, turn: Callable[[], None] | None = None
    ) -> None:
        """Start what `make` says, which is asked at each start; all output goes to `log`.

        `turn` leads clients to the newest one when an older one is gone.
        """
        self._make, self._log, self._turn = make, log, turn
        self.deaths = 0
        """How often it ended by itself, and was started again as by a kubelet."""
        self._ended = threading.Event()
        self._changing = threading.Lock()
        self.process = self._start()
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self._keeper.start()

    def _keep(self) -> None:
        while not self._ended.wait(1.0):
            with self._changing:
                if self.process.poll() is not None and not self._ended.is_set():
                    self.deaths += 1
                    self.process = self._start()
                    self._turn_clients()

    def _start(self) -> subprocess.Popen[bytes]:
        command, environment = self._make()
        with self._log.open("ab") as file:
            own = {**os.environ, **environment}
            return subprocess.Popen(command, stdout=file, stderr=file, env=own)

    def restart(self) -> None:
        """Kill it as a machine that fails, and start it again."""
        with self._changing:
            self._kill()
            self.process = self._start()
            self._turn_clients()

    def _kill(self) -> None:
        """End it at once: it gives nothing back."""
        self.process.kill()
        _end(self.process)

    def replace(self, wait: Callable[[], object]) -> None:
        """Start a second one beside it, wait for something, and kill the first."""
        second = self._start()
        try:
            wait()
        except BaseException:
            _end(second)
            raise
        with self._changing:
            self._kill()
            self.process = second
            self._turn_clients()

    def _turn_clients(self) -> None:
        if self._turn is not None:
            self._turn()

    def end(self) -> None:
        """Tell it to end."""
        self._ended.set()
        with self._changing:
            _end(self.process)
        self._keeper.join()


@contextmanager
def running(
    command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[Supervised]:
    """Run a program, its output in `log`, until the block ends."""
    with supervised(lambda: (command, environment or {}), log) as program:
        yield program


@contextmanager
def supervised(
    make: Callable[[], Command], log: Path, turn: Callable[[], None] | None = None
) -> Iterator[Supervised]:
    """Run a program whose command line is made anew at each start, until the block ends."""
    one = Supervised(make, log, turn)
    try:
        yield one
    finally:
        one.end()


def account_kubeconfig(api: Api, namespace: str, account: str, path: Path) -> Path:
    """Write a kubeconfig with a token of a service account, whose rights are those of its bindings."""
    wanted = {"spec": {"expirationSeconds": 24 * 3_600}}
    where = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    token = api.ask("POST", where, wanted)["status"]["token"]
    content = yaml.safe_load(api.kubeconfig.read_text(encoding="utf-8"))
    content["users"][0]["user"] = {"token": token}
    path.touch(0o600)
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def _end(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(END_SECONDS)
    if process.poll() is None:
        process.kill()
        process.wait(END_SECONDS)
    if process.stdout is not None:
        process.stdout.close()
