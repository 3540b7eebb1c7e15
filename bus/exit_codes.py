"""The one table of exit codes, for every verb of the command line and every process of the stack.

`docs/exit-codes.md` is written from it. What each verb means by a code stands in
`foresail.exit_codes`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Self


class ExitCode(IntEnum):
    """How a command ended; numbers are stable, scripts depend on them."""

    meaning: str
    """One sentence for people."""

    def __new__(cls, number: int, meaning: str) -> Self:
        """Return a member that is its number and knows its meaning."""
        member = int.__new__(cls, number)
        member._value_ = number
        member.meaning = meaning
        return member

    GOOD = 0, "everything asked for was done or looked at, and it is as it should be"
    DIFFERS = (
        1,
        (
            "it was looked at and is not as it should be: something differs, is damaged or missing, a check "
            "or an assertion fails; or the work could not be finished (a traceback: by a defect of ours)"
        ),
    )
    FAILED = DIFFERS
    BAD_INPUT = (
        2,
        (
            "what was given cannot be used: a wrong argument, setting or file, or, when a stack starts, an "
            "address where nobody answers; one line says which, and what to do"
        ),
    )
    ANOTHER_WRITER = 3, "somebody else writes what only this process may write"
    NOTHING_COMPARED = (
        4,
        (
            "nothing was wrong, but nothing, or not every part, could be looked at: no event to compare, a "
            "layer without any, a check that could not be made"
        ),
    )
    CUT_OFF = (
        5,
        (
            "what could be read is good, but it is not everything: the recording is cut off, not sealed, or "
            "damaged, and reading ended there"
        ),
    )
    UNREACHABLE = 6, "a server does not answer (any more); trying again later may help"
    HUNG = 71, "the event loop of a process hung; the stacks of its threads are on stderr"
    INTERRUPTED = (
        130,
        "ended by SIGINT (Ctrl-C) or SIGTERM before its end; nothing half written stays",
    )
    BROKEN_PIPE = 141, "whoever read the output went away before its end"


def verdict(
    *, differs: bool = False, nothing_compared: bool = False, cut_off: bool = False
) -> ExitCode:
    """Return the code of whoever looked at something; of several findings the worst, in this order."""
    if differs:
        return ExitCode.DIFFERS
    if nothing_compared:
        return ExitCode.NOTHING_COMPARED
    return ExitCode.CUT_OFF if cut_off else ExitCode.GOOD
