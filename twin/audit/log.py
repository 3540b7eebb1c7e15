"""The file of the audit log: a line of JSON for each event, appended."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from uuid import UUID

from inputs.errors import ConfigError
from twin.audit.events import Trail
from twin.audit.policy import EVERYTHING, Policy
from twin.encoding import json_of

SETTING = "--audit-log"


class AuditLog:
    """One open audit log and the policy of what goes into it."""

    def __init__(self, path: Path, policy: Policy = EVERYTHING, nonce: str = "") -> None:
        """Open or begin the file. The ids of requests follow from `nonce`, which has to differ from
        one start to the next, and from their number.

        Raises:
            ConfigError: the file cannot be written.
        """
        self.policy = policy
        self._nonce = nonce
        self._requests = 0
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise ConfigError(
                SETTING, path, f"choose a file that can be written ({error.strerror})"
            ) from error

    def next_id(self) -> str:
        """Return the id of one more request."""
        self._requests += 1
        text = f"{self._nonce}/{self._requests}".encode()
        return str(UUID(bytes=hashlib.blake2b(text, digest_size=16).digest(), version=4))

    def write(self, trail: Trail, stage: str, at: float) -> bool:
        """Write the event of a stage, unless the policy leaves it out; False when it cannot be kept."""
        if stage in trail.rule.omitted_stages:
            return True
        line = json_of(trail.event(stage, at)) + b"\n"
        try:
            return os.write(self._file, line) == len(line)
        except OSError:
            return False

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
