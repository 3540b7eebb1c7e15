"""The log in memory: it can be told to forget what lies far behind its end."""

from __future__ import annotations

from bus.memory_adapter import MemoryBus, MemoryLog
from bus.port import Message


async def test_a_log_keeps_its_newest_messages() -> None:
    """Old messages go, positions stay, and the newest of each subject is still known."""
    log = MemoryLog(keep_messages=10)
    bus = MemoryBus(log, "test")
    once = Message("foresail.test.config.a", {"Nats-Msg-Id": "once"}, b"{}")
    await bus.publish([once])
    for number in range(50):
        headers = {"Nats-Msg-Id": f"n-{number}"}
        await bus.publish([Message("foresail.test.decision", headers, b"{}")])
    seqs = [message.seq async for message in bus.history(["foresail.>"])]

    assert list(range(51 - len(seqs) + 1, 52)) == seqs
    assert 10 <= len(seqs) <= 20
    assert (await bus.last(once.subject)) is not None
    assert (51, 52 - len(seqs)) == ((await bus.info()).last_seq, (await bus.info()).first_seq)
