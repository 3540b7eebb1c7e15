"""Journal with checkpoints: killed at any moment, the newest checkpoint and the rest of the journal
give the world that the whole journal gives.
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from inputs.clock import SystemClock
from twin.__main__ import build_engine
from twin.api.journal import Journal
from twin.api.messages import Request
from twin.api.router import Router
from twin.checkpoint import Checkpoint
from twin.config import START_2026
from twin.engine import Engine
from twin.resuming import CHECKPOINT_SECONDS, Checkpoints, checkpoint_path, resume
from twin.settings import TwinSettings
from twin.world_settings import world_of

SETTINGS = TwinSettings(seed=8, nodes=6, workload="openb", start_time_seconds=START_2026)
KEY = world_of(SETTINGS)
BEGAN = START_2026
MERGE = "application/merge-patch+json"


def resume_twin(path: Path) -> tuple[Engine, Journal]:
    """Start on a journal, as the twin's process does."""
    return resume(path, KEY, BEGAN, lambda: build_engine(SETTINGS))


def write(random: Random, number: int) -> Request:
    """Return one of a few writes."""
    node = f"/api/v1/nodes/node-{random.randrange(6):04d}"
    cordon = json.dumps({"spec": {"unschedulable": random.random() < 0.5}}).encode()
    maps = "/api/v1/namespaces/default/configmaps"
    config_map = json.dumps({"metadata": {"name": f"c{number}"}}).encode()
    return random.choice(
        [
            Request("PATCH", node, {}, {"content-type": MERGE}, cordon),
            Request("POST", maps, {}, {"content-type": "application/json"}, config_map),
            Request("DELETE", f"{maps}/c{number - 1}"),
        ]
    )


def live(path: Path, random: Random, steps: int) -> Engine:
    """Live on after a kill, with writes and now and then a checkpoint; return the engine as it is
    when the next kill comes.
    """
    engine, journal = resume_twin(path)
    router = Router(engine)
    for number in range(steps):
        until = engine.now + random.choice((0.05, 0.4, 7.3, 61.7))
        journal.reserve(until, 0.5)
        engine.advance(until)
        if random.random() < 0.2:
            taken = Checkpoint.of(
                engine, KEY.line(), journal_bytes=journal.size_bytes, marked=journal.marked
            )
            taken.write(checkpoint_path(path))
        if random.random() < 0.6:
            request = write(random, number)
            router.handle(request)
            journal.note(engine.now, request)
    journal.close()
    return engine


@pytest.mark.parametrize("seed", range(6))
def test_a_twin_killed_again_and_again_is_one_world(tmp_path: Path, seed: int) -> None:
    """Five lives with kills at drawn moments: after each, checkpoint and tail equal the journal
    re-run from its start, and both equal the life that was killed.
    """
    path, random = tmp_path / "journal", Random(seed)
    for _ in range(5):
        last = live(path, random, random.randrange(1, 25))
        engine, journal = resume_twin(path)
        whole = build_engine(SETTINGS)
        journal.replay(whole)
        journal.close()
        last.advance(max(last.now, engine.now))

        assert engine.now == whole.now
        assert engine.state_hash() == whole.state_hash() == last.state_hash()
    assert checkpoint_path(path).exists()


@pytest.mark.parametrize("damage", [b"", b"gone", None])
def test_a_checkpoint_that_does_not_fit_is_passed_over(
    tmp_path: Path, damage: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Damaged, or of another world: one line says so, and the journal alone gives the world."""
    path = tmp_path / "journal"
    last = live(path, Random(3), 12)
    if damage is None:
        Checkpoint.of(last, {"seed": 0}).write(checkpoint_path(path))
    else:
        checkpoint_path(path).write_bytes(damage)
    capsys.readouterr()
    engine, journal = resume_twin(path)
    journal.close()
    last.advance(engine.now)

    assert engine.state_hash() == last.state_hash()
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].endswith("the journal is re-run from its start")
    assert lines[0].startswith("error") or "checkpoint" in lines[0]


async def test_checkpoints_come_by_the_clock(tmp_path: Path) -> None:
    """None before its time, one after it, and from it the world goes on."""

    class Ahead(SystemClock):
        """A clock that can be put forward."""

        shift = 0.0

        def monotonic(self) -> float:
            return super().monotonic() + self.shift

    path, clock = tmp_path / "journal", Ahead()
    engine, journal = resume_twin(path)
    checkpoint_store = Checkpoints(path, KEY, clock)
    engine.advance(engine.now + 30.0)
    journal.reserve(engine.now, 0.0)
    await checkpoint_store.keep(engine, journal)
    assert not checkpoint_path(path).exists()
    clock.shift = CHECKPOINT_SECONDS + 1.0
    await checkpoint_store.keep(engine, journal)
    journal.close()

    head = Checkpoint.read(checkpoint_path(path), KEY.line()).head
    assert (head.now, head.hash) == (engine.now, engine.state_hash())
    assert head.journal_bytes == path.stat().st_size
