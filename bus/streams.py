"""The log's declaration as data: one JetStream stream per deployment and incarnation.

Direct get serves history without consumers; republish feeds taps and the dashboard with stored
events only; nobody can delete or purge; retention is by size and age.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from schemas import subjects
from schemas.rollup import DAYS_INCARNATION, days_cluster

NANOSECONDS = 1_000_000_000
DUPLICATE_WINDOW_SECONDS = 120
"""JetStream's own dedupe by message id: a second guard only."""
DEFAULT_MAX_BYTES = 2 * 1024**3
DEFAULT_MAX_AGE_SECONDS = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class StreamDeclaration:
    """Name, subjects and retention of one log."""

    name: str
    subject: str
    max_bytes: int = DEFAULT_MAX_BYTES
    max_age_seconds: float = DEFAULT_MAX_AGE_SECONDS
    replicas: int = 1
    """Servers of a JetStream cluster that keep a copy each: 1, 3 or 5."""
    newest_only: bool = False
    """Keep the newest message of each subject alone."""

    @classmethod
    def of(
        cls,
        cluster: str,
        incarnation: str,
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        max_age_seconds: float = DEFAULT_MAX_AGE_SECONDS,
        replicas: int = 1,
    ) -> StreamDeclaration:
        """Return the declaration of a cluster's log in one incarnation."""
        name = re.sub(r"[^A-Za-z0-9_-]", "_", f"FORESAIL_{cluster}_{incarnation}")
        subject = subjects.pattern(cluster, (">",))
        return cls(name, subject, max_bytes, max_age_seconds, replicas)

    @classmethod
    def of_days(cls, cluster: str, *, replicas: int = 1) -> StreamDeclaration:
        """Return the declaration of a cluster's roll-ups: one message for each day, kept without end."""
        name = days_cluster(cluster)
        declaration = cls.of(name, DAYS_INCARNATION, replicas=replicas)
        return replace(declaration, max_bytes=-1, max_age_seconds=0.0, newest_only=True)

    def config(self) -> dict[str, Any]:
        """Return the stream's configuration as the JetStream API takes it."""
        return {
            "name": self.name,
            "subjects": [self.subject],
            "storage": "file",
            "retention": "limits",
            "discard": "old",
            "num_replicas": self.replicas,
            "max_bytes": self.max_bytes,
            **({"max_msgs_per_subject": 1} if self.newest_only else {}),
            "max_age": round(self.max_age_seconds * NANOSECONDS),
            "duplicate_window": DUPLICATE_WINDOW_SECONDS * NANOSECONDS,
            "allow_direct": True,
            "allow_atomic": True,
            "deny_delete": True,
            "deny_purge": True,
            "republish": {"src": f"{subjects.ROOT}.>", "dest": subjects.live(f"{subjects.ROOT}.>")},
        }
