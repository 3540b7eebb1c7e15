"""A recording that is played on end, for an hour of the page: one log that goes on, not the same one again."""

from __future__ import annotations

from itertools import islice, pairwise

from benchmarks.longer_recording import played_on_end
from bus.events import cycle_of_message
from bus.recording import open_recording
from bus.scratch_file import ScratchFile
from schemas.envelope import attributes_of
from services.dashboard.archive import Archive
from services.dashboard.arrival import arrival_of
from services.dashboard.incident_books import IncidentBooks
from services.dashboard.kept_states import KeptStates
from services.dashboard.page import Page, evolve
from tests.dashboard.test_past import RECORDING


def test_positions_times_cycles_and_ids_go_on() -> None:
    """Played three times, nothing comes twice, and the page reads all of it as one run."""
    recorded = list(open_recording(RECORDING))
    played = list(islice(played_on_end(RECORDING), 3 * len(recorded)))
    page, archive = Page(), Archive(KeptStates(ScratchFile), IncidentBooks(ScratchFile))
    for message in played:
        page = evolve(page, arrival := arrival_of(message))
        archive.add(page, arrival)
    observed = [one for one in played if one.subject.endswith(".twin.observation")]

    assert played[: len(recorded)] == recorded
    assert [one.subject for one in played] == 3 * [one.subject for one in recorded]
    assert all(
        one.seq < other.seq and one.time_ns <= other.time_ns for one, other in pairwise(played)
    )
    assert all(cycle_of_message(one) < cycle_of_message(other) for one, other in pairwise(observed))
    assert len({attributes_of(one.headers)["id"] for one in played}) == len(played)
    assert all(before < after for before, after in pairwise(archive.cycle_times))
    assert len(archive.cycle_numbers) == len(archive.decisions) == len(observed)
    assert page.observation is not None
    assert page.observation.cycle == cycle_of_message(observed[-1])
