"""Clones and restored checkpoints have the future of what they were made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inputs.errors import ConfigError
from twin.checkpoint import Checkpoint
from twin.config import TwinConfig
from twin.engine import Engine
from twin.errors import ApiError

Build = Callable[..., Engine]
Write = Callable[[Engine, Random], None]
WORLD = {"seed": 1}
QUICK = settings(
    max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def live(engine: Engine, write: Write, random: Random, steps: int) -> None:
    """Let some time pass with a write now and then, the same for equal engines and draws."""
    for _ in range(steps):
        engine.advance(engine.now + random.choice((0.03, 1.7, 12.0, 31.0)))
        write(engine, random)


def restore_engine(engine: Engine, build: Build, seed: int, folder: Path) -> Engine:
    """Send an engine's state through a file."""
    path = folder / "checkpoint"
    Checkpoint.of(engine, WORLD).write(path)
    fresh = build(seed)
    Checkpoint.read(path, WORLD).restore(fresh, path)
    return fresh


@QUICK
@given(seed=st.integers(0, 2**32), events=st.integers(0, 2_000))
def test_a_clone_at_any_event_has_the_same_future(
    build: Build, write: Write, seed: int, events: int
) -> None:
    """Cloned after any number of events, both live through the same and end in the same state."""
    engine = build(seed)
    engine.step(events)
    clone = engine.clone()
    assert engine.state_hash() == clone.state_hash()
    live(clone, write, Random(seed), 8)
    between = engine.state_hash()
    live(engine, write, Random(seed), 8)

    assert between != engine.state_hash()
    assert engine.state_hash() == clone.state_hash()
    assert list(engine.store.list("pods")) == list(clone.store.list("pods"))


@QUICK
@given(seed=st.integers(0, 2**32), events=st.integers(0, 2_000))
def test_a_checkpoint_at_any_event_has_the_same_future(
    build: Build, write: Write, tmp_path: Path, seed: int, events: int
) -> None:
    """Stored after any number of events and restored elsewhere, both end in the same state."""
    engine = build(seed)
    engine.step(events)
    other = restore_engine(engine, build, seed, tmp_path)
    for each in (engine, other):
        live(each, write, Random(seed), 8)

    assert engine.state_hash() == other.state_hash()
    assert list(engine.store.list("events")) == list(other.store.list("events"))


def test_a_clone_never_disturbs_its_original(build: Build, write: Write) -> None:
    """Ten clones live different lives, and the original's hash stays."""
    engine = build(3)
    live(engine, write, Random(1), 20)
    before = engine.state_hash()
    lives = set()
    for number in range(10):
        clone = engine.clone()
        live(clone, write, Random(number), 5)
        lives.add(clone.state_hash())

    assert before == engine.state_hash()
    assert 10 == len(lives)


def test_versions_go_on_and_older_watches_list_again(build: Build, write: Write) -> None:
    """A clone continues resourceVersions; changes from before it are gone there (410)."""
    engine = build(3)
    live(engine, write, Random(1), 20)
    version = engine.store.resource_version
    clone = engine.clone()
    clone.advance(clone.now + 60.0)
    changes = clone.store.changes("pods", None, version)

    assert all(change.rv > version for change in changes)
    assert changes
    with pytest.raises(ApiError, match="too old"):
        clone.store.changes("pods", None, version - 1)


def damage_file(data: bytes) -> bytes:
    """Return a file with one byte changed in the middle."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (damage_file, "it is damaged"),
        (lambda data: data[:-20], "it is damaged"),
        (lambda _: b"", "it is damaged"),
        (lambda _: b"not a checkpoint", "it is damaged"),
    ],
)
def test_a_damaged_file_is_refused(
    build: Build, tmp_path: Path, change: Callable[[bytes], bytes], sentence: str
) -> None:
    """Not one changed, missing or foreign byte gets through; the remedy is named."""
    path = tmp_path / "checkpoint"
    Checkpoint.of(build(1), WORLD).write(path)
    path.write_bytes(change(path.read_bytes()))

    with pytest.raises(ConfigError, match=f"{sentence}; remove it"):
        Checkpoint.read(path, WORLD)


def test_another_world_is_refused(build: Build, tmp_path: Path) -> None:
    """A checkpoint of another world, seed, configuration or workload is refused with one line."""
    path = tmp_path / "checkpoint"
    engine = build(1)
    engine.advance(engine.now + 30.0)
    Checkpoint.of(engine, WORLD).write(path)
    with pytest.raises(ConfigError, match="another seed, node count"):
        Checkpoint.read(path, {"seed": 2})
    actual = Checkpoint.read(path, WORLD)
    others: list[tuple[Engine, str]] = [
        (build(2), "another seed or configuration"),
        (Engine(TwinConfig(scrape_seconds=5.0), seed=1), "another seed or configuration"),
        (build(1, count=2), "the workload has no arrival"),
    ]
    for other, sentence in others:
        with pytest.raises(ConfigError, match=sentence):
            actual.restore(other, path)


def test_a_version_that_keeps_something_else_is_refused(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """State that this version does not know, or misses, is not guessed."""
    path = tmp_path / "checkpoint"
    Checkpoint.of(build(1), WORLD).write(path)
    engine = build(1)
    monkeypatch.setattr(type(engine.kubelet), "KEEPS", ("_crashes", "_stopping", "_random"))

    with pytest.raises(ConfigError, match="not of this world and version"):
        Checkpoint.read(path, WORLD).restore(engine, path)


def test_another_program_is_refused(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another version of the program wrote is named with both versions."""
    path = tmp_path / "checkpoint"
    head = Checkpoint.of(build(1), WORLD).head
    Checkpoint(replace(head, version="0.0.1"), ()).write(path)

    with pytest.raises(ConfigError, match=r"written by version 0\.0\.1, this is"):
        Checkpoint.read(path, WORLD)


def test_a_checkpoint_is_there_whole_or_not_at_all(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When writing fails, the older file stays as it was."""
    path = tmp_path / "checkpoint"
    engine = build(1)
    Checkpoint.of(engine, WORLD).write(path)
    before = path.read_bytes()
    engine.advance(engine.now + 60.0)

    def refuse(_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("twin.checkpoint.os.fsync", refuse)
    with pytest.raises(OSError, match="No space left"):
        Checkpoint.of(engine, WORLD).write(path)
    assert before == path.read_bytes()
