"""Real processes over a real nats-server, broken on purpose; the same harness as `make prove`, with
small counts. Every verdict is read from the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from proofs.faults import frozen, kills, storage
from proofs.faults.live_stack import LiveStack
from proofs.faults.log_watch import lost_messages
from proofs.faults.verdict import LogVerdict

pytestmark = [pytest.mark.slow, pytest.mark.nats, pytest.mark.twin, pytest.mark.timeout(400)]

SEED = 11


def expect_held(*verdicts: LogVerdict) -> None:
    """Fail with what was wrong, what was done before, and how to do it again."""
    assert [] == [verdict.failure() for verdict in verdicts if not verdict.held]


async def test_twenty_kills_at_random_moments(tmp_path: Path) -> None:
    """Whatever service, twin or server is killed and whenever: nothing is lost, doubled or left open."""
    verdict = await kills.session(tmp_path, SEED, 20)

    expect_held(verdict)
    assert 20 == len(verdict.faults)
    assert verdict.log.decided > 10


async def test_a_killed_stack_leaves_nothing_and_starts_again(tmp_path: Path) -> None:
    """After kill -9 of `foresail up` no process is left after 5 s, its log can be believed, and the
    next start in the same folder is clean.
    """
    expect_held(*await kills.killed_stacks(tmp_path, SEED, 1))


async def test_two_referees_make_one_decision(tmp_path: Path) -> None:
    """A referee wakes up beside its successor: each cycle has one decision, and the woken one stops."""
    expect_held(await frozen.second_referee(tmp_path, SEED, 6.0))


async def test_a_frozen_process_is_replaced(tmp_path: Path) -> None:
    """A stopped executor is killed and started again, and complete cycles follow."""
    verdict = await frozen.prove_replacement(tmp_path, SEED, ("executor",), within_seconds=100.0)

    expect_held(verdict)
    assert verdict.faults[0].startswith("executor replaced after ")


async def test_outages_longer_than_the_servers_memory(tmp_path: Path) -> None:
    """A service that was away for longer than the server knows repeated messages repeats none."""
    taken: Sequence[tuple[str, frozen.How]] = (("referee", "killed"), ("executor", "frozen"))

    expect_held(await frozen.prove_outages(tmp_path, SEED, taken, 6.0, window_seconds=1.0))


async def test_lost_acknowledgements_double_nothing(tmp_path: Path) -> None:
    """A publish whose acknowledgement is lost is repeated, and stored once."""
    verdict, lost = await storage.lost_acks(
        tmp_path, SEED, 15.0, ("referee", "agent-safety", "executor")
    )

    expect_held(verdict)
    assert lost >= 3


async def test_a_store_that_lost_its_end_is_noticed(tmp_path: Path) -> None:
    """The server comes back without its newest messages: services start again from what is left."""
    expect_held(await storage.truncated_store(tmp_path, SEED, 2))


@pytest.mark.skipif(not storage.may_mount(), reason="mounting a small disk needs root")
async def test_a_full_disk_loses_nothing_that_was_stored(tmp_path: Path) -> None:
    """Without space nothing is decided; with space again the stack goes on, and the log is whole."""
    expect_held(await storage.full_disk(tmp_path, SEED, 8))


async def test_a_store_that_is_too_small_is_one_line(tmp_path: Path) -> None:
    """A server that cannot keep a log of that size is refused before anything runs."""
    expect_held(await storage.refused_store(tmp_path))


async def test_a_watched_log_that_lost_something_is_noticed(tmp_path: Path) -> None:
    """What an outside reader saw is compared with what is stored at the end."""
    stack = LiveStack(tmp_path, seed=SEED)
    await stack.start(cycles=1)
    messages = list(stack.watch.messages)
    await stack.stop()
    log = await stack.log_after()

    assert [] == lost_messages(messages, log)
    assert [messages[3]] == lost_messages(messages, [*log[:3], *log[4:]])
