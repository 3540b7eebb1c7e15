"""The journal: a world that was cut off anywhere is the same world after its journal was re-run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random

import pytest

from inputs.errors import ConfigError
from twin.__main__ import build_engine
from twin.api.journal import Journal, JournalUnwritable, WorldKey
from twin.api.messages import Request
from twin.api.router import Router
from twin.api.tokens import Tokens
from twin.config import START_2026
from twin.engine import Engine
from twin.settings import TwinSettings
from twin.world_settings import world_of

WORLD = TwinSettings(seed=5, nodes=6, workload="openb", start_time_seconds=START_2026)
KEY = world_of(WORLD)
MERGE = "application/merge-patch+json"


def write(random: Random, number: int) -> Request:
    """Return one of many writes: some change the cluster, some are refused."""
    node = f"/api/v1/nodes/node-{random.randrange(6)}"
    cordon = json.dumps({"spec": {"unschedulable": number % 2 == 0}}).encode()
    config_map = json.dumps({"metadata": {"name": f"c{number}"}, "data": {"é": "\n"}}).encode()
    maps = "/api/v1/namespaces/default/configmaps"
    return random.choice(
        [
            Request("PATCH", node, {}, {"content-type": MERGE}, cordon),
            Request("POST", maps, {}, {"content-type": "application/json"}, config_map),
            Request("DELETE", f"{maps}/c{number - 1}"),
            Request(
                "POST", f"/foresail/v1/nodes/node-{number % 6}/fail", {}, {}, b'{"seconds":40}'
            ),
        ]
    )


def live(path: Path, seed: int, steps: int) -> Engine:
    """Live through some cluster time with writes, as the served twin does; return the engine."""
    engine, random = build_engine(WORLD), Random(seed)
    journal = Journal(path, KEY)
    journal.replay(engine)
    router = Router(engine)
    for number in range(steps):
        until = engine.now + random.choice([0.05, 0.4, 7.3, 61.7])
        journal.reserve(until, 0.5)
        engine.advance(until)
        for _ in range(random.randrange(3)):
            request = write(random, number)
            router.handle(request)
            journal.note(engine.now, request)
    journal.close()
    return engine


def rerun_journal(path: Path, *, until: float | None = None) -> Engine:
    """Return a fresh engine after the journal was re-run."""
    engine, journal = build_engine(WORLD), Journal(path, KEY)
    journal.replay(engine) if until is None else journal.replay(engine, until=until)
    journal.close()
    return engine


@pytest.mark.parametrize("seed", range(4))
def test_a_restarted_world_is_the_same_world(tmp_path: Path, seed: int) -> None:
    """Cut off after random writes, re-run, and run on: the state hash is that of the first life."""
    path = tmp_path / "journal"
    first = live(path, seed, 40)

    assert first.state_hash() == rerun_journal(path, until=first.now).state_hash()
    second = rerun_journal(path)
    assert second.now >= first.now
    assert second.store.resource_version >= first.store.resource_version
    first.advance(second.now)
    assert first.state_hash() == second.state_hash()


def test_a_world_can_die_again_and_again(tmp_path: Path) -> None:
    """Five lives, each on the journal of those before, equal one re-run of all of them."""
    path = tmp_path / "journal"
    engines = [live(path, seed, 8) for seed in range(5)]

    assert engines[-1].state_hash() == rerun_journal(path, until=engines[-1].now).state_hash()


def test_a_torn_last_line_is_ignored(tmp_path: Path) -> None:
    """A line that a kill cut off was never answered: it is dropped, and writing goes on after it."""
    path = tmp_path / "journal"
    live(path, 1, 10)
    whole, before = path.read_bytes(), rerun_journal(path).state_hash()
    path.write_bytes(whole + b'{"t":1767225999.5,"m":"PO')

    assert before == rerun_journal(path).state_hash()
    assert whole == path.read_bytes()


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    """Damage in the middle is not passed over: the line and the remedy are named."""
    path = tmp_path / "journal"
    live(path, 1, 10)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], b"{]\n", *lines[4:]]))

    with pytest.raises(ConfigError, match="line 4 is damaged"):
        rerun_journal(path)


@pytest.mark.parametrize("other", [{"seed": 6}, {"nodes": 7}, {"workload": "idle"}])
def test_a_journal_of_another_world_is_refused(tmp_path: Path, other: dict[str, object]) -> None:
    """A journal re-run on another seed, size or workload would tell a story that never happened."""
    path = tmp_path / "journal"
    Journal(path, KEY).close()
    changed = WORLD.model_copy(update=other)
    key = world_of(changed)

    with pytest.raises(ConfigError, match="another seed"):
        Journal(path, key)


def test_a_workload_file_is_known_by_its_content(tmp_path: Path) -> None:
    """The same rows under another name are the same world; other rows are another."""
    for name, rows in (("a", "1"), ("b", "1"), ("c", "2")):
        (tmp_path / name).write_text(rows, encoding="utf-8")
    keys = {name: WorldKey.of(1, 1, str(tmp_path / name), 0.0) for name in "abc"}

    assert keys["a"] == keys["b"] != keys["c"]


def test_a_full_disk_ends_the_twin_and_not_its_word(tmp_path: Path) -> None:
    """What cannot be written is an error at once and at every later slice of time."""
    journal = Journal(tmp_path / "journal", KEY)
    os.close(journal._file)
    journal._file = os.open("/dev/full", os.O_WRONLY)

    for _ in range(2):
        with pytest.raises(JournalUnwritable, match="No space left"):
            journal.reserve(START_2026 + 1.0, 0.5)
    journal.close()


def test_tokens_outlive_their_process(tmp_path: Path) -> None:
    """A second start has the tokens of the first, in a file of the owner's alone."""
    path = tmp_path / "twin-tokens.json"
    first, second = Tokens.read_or_draw(path), Tokens.read_or_draw(path)

    assert first.of_all() == second.of_all()
    assert len(set(first.of_all().values())) == len(first.of_all())
    assert 0o600 == path.stat().st_mode & 0o777
