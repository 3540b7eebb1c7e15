"""A log's choices made again from what it says of Jobs: equal in every number, or by which they differ."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

from lab.learning.comparison.learned_rule import ExportedRule
from lab.queue.deciding import asked_again, choices_of
from schemas.queue import QueueChoice, QueueJob, QueueJobs, QueuePolicy
from services.learned_policy.file import policy_from


@dataclass(slots=True)
class ChoiceCheck:
    """Takes the events of a log in order, and compares each choice."""

    equal: int = 0
    different: int = 0
    ungrounded: int = 0
    """Choices before the log names their policy."""
    first: QueueChoice | None = None
    """The first one that differs."""
    _rule: ExportedRule | None = None
    _rows: dict[str, QueueJob] = field(default_factory=dict)
    _again: list[QueueChoice] = field(default_factory=list)

    @property
    def seen(self) -> int:
        """Choices that the log holds."""
        return self.equal + self.different + self.ungrounded

    def take(self, data: Any) -> None:
        """Take one event's data; what is not about queues is passed over.

        Raises:
            ValueError: the policy in the log is none.
            InputError: it decides about something else.
        """
        if isinstance(data, QueuePolicy):
            self._rule = ExportedRule(policy_from(base64.b64decode(data.file_base64)))
        elif isinstance(data, QueueJobs):
            self._rows.update({row.job_id: row for row in data.jobs})
            for uid in data.removed:
                self._rows.pop(uid, None)
        elif isinstance(data, QueueChoice):
            self._compare(data)

    def _compare(self, recorded: QueueChoice) -> None:
        if self._rule is None:
            self.ungrounded += 1
            return
        if recorded.place == 0:
            self._again = choices_of(self._rule, self._rows.values(), asked_again(recorded))
        made = next((one for one in self._again if one.place == recorded.place), None)
        if made == recorded:
            self.equal += 1
            return
        self.different += 1
        self.first = self.first or recorded
