"""Real processes over a real nats-server, broken on purpose; the same harness as `make prove`, with
small counts. Every verdict is read from the log. Frozen processes that are replaced and killed stacks are in
`tests/e2e`; second writers and long outages of one service are tried by `make prove PARTS=faults` alone, and in
simulated time by `tests/simulation`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from proofs.faults import kills, storage
from proofs.faults.verdict import LogVerdict

pytestmark = [pytest.mark.slow, pytest.mark.nats, pytest.mark.twin]

SEED = 11
ENOUGH_LOST = 6
"""Acknowledgements, so that each of three processes loses some."""


def expect_held(*verdicts: LogVerdict) -> None:
    """Fail with what was wrong, what was done before, and how to do it again."""
    assert [] == [verdict.failure() for verdict in verdicts if not verdict.held]


async def test_kills_at_random_moments(tmp_path: Path) -> None:
    """Whatever service, twin or server is killed and whenever: nothing is lost, doubled or left open."""
    verdict = await kills.session(tmp_path, SEED, 6)

    expect_held(verdict)
    assert 6 == len(verdict.faults)
    assert verdict.log.decided > 6


async def test_lost_acknowledgements_double_nothing(tmp_path: Path) -> None:
    """A publish whose acknowledgement is lost is repeated, and stored once."""
    processes = ("referee", "agent-safety", "executor")
    verdict, lost = await storage.lost_acks(tmp_path, SEED, 120.0, processes, enough=ENOUGH_LOST)

    expect_held(verdict)
    assert lost >= ENOUGH_LOST


async def test_a_store_that_lost_its_end_is_noticed(tmp_path: Path) -> None:
    """The server comes back without its newest messages: services start again from what is left."""
    expect_held(await storage.truncated_store(tmp_path, SEED, 1))


@pytest.mark.skipif(not storage.may_mount(), reason="mounting a small disk needs root")
async def test_a_full_disk_loses_nothing_that_was_stored(tmp_path: Path) -> None:
    """Without space nothing is decided; with space again the stack goes on, and the log is whole."""
    expect_held(await storage.full_disk(tmp_path, SEED, 8))


async def test_a_store_that_is_too_small_is_one_line(tmp_path: Path) -> None:
    """A server that cannot keep a log of that size is refused before anything runs."""
    expect_held(await storage.refused_store(tmp_path))
