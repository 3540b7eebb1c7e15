"""How the attempts at the work of a Job's pods end, one after the other, for each index.

`60f,62f,300s;45x;r` is three indexes: the first fails twice and then succeeds, the second fails for good, the third
runs on. After its last attempt an index is done, so `f` is never the last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

FAILED, SUCCEEDED, GIVEN_UP, RUNS_ON = "f", "s", "x", "r"
MOST_ATTEMPTS = 64
"""Of one index."""
_ATTEMPT = re.compile(r"(\d+(?:\.\d+)?)([fsx])|r")


class Attempt(NamedTuple):
    """One attempt: how long it works, and how that ends."""

    seconds: float | None
    """None: it runs on."""
    ending: str


def attempts_text(indexes: Iterable[Sequence[Attempt]]) -> str:
    """Write the attempts of each index; what `read_attempts` reads."""
    return ";".join(
        ",".join(
            one.ending if one.seconds is None else f"{one.seconds:.10g}{one.ending}"
            for one in attempts
        )
        for attempts in indexes
    )


def read_attempts(text: str) -> list[tuple[Attempt, ...]]:
    """Return the attempts of each index; raises ValueError for another form."""
    indexes = [tuple(map(_attempt, part.split(","))) for part in text.split(";")]
    for attempts in indexes:
        if len(attempts) > MOST_ATTEMPTS:
            raise ValueError(f"{len(attempts)} attempts of one pod; at most {MOST_ATTEMPTS}")
        if [one.ending == FAILED for one in attempts] != [True] * (len(attempts) - 1) + [False]:
            raise ValueError("all but the last attempt of a pod end in f, and the last does not")
    return indexes


def _attempt(text: str) -> Attempt:
    match = _ATTEMPT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:20]!r} is no attempt")
    return Attempt(None, RUNS_ON) if match[1] is None else Attempt(float(match[1]), match[2])
