"""Reading a cluster's log of a comparison: looks in order, and the stimuli between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bus.errors import InputError
from bus.events import read_entry
from bus.recording import open_recording
from lab.live.figures import CycleTables, Figures, figures_of
from projections.score.money import score_of, slo_of
from projections.score.prices import ScorePrices
from projections.score.tally import Tally, add_score_input, begin_tally, score_input_of
from schemas.envelope import Event
from schemas.frames import FramedData, FrameMismatch, FullState, apply_frame
from schemas.observation import Observation
from schemas.snapshot import SnapshotNodes, SnapshotPlacements, SnapshotWorkloads
from schemas.stimulus import Stimulus
from schemas.view import ObservationView, update_view

SUFFIX = ".fslog"
HEADER = "comparison"
"""Of the header: the cluster's name, its control-plane nodes, where the stimuli are."""
_SECOND = 1e-9


@dataclass(frozen=True, slots=True)
class ClusterSample:
    """One look at one cluster."""

    at_seconds: float
    """Recorded time, seconds since the Unix epoch, by the clock of the machine that watched both."""
    figures: Figures
    money: float | None
    """Outcome score since the first look; None where the log does not count work."""


@dataclass(frozen=True, slots=True)
class StimulusMark:
    """A stimulus as one cluster's log has it."""

    at_seconds: float
    data: Stimulus


@dataclass(frozen=True, slots=True)
class ClusterHistory:
    """One cluster's side of a comparison."""

    name: str
    samples: tuple[ClusterSample, ...]
    stimuli: tuple[StimulusMark, ...]
    damage: str = ""
    """Why the log could not be read to its end; empty when it could."""


@dataclass(slots=True)
class HistoryReader:
    """Builds a cluster's history from its events."""

    name: str
    control_plane: frozenset[str]
    namespace: str
    prices: ScorePrices = field(default_factory=ScorePrices)
    by_cluster_time: bool = False
    """Whether looks are placed by cluster time, not by when they were recorded: a simulated cluster may run faster."""
    _full: dict[str, FullState] = field(default_factory=dict)
    _nodes: SnapshotNodes | None = None
    _workloads: SnapshotWorkloads | None = None
    _view: ObservationView | None = None
    _tally: Tally | None = None
    _samples: list[ClusterSample] = field(default_factory=list)
    _stimuli: list[StimulusMark] = field(default_factory=list)

    def add(self, event: Event[Any]) -> None:
        """Take the next event of the log."""
        data = event.data
        if isinstance(data, Stimulus):
            self._stimuli.append(StimulusMark(event.recorded_ns * _SECOND, data))
        elif isinstance(data, SnapshotNodes | SnapshotPlacements | SnapshotWorkloads):
            self._add_frame(data)
            if isinstance(data, SnapshotNodes):
                self._nodes = data
            elif isinstance(data, SnapshotWorkloads):
                self._workloads = data
        elif isinstance(data, Observation):
            self._view = update_view(self._view, event)
            self._add_sample(event, data)

    def _add_frame(self, data: FramedData) -> None:
        try:
            self._full[data.TYPE] = apply_frame(self._full.get(data.TYPE), data)
        except FrameMismatch:
            self._full.pop(data.TYPE, None)  # after a gap the next keyframe goes on

    def _add_sample(self, event: Event[Any], observation: Observation) -> None:
        states = [
            self._full.get(kind.TYPE)
            for kind in (SnapshotNodes, SnapshotPlacements, SnapshotWorkloads)
        ]
        if self._nodes is None or self._workloads is None:
            return
        tables: dict[str, Any] = {}
        for state in states:
            if state is None or state.cycle != observation.cycle:
                return
            tables |= state.tables
        missing = frozenset(source.source for source in self._nodes.sources if not source.ok)
        look = CycleTables(
            **tables, state=self._workloads, totals=observation.totals, missing=missing
        )
        figures = figures_of(look, self.control_plane, self.namespace)
        recorded = event.recorded_ns * _SECOND
        at_seconds = observation.cluster_time_seconds if self.by_cluster_time else recorded
        self._samples.append(ClusterSample(at_seconds, figures, self._money()))

    def _money(self) -> float | None:
        look = None if self._view is None else score_input_of(self._view)
        if look is None:
            return None
        self._tally = (
            begin_tally(look)
            if self._tally is None
            else add_score_input(self._tally, look, slo_of(self.prices))
        )
        return score_of(self._tally, self.prices).total_money

    def history(self, damage: str = "") -> ClusterHistory:
        """Return what was read so far."""
        return ClusterHistory(self.name, tuple(self._samples), tuple(self._stimuli), damage)


def header_of(name: str, control_plane: Iterable[str], namespace: str) -> Mapping[str, Any]:
    """Return what a comparison's recording says of itself under `HEADER`."""
    return {"name": name, "control_plane": sorted(control_plane), "namespace": namespace}


def read_history(path: Path) -> ClusterHistory:
    """Read one cluster's recording.

    Raises:
        InputError: it cannot be read, or is no recording of a comparison.
    """
    recording = open_recording(path)
    about = recording.header.get(HEADER)
    if not isinstance(about, dict):
        raise InputError("--dir", path, "give a folder that `foresail experiment live` wrote")
    reader = HistoryReader(
        str(about.get("name", path.stem)),
        frozenset(about.get("control_plane", ())),
        str(about.get("namespace", "")),
    )
    for message in recording:
        event = read_entry(message).event
        if event is not None:
            reader.add(event)
    return reader.history(recording.damage)


def read_histories(folder: Path) -> tuple[ClusterHistory, ClusterHistory]:
    """Read both sides of a comparison, the first of its names first.

    Raises:
        InputError: the folder does not hold exactly two recordings of a comparison.
    """
    paths = sorted(folder.glob(f"*{SUFFIX}"))
    if len(paths) != 2:
        remedy = f"give a folder with the two {SUFFIX} files of `foresail experiment live`"
        raise InputError("--dir", folder, remedy)
    first, second = (read_history(path) for path in paths)
    return first, second
