"""Proves who can do what on the log: every permission and every refusal of the table of identities,
on a real server.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from proofs.identities.checks import (
    Check,
    Kind,
    all_checks,
    anonymous_is_reader,
    failures,
    insider_injections,
)
from proofs.identities.environment import start_environment
from proofs.row import ProofRow, ProofSize
from services.identities import IDENTITIES

PART = "identities"


def prove(scale: ProofSize) -> Iterator[ProofRow]:
    """Try every request once as every identity; the matrix is the same at every scale."""
    del scale
    checks, injected, anonymous = asyncio.run(matrix())
    yield _row("permissions held", "permission", checks)
    yield _row("refusals held", "refusal", checks)
    yield ProofRow(
        PART, "a client without a name only reads", 1, int(anonymous), "it is taken for `reader`"
    )
    yield ProofRow(
        PART,
        "plain permissions in one account do not close it",
        1,
        int(injected > 0),
        f"{injected} replies injected by the one right to ask for the log's state",
    )


async def matrix() -> tuple[list[Check], int, bool]:
    """Return every check, how many replies an insider injected, and whether a client without a name
    only reads.
    """
    with tempfile.TemporaryDirectory() as folder:
        async with start_environment(Path(folder)) as started:
            checks = [check async for check in all_checks(started)]
            return checks, await insider_injections(started), await anonymous_is_reader(started)


def _row(what: str, kind: Kind, checks: list[Check]) -> ProofRow:
    chosen = [check for check in checks if check.kind == kind]
    wrong = list(failures(chosen))
    groups = Counter(check.group for check in chosen)
    detail = f"{len(IDENTITIES)} identities: " + ", ".join(
        f"{count} {group}" for group, count in groups.items()
    )
    return ProofRow(
        PART, what, len(chosen), len(chosen) - len(wrong), wrong[0] if wrong else detail
    )
