"""Where `foresail twin up` keeps what others need to find it, and how they find a running twin."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from bus.errors import InputError
from foresail.stack.state_folder import StateFolder

FOLDER = "twin"
FILE = "twin.json"
ADMIN, READER = "admin.kubeconfig", "reader.kubeconfig"


@dataclass(frozen=True, slots=True)
class RunningTwin:
    """A twin that serves."""

    address: str
    admin_kubeconfig: str
    reader_kubeconfig: str
    pid: int
    speed: float


def twin_folder(state: Path) -> StateFolder:
    """Return the folder of the twin that runs alone."""
    return StateFolder(state / FOLDER)


def write_place(folder: StateFolder, twin: RunningTwin) -> None:
    """Store where the twin serves, whole or not at all."""
    temporary = folder.path / f"{FILE}.part"
    temporary.write_text(json.dumps(asdict(twin), indent=1) + "\n", encoding="utf-8")
    temporary.replace(folder.path / FILE)


def find_kubeconfig(state: Path, *, admin: bool) -> Path:
    """Return a kubeconfig of the running twin: the one alone, else the one of the running stack.

    Raises:
        InputError: none runs in this state folder.
    """
    name = ADMIN if admin else READER
    alone = twin_folder(state)
    if alone.is_locked() and (alone.path / FILE).is_file():
        return alone.path / name
    whole = StateFolder(state)
    if whole.is_locked():
        path = whole.path / "incarnations" / whole.read().incarnation / name
        if path.is_file():
            return path
    raise InputError(
        "--state", state, "no twin runs here; start one with `foresail twin up` or name its folder"
    )
