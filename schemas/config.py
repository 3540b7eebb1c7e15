"""Config: the effective policy of each process, published before its first output and at each
change.

Every derived event names the hash, so that a decision can always be traced to the settings that
shaped it.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, ClassVar

from schemas.model import EVERY_PROCESS, EventData, Retention
from schemas.numbers import JsonObject


class Config(EventData):
    """Effective settings of one process."""

    TYPE: ClassVar[str] = "foresail.config.v1"
    WRITER: ClassVar[str] = EVERY_PROCESS
    PATTERN: ClassVar[tuple[str, ...]] = ("config", "*")
    RETENTION: ClassVar[Retention] = Retention.STANDING

    process: str
    settings: JsonObject
    """Everything that can change a result; no path, host, user or secret."""
    config_hash: str
    code_version: str
    model_ids: tuple[str, ...] = ()
    replaces: str = ""
    """Id of the config event that was the newest until now; empty for a process' first one."""

    def tokens(self) -> tuple[str, ...]:
        """Return `config.<process>`."""
        return ("config", self.process)

    def key(self) -> str:
        """Return the process, the hash and what is replaced: settings that come back are another event."""
        key = f"{self.process}/{self.config_hash}"
        return f"{key}/{self.replaces}" if self.replaces else key

    def line(self) -> str:
        """Return the hash, the version of the code and the models."""
        return f"{self.config_hash} {self.code_version} {' '.join(self.model_ids)}".rstrip()


def config_hash(
    settings: dict[str, Any], code_version: str, model_ids: tuple[str, ...] = ()
) -> str:
    """Return the SHA-256 (first 16 hex digits) of what can change a result."""
    text = json.dumps(
        [settings, code_version, list(model_ids)], sort_keys=True, separators=(",", ":")
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]


CODE_VERSION = "foresail/0.1.0"
"""The code's own name and version, as every process announces it."""
