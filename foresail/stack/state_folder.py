"""The state folder: everything the stack keeps, locked by one stack at a time.

```
.foresail/
  lock                  held by flock while a stack runs; freed by the kernel however it ends
  stack.json            where the running stack listens (URLs, pids); read by status, tap, kill, explain
  incarnations/<id>/    one folder per world: nats/ (the log), logs/, kubeconfig files, workload/,
                        logins.json (the log's passwords, mode 0600)
```
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from bus.errors import ConfigError, InputError
from inputs.limited_files import read_limited
from inputs.limited_json import load_json

STACK_FILE_BYTES = 1_000_000
"""Bytes of stack.json; it has a few lines for each process."""
KEPT_INCARNATIONS = 3
"""Worlds kept for a look back; older ones are removed at the next start."""


class NoStack(InputError):
    """No stack has run in a state folder."""


@dataclass
class StackFile:
    """Addresses that other verbs need to reach the running, or the last, stack."""

    cluster: str
    incarnation: str
    stream: str
    nats_url: str
    embedded: bool
    pid: int
    dashboard_url: str = ""
    processes: dict[str, int] = field(default_factory=dict)
    """Process id of each service; 0 while one is between two starts."""
    servers: dict[str, int] = field(default_factory=dict)
    """Process id of nats-server and of the twin, where the stack runs them."""
    health: dict[str, int] = field(default_factory=dict)
    """Port on loopback where each process answers /healthz, /readyz and /metrics."""
    last_ends: dict[str, str] = field(default_factory=dict)
    """How and when each process that ended last did, servers too."""
    mode: str = ""
    replay: dict[str, str] = field(default_factory=dict)
    """Of a replay: `file`, `last_seq` of what is played, and `state` (its pace, paused, at its end)."""
    started: str = ""
    login_file: str = ""
    """A `login.env` for a server that this stack does not run itself; empty: the environment's."""
    running: bool = True


_FORMS: dict[str, type] = {"str": str, "int": int, "bool": bool}


def _stack_of(content: Any) -> StackFile:
    """Return what `StateFolder.write` wrote; raises ValueError for anything else."""
    if not isinstance(content, dict):
        raise ValueError("no object")
    try:
        stack = StackFile(**content)
    except TypeError as error:
        raise ValueError(f"other fields: {error}") from error
    for stack_field in fields(StackFile):
        value, form = getattr(stack, stack_field.name), str(stack_field.type)
        inner = _FORMS.get(form.removeprefix("dict[str, ").removesuffix("]"), str)
        sound = (
            isinstance(value, dict) and all(type(each) is inner for each in value.values())
            if form.startswith("dict")
            else type(value) is inner
        )
        if not sound:
            raise ValueError(f"{stack_field.name} is no {form}")
    return stack


class StateFolder:
    """One stack's folder; `lock` it before writing."""

    def __init__(self, path: Path) -> None:
        """Name the folder; nothing is touched yet."""
        self.path = path
        self._lock: int | None = None

    def lock(self) -> None:
        """Create and lock the folder.

        Raises:
            ConfigError: another stack holds it, or it cannot be written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ConfigError(
                "--state", str(self.path), f"give a folder that can be written ({error.strerror})"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(descriptor, 20, 0).decode().strip() or "unknown"
            os.close(descriptor)
            raise ConfigError(
                "--state",
                str(self.path),
                f"stop the stack that uses it (pid {holder}) or give another folder",
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        self._lock = descriptor

    def note_death(self) -> None:
        """Say of the last stack that it runs no more: one that was killed could not say so itself."""
        with contextlib.suppress(InputError):
            stack = self.read()
            stack.running = False
            self.write(stack)

    def unlock(self) -> None:
        """Free the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def new_incarnation(self) -> str:
        """Return a number no world in this folder had, and remove worlds nobody will look at again."""
        base = self.path / "incarnations"
        numbers = sorted(
            int(entry.name[1:])
            for entry in (base.iterdir() if base.is_dir() else ())
            if entry.name.startswith("i") and entry.name[1:].isdigit()
        )
        for number in numbers[: max(0, len(numbers) - KEPT_INCARNATIONS + 1)]:
            shutil.rmtree(base / f"i{number}", ignore_errors=True)
        return f"i{numbers[-1] + 1 if numbers else 1}"

    def incarnation(self, name: str) -> Path:
        """Return the folder of one world, made if needed."""
        folder = self.path / "incarnations" / name
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder

    def write(self, stack: StackFile) -> None:
        """Store where the stack listens, whole or not at all."""
        temporary = self.path / "stack.json.part"
        temporary.write_text(json.dumps(asdict(stack), indent=1) + "\n", encoding="utf-8")
        temporary.replace(self.path / "stack.json")

    def read(self) -> StackFile:
        """Return the running or last stack.

        Raises:
            NoStack: there has been none in this folder.
        """
        try:
            content: Any = load_json(read_limited(self.path / "stack.json", STACK_FILE_BYTES))
            stack = _stack_of(content)
        except (OSError, ValueError) as error:
            raise NoStack(
                "--state",
                str(self.path),
                "no stack has run here; start one with `foresail up` or name its folder",
            ) from error
        stack.running = stack.running and self.is_locked()
        return stack

    def is_locked(self) -> bool:
        """Say whether a stack holds the folder right now."""
        try:
            descriptor = os.open(self.path / "lock", os.O_RDWR)
        except OSError:
            return False
        try:
            # Shared: of two who look at the same moment neither takes the other for a stack.
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        else:
            return False
        finally:
            os.close(descriptor)
