"""Others' writes to the served twin: read from its journal in order, without the executor's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bus.errors import ConfigError
from foresail.untouched.journal_writes import JournaledWrites
from foresail.untouched.world import MirroredWrites, UntouchedWorld, Write
from twin.port.api import JSON, Request
from twin.port.engine import Engine
from twin.port.process import Journal, WorldKey

WORLD = WorldKey(1, 3, "idle", 0.0)


def creation(name: str) -> Request:
    """Return the request that makes a namespace."""
    body = json.dumps({"metadata": {"name": name}}).encode()
    return Request("POST", "/api/v1/namespaces", {}, {"content-type": JSON, "accept": JSON}, body)


def names(writes: JournaledWrites | MirroredWrites, until: float) -> list[str]:
    """Return the namespaces that are made up to a cluster time."""
    bodies = [json.loads(write.request.body) for write in writes.until(until)]
    return [body["metadata"]["name"] for body in bodies]


def test_what_others_wrote_comes_once_and_in_time(tmp_path: Path) -> None:
    """The journal is followed while it grows; the executor's lines and time marks are passed over."""
    path = tmp_path / "twin.journal"
    journal, writes = Journal(path, WORLD), JournaledWrites(path)
    assert names(writes, 5.0) == []
    journal.note(1.0, creation("a"), "exerciser")
    journal.reserve(2.0, 1.0)
    journal.note(2.0, creation("b"), "executor")
    journal.note(3.0, creation("c"), "admin")
    assert names(writes, 2.5) == ["a"]
    assert names(writes, 2.5) == []
    journal.note(4.0, creation("d"), "exerciser")
    assert names(writes, 4.0) == ["c", "d"]


def test_a_line_that_is_still_being_written_waits(tmp_path: Path) -> None:
    """Half a line is no damage; it is read once it is whole."""
    path = tmp_path / "twin.journal"
    Journal(path, WORLD).note(1.0, creation("a"), "exerciser")
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    writes = JournaledWrites(path)
    assert names(writes, 5.0) == []
    path.write_bytes(whole)
    assert names(writes, 5.0) == ["a"]


@pytest.mark.parametrize("line", [b"{\n", b'{"t":1,"m":"GET"}\n'])
def test_a_journal_that_does_not_name_who_wrote_is_refused(tmp_path: Path, line: bytes) -> None:
    """Damage, and lines of an older twin, are named with their place."""
    path = tmp_path / "twin.journal"
    Journal(path, WORLD).close()
    path.write_bytes(path.read_bytes() + line)
    with pytest.raises(ConfigError, match="line 2 is damaged, or of an older twin"):
        names(JournaledWrites(path), 5.0)
    with pytest.raises(ConfigError, match="the twin's file"):
        names(JournaledWrites(tmp_path / "none"), 5.0)


def test_a_world_with_the_same_writes_is_the_same_world(monkeypatch: pytest.MonkeyPatch) -> None:
    """Played in slices and late, a world with others' writes has the state of one played at once."""
    monkeypatch.setattr("foresail.untouched.world.SLICE_EVENTS", 1)
    begin = Engine(seed=4).now
    mirrored = MirroredWrites()
    played, untouched = Engine(seed=4), Engine(seed=4)
    world = UntouchedWorld(untouched, mirrored, settles_at_requests=False)
    other = UntouchedWorld(played, MirroredWrites(), settles_at_requests=False)
    for seconds, name in ((10.0, "a"), (70.0, "b")):
        list(other.advance(begin + seconds))
        request = creation(name)
        other.apply(request)
        mirrored.note_write(Write(begin + seconds, request))
    list(other.advance(begin + 200.0))
    slices = len(list(world.advance(begin + 200.0)))
    assert slices > 10
    assert untouched.store.find("namespaces", "", "b") is not None
    assert untouched.state_hash() == played.state_hash()


def test_a_look_sees_what_was_written_before_it_and_no_later_write_of_its_moment() -> None:
    """Writes of one moment are told apart by whether they came before the look."""
    mirrored = MirroredWrites()
    mirrored.note_write(Write(1.0, creation("a")))
    mirrored.note_collected(1.0)
    mirrored.note_collected(1.0)
    mirrored.note_write(Write(1.0, creation("b")))
    mirrored.note_collected(2.0)
    assert names(mirrored, 1.0) == ["a"]
    assert names(mirrored, 2.0) == ["b"]
