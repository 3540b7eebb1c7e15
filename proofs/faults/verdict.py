"""What one broken run came to: read from the log alone, and how to do it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bus.port import StoredMessage
from proofs.faults.log_check import LogCheck, check
from proofs.faults.log_watch import lost_messages


@dataclass
class LogVerdict:
    """Everything that was wrong with one run; nothing when it held."""

    repeat: str
    """The command that tries the same again."""
    faults: list[str] = field(default_factory=list)
    """What was done and when, in order."""
    problems: list[str] = field(default_factory=list)
    log: LogCheck = field(default_factory=LogCheck)

    @property
    def held(self) -> bool:
        """Whether nothing was wrong."""
        return not self.problems

    def judge(
        self,
        stored: Sequence[StoredMessage],
        live: Sequence[StoredMessage] = (),
        *,
        holes: bool = False,
    ) -> None:
        """Check the log as it is stored, and that all a reader saw is still in it."""
        self.log = check(stored, holes=holes)
        self.problems += [str(problem) for problem in self.log.problems]
        if self.log.decided == 0:
            self.problems.append("the log holds no decision")
        lost = lost_messages(live, stored)
        if lost:
            first = lost[0]
            self.problems.append(
                f"{len(lost)} stored messages are gone, first seq {first.seq} ({first.subject})"
            )

    def failure(self) -> str:
        """Return the first problem with the faults before it and the command; empty if it held."""
        if self.held:
            return ""
        first = self.problems[0]
        more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
        return f"{first}{more}; faults: {', '.join(self.faults[-5:])}; again: {self.repeat}"
