"""What a machine may be set to without changing a recording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Environment:
    """Settings of one process that runs the stack."""

    name: str
    variables: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    """Flags of the interpreter."""
    folder: str = "here"
    """Name of the working folder, which holds the recording."""

    @property
    def varies(self) -> bool:
        """Whether this is not the first environment, with which the others are compared."""
        return self is not ENVIRONMENTS[0]


ENVIRONMENTS = (
    Environment("hash seed 0, UTC", {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8"}),
    Environment(
        "hash seed 4711, Kathmandu, another folder",
        {"PYTHONHASHSEED": "4711", "TZ": "Asia/Kathmandu", "LC_ALL": "C"},
        folder="an other földer",
    ),
    Environment(
        "hash seed drawn, Chatham, no UTF-8",
        {
            "PYTHONHASHSEED": "random",
            "TZ": "Pacific/Chatham",
            "LC_ALL": "POSIX",
            "PYTHONCOERCECLOCALE": "0",
            "PYTHONUTF8": "0",
        },
    ),
    Environment(
        "hash seed 1, German, assertions off",
        {"PYTHONHASHSEED": "1", "TZ": "Europe/Berlin", "LC_ALL": "de_DE.UTF-8"},
        flags=("-O",),
    ),
    Environment(
        "hash seed 99, Turkish, development mode",
        {"PYTHONHASHSEED": "99", "TZ": "America/St_Johns", "LC_ALL": "tr_TR.UTF-8"},
        flags=("-X", "dev", "-W", "ignore"),
    ),
)
"""The first is the one that all others are compared with."""
