"""Karpenter's KubeEvents: one that says the same of the same again soon is left out
(pkg/events/recorder.go, defaultDedupeTimeout).
"""

from __future__ import annotations

from twin.part import Part
from twin.provisioners.client import Client
from twin.records import Record

DEDUPE_SECONDS = 120.0


class Recorder(Part):
    """Writes events, each at most once in its time."""

    KEEPS = ("_until",)

    def __init__(self, client: Client) -> None:
        self._client = client
        self._until: dict[str, float] = {}

    def say(
        self,
        record: Record,
        kind: str,
        reason: str,
        message: str,
        key: str = "",
        seconds: float = DEDUPE_SECONDS,
    ) -> None:
        """Write an event unless one with the same reason and key was written within `seconds`."""
        now = self._client.now
        mark = f"{reason}/{key or record.uid}"
        if self._until.get(mark, 0.0) > now:
            return
        if len(self._until) > 10_000:
            self._until = {name: at for name, at in self._until.items() if at > now}
        self._until[mark] = now + seconds
        self._client.report(record, kind, reason, message)
