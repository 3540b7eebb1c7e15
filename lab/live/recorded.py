"""Two recordings beside each other as clusters, on one axis of cluster time: lanes, windows, cards.

Whoever recorded them watched whole clusters, so every node counts as a worker and no namespace is a stimulus's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bus.events import read_entry
from bus.port import StoredMessage
from bus.recording import open_recording
from lab.live.figures import ROWS
from lab.live.history import ClusterHistory, HistoryReader
from lab.live.windows import Comparison, compare_by_time
from schemas.envelope import Event
from schemas.observation import Observation
from schemas.outcome import OutcomeReward
from schemas.prediction import PredictionRisk
from schemas.run import RunDataSource
from schemas.score import OutcomeScore

WINDOW_SECONDS = 300.0
MOST_POINTS = 600
"""Of a lane; a longer one is told by means."""
OVERLAP = 0.5
"""Share of the shorter recording that both have to be at the same cluster time, to be held beside each other by it."""
LANES: dict[str, tuple[str, str]] = {
    "highest_risk": ("safety", "ratio"),
    "unhealthy": ("safety", "pods"),
    "pods_pending": ("admission", "pods"),
    "watts": ("efficiency", "W"),
    "reward": ("", "reward"),
}
"""By name: whose pressure it is (empty: all agents'), and its unit."""

Points = list[tuple[float, float]]


@dataclass(slots=True)
class RecordedRun:
    """One recording, read as a cluster."""

    name: str
    history: ClusterHistory
    cluster: str
    risk: Points = field(default_factory=list)
    """Cluster time, and the highest risk of a node."""
    reward: Points = field(default_factory=list)
    """Cluster time of what was observed, and the total reward."""
    source: RunDataSource | None = None
    score: OutcomeScore | None = None
    simulated: bool = False

    @property
    def begin(self) -> float:
        """Cluster time of the first look; NaN without one."""
        return self.history.samples[0].at_seconds if self.history.samples else math.nan

    @property
    def end(self) -> float:
        """Cluster time of the last look."""
        return self.history.samples[-1].at_seconds if self.history.samples else math.nan

    def lane(self, name: str) -> Points:
        """Return a lane's values by cluster time."""
        if name == "highest_risk":
            return self.risk
        if name == "reward":
            return self.reward
        return [(one.at_seconds, one.figures.get(name, math.nan)) for one in self.history.samples]


@dataclass(frozen=True, slots=True)
class RecordedPair:
    """Two recordings on one axis, whose 0 is the beginning of the earlier one."""

    runs: tuple[RecordedRun, RecordedRun]
    offsets: tuple[float, float]
    """Cluster time of each at the axis' 0."""
    by_cluster_time: bool
    """Whether they are beside each other by cluster time; else each begins at 0."""
    comparison: Comparison

    @property
    def seconds(self) -> float:
        """Length of the axis."""
        ends = (run.end - offset for run, offset in zip(self.runs, self.offsets, strict=True))
        return max((end for end in ends if not math.isnan(end)), default=0.0)


def read_run(
    path: Path, name: str, on_message: Callable[[StoredMessage], None] | None = None
) -> RecordedRun:
    """Read a recording.

    Raises:
        InputError: it cannot be read.
    """
    recording = open_recording(path)
    reader = HistoryReader(name, frozenset(), "", by_cluster_time=True)
    cluster = f"{recording.header.get('cluster')}/{recording.header.get('incarnation')}"
    run = RecordedRun(name, reader.history(), cluster)
    times: dict[int, float] = {}
    for message in recording:
        if on_message is not None:
            on_message(message)
        event = read_entry(message).event
        if event is not None:
            reader.add(event)
            _add(run, event, times)
    run.history = reader.history(recording.damage)
    return run


def _add(run: RecordedRun, event: Event[Any], times: dict[int, float]) -> None:
    match event.data:
        case Observation() as data:
            times[data.cycle] = data.cluster_time_seconds
            run.simulated = run.simulated or any(signal.simulated for signal in data.signals)
        case PredictionRisk() as data if data.nodes.risk_ratio:
            run.risk.append((data.cluster_time_seconds, max(data.nodes.risk_ratio)))
        case OutcomeReward(observed=observed, observed_cycle=cycle) if observed is not None:
            if cycle in times:
                run.reward.append((times[cycle], observed.total))
        case RunDataSource() as data:
            run.source = data
        case OutcomeScore() as data:
            run.score = data
        case _:
            pass


def pair_runs(first: RecordedRun, second: RecordedRun) -> RecordedPair:
    """Return two recordings on one axis: by cluster time where they overlap, else from the beginning of each."""
    both = min(first.end, second.end) - max(first.begin, second.begin)
    shorter = min(first.end - first.begin, second.end - second.begin)
    by_cluster_time = both >= OVERLAP * shorter  # false with NaN: one of them shows nothing
    earlier = min(first.begin, second.begin)
    offsets = (earlier, earlier) if by_cluster_time else (first.begin, second.begin)
    moved = [
        replace(
            run.history,
            samples=tuple(
                replace(one, at_seconds=one.at_seconds - offset) for one in run.history.samples
            ),
        )
        for run, offset in zip((first, second), offsets, strict=True)
    ]
    comparison = compare_by_time(moved[0], moved[1], WINDOW_SECONDS)
    return RecordedPair((first, second), offsets, by_cluster_time, comparison)


def axis_of(pair: RecordedPair) -> list[float]:
    """Return the middles of the axis' steps, seconds; each as long as a cycle, or longer where there are many."""
    samples = max((run.history.samples for run in pair.runs), key=len)
    count = min(MOST_POINTS, max(1, len(samples)))
    step = (pair.seconds or 1.0) / count
    return [round((number + 0.5) * step, 3) for number in range(count)]


def stepped(points: Points, offset: float, axis: Sequence[float]) -> list[float | None]:
    """Return the mean of a lane's values in each step of the axis; None where nothing was seen."""
    step = 2.0 * axis[0]
    sums, counts = [0.0] * len(axis), [0] * len(axis)
    for at, value in points:
        place = min(len(axis) - 1, int((at - offset) / step))
        if place >= 0 and not math.isnan(value):
            sums[place] += value
            counts[place] += 1
    return [
        round(total / count, 6) if count else None
        for total, count in zip(sums, counts, strict=True)
    ]


def lanes_json(pair: RecordedPair) -> dict[str, Any]:
    """Return the axis, the lanes and the difference table's rows over it, of both."""
    axis = axis_of(pair)

    def both(name: str) -> list[list[float | None]]:
        return [
            stepped(run.lane(name), offset, axis)
            for run, offset in zip(pair.runs, pair.offsets, strict=True)
        ]

    return {
        "at": axis,
        "lanes": [
            {"name": name, "agent": agent, "unit": unit, "values": both(name)}
            for name, (agent, unit) in LANES.items()
        ],
        "rows": [{"name": name, "unit": unit, "values": both(name)} for name, unit in ROWS.items()],
    }
