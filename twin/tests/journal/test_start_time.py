"""A live twin starts at the wall clock, and stays with that moment over restarts."""

from __future__ import annotations

from pathlib import Path

from inputs.clock import ManualClock
from twin.__main__ import open_world
from twin.api.journal import Journal, Recorded, recorded_world
from twin.config import START_2026
from twin.settings import TwinSettings, read_settings
from twin.world_settings import with_start, world_of

NOW_NS = 1_800_000_000_987_654_321


def test_a_fresh_twin_starts_now(tmp_path: Path) -> None:
    """At the wall clock's whole second, which its journal holds; the first objects are as old."""
    path = tmp_path / "journal"
    given = TwinSettings(nodes=2, workload="idle", journal=path)
    engine, journal = open_world(with_start(given, ManualClock(NOW_NS)))
    assert journal is not None
    journal.close()

    assert engine.now == 1_800_000_000.0
    assert engine.store.get("nodes", "", "node-0000")["metadata"]["creationTimestamp"] == (
        "2027-01-15T08:00:00Z"
    )
    assert recorded_world(path) == Recorded(1_800_000_000.0, server_objects=True)


def test_a_restarted_twin_goes_on_in_its_own_time(tmp_path: Path) -> None:
    """An hour later the journal decides, and the state is that of the first life."""
    given = TwinSettings(nodes=2, workload="idle", journal=tmp_path / "journal")
    states = []
    for wall_ns in (NOW_NS, NOW_NS + 3_600_000_000_000):
        engine, journal = open_world(with_start(given, ManualClock(wall_ns)))
        assert journal is not None
        journal.close()
        states.append(engine.state_hash())

    assert states[0] == states[1]


def test_a_start_that_is_given_counts(tmp_path: Path) -> None:
    """The flag wins over the clock; a journal that cannot be read decides nothing."""
    settings = read_settings(["--start-time", "2026-01-01T00:00:00Z"])
    assert with_start(settings, ManualClock(NOW_NS)).start_time_seconds == START_2026
    damaged = tmp_path / "damaged"
    damaged.write_text("[1]\n")
    assert recorded_world(damaged) is None
    assert recorded_world(tmp_path / "none") is None


def test_a_world_of_an_older_version_stays_as_it_was(tmp_path: Path) -> None:
    """Its journal does not speak of server objects, so there are none; a new world has them."""
    path = tmp_path / "journal"
    given = TwinSettings(nodes=2, workload="idle", journal=path)
    older = given.model_copy(update={"server_objects": False, "start_time_seconds": START_2026})
    Journal(path, world_of(older)).close()
    engine, journal = open_world(with_start(given, ManualClock(NOW_NS)))
    assert journal is not None
    journal.close()

    assert (engine.now, engine.store.count("servicecidrs")) == (START_2026, 0)
    new = given.model_copy(update={"journal": tmp_path / "new"})
    engine, journal = open_world(with_start(new, ManualClock(NOW_NS)))
    assert journal is not None
    journal.close()
    assert engine.store.count("servicecidrs") == 1
