"""Foresail as an agent of AIOpsLab: `init_context` and `get_action`, as its orchestrator calls them.

Foresail itself runs beside it (`foresail up --kubeconfig ... --record live.fslog`); the agent reads that log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lab.aiopslab.catalogue import task_of
from lab.aiopslab.findings import Findings
from lab.aiopslab.scoring import answer_to, submission
from schemas.envelope import Event

WAIT_COMMAND = "sleep 30"
"""What AIOpsLab's shell does while the log shows nothing yet."""


class ForesailAgent:
    """Answers one problem."""

    def __init__(
        self, problem_id: str, events: Callable[[], Iterable[Event[Any]]], *, turns: int = 8
    ) -> None:
        """Take a problem.

        Args:
            problem_id: as in AIOpsLab's registry.
            events: reads the log anew, from its beginning.
            turns: after so many without a finding it answers that there is none; also the time that is left to
                Foresail to act where mitigation is asked.
        """
        self._task = task_of(problem_id)
        self._events = events
        self._left = turns

    def init_context(self, problem_desc: Any, instructions: Any, apis: Any) -> None:
        """Take what is told of the problem; nothing of it is used, since the answer is read from the log."""
        del problem_desc, instructions, apis

    async def get_action(self, state: str) -> str:
        """Return the next call, in the form that AIOpsLab's parser takes."""
        del state
        findings = Findings()
        for event in self._events():
            findings.take(event)
        self._left -= 1
        if self._left > 0 and (self._task == "mitigation" or not findings.found):
            return f'Waiting for the log.\n```\nexec_shell("{WAIT_COMMAND}")\n```'
        return submission(self._task, answer_to(self._task, findings.found))
