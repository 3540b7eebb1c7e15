"""The twin and programs beside it, as processes of this machine."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import yaml

from proofs.real_programs.requests import Api

ASSETS = "KUBEBUILDER_ASSETS"
"""Folder of programs and of what is installed with them."""
END_SECONDS = 30.0


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


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def running_twin(folder: Path, *flags: str) -> Iterator[Api]:
    """Start a twin whose Roles and bindings count, at speed 1; yield its administrator."""
    command = [sys.executable, "-m", "twin", "--workload", "idle", "--authorization", "rbac"]
    command += ["--kubeconfig-dir", str(folder), "--metrics-scrape-seconds", "0", *flags]
    with (folder / "twin.log").open("wb") as log:
        twin = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert twin.stdout is not None
        yield Api(Path(json.loads(twin.stdout.readline())["admin_kubeconfig"]))
    finally:
        _end(twin)


@contextmanager
def running(
    command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program, its output in `log`, until the block ends."""
    with log.open("ab") as file:
        own = {**os.environ, **(environment or {})}
        process = subprocess.Popen(command, stdout=file, stderr=file, env=own)
    try:
        yield process
    finally:
        _end(process)


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
