"""A trace played as an episode: each row is observed, foreseen, proposed on, decided and rewarded, as if it were live.

The rows are what happened, whatever is decided: nothing is executed. Inference, agents, referee and scoreboard are the
services' own handlers, asked one after the other, so the result is a recording like any other and the same each time.
"""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bus.events import event_of
from bus.handler_process import config_of
from bus.port import StoredMessage
from bus.recording.writer import RecordingWriter, writing_recording
from lab.recordings.predecessors.forms import TraceRow
from lab.recordings.predecessors.observing import Observing, PowerFigures
from lab.recordings.predecessors.options import Episode
from lab.recordings.predecessors.sources import read_source
from schemas import subjects
from schemas.agents import agent_names
from schemas.config import CODE_VERSION
from schemas.decision import Decision
from schemas.envelope import Event, NewEvent, stamp
from schemas.identity import Origin
from schemas.outcome import OutcomeReward
from schemas.registry import encode
from services.agents.service import build as build_agent
from services.agents.settings import AgentSettings
from services.collector.settings import CollectorSettings
from services.inference.service import build as build_inference
from services.inference.settings import InferenceSettings
from services.referee.service import build as build_referee
from services.referee.settings import RefereeSettings
from services.scoreboard.service import build as build_scoreboard
from services.scoreboard.settings import ScoreboardSettings

COLLECTOR = "collector"
_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Played:
    """What came of it."""

    rows: int
    decisions: Mapping[str, int]
    """Decisions by what was decided."""
    reward_mean: float | None
    """Mean reward by the predecessor's scale; None where no row follows a decision."""


def play_trace(path: Path, out: Path, episode: Episode) -> Played:
    """Play a trace of the predecessor's; write the recording whole, or not at all.

    Raises:
        InputError: the file is no trace, a row does not fit, or the new file cannot be written.
        ConfigError: there is no such profile or model.
    """
    episode.check()
    source = read_source(path, episode)
    rows = source.rows
    digest = source.digest[:12]
    origin = Origin(episode.cluster, f"played-{digest}")
    header = {
        "cluster": origin.cluster,
        "incarnation": origin.incarnation,
        "code_version": CODE_VERSION,
        "played": {"file": path.name, "rows": len(rows), "offset": episode.offset},
    }
    with writing_recording(out, header) as writer:
        return _Stage(origin, episode, writer).play(rows)


class _Stage:
    """The handlers and their states, and the recording of what they say."""

    def __init__(self, origin: Origin, episode: Episode, writer: RecordingWriter) -> None:
        self._origin, self._writer, self._seq = origin, writer, 0
        inference = InferenceSettings(
            model=episode.model,
            shadow_models=(),
            demand_bands=False,
            workload_history=False,
            replica_capacity=False,
        )
        # An agent of a profile without a forecast of its own judges by the thresholds of the formula.
        agents = AgentSettings(profile=episode.profile)
        referee, scoreboard = RefereeSettings(), ScoreboardSettings()
        self._handlers: list[Any] = [
            build_inference(inference, origin),
            *(build_agent(agents, origin, agent) for agent in agent_names()),
            build_referee(referee, origin),
            build_scoreboard(scoreboard, origin),
        ]
        self._states = [handler.initial() for handler in self._handlers]
        self._announced: dict[str, dict[str, Any]] = {
            COLLECTOR: CollectorSettings().announcement(),
            "inference": inference.announcement(),
            **{f"agent-{agent}": agents.announcement(agent) for agent in agent_names()},
            "referee": referee.announcement(),
            "scoreboard": scoreboard.announcement(),
        }
        self._hashes: dict[str, str] = {}
        self._decided: Counter[str] = Counter()
        self._rewards: list[float] = []

    def play(self, rows: Sequence[TraceRow]) -> Played:
        """Play every row."""
        begin = rows[0].timestamp
        for process, settings in self._announced.items():
            config = config_of(process, settings, CODE_VERSION, self._model_ids(process))
            self._hashes[process] = config.config_hash
            self._say(NewEvent(config, 0, begin), process)
        steps = [later.timestamp - row.timestamp for row, later in itertools.pairwise(rows)]
        observing = Observing(statistics.median(steps) if steps else 60.0, PowerFigures())
        for cycle, row in enumerate(rows, start=1):
            self._say(NewEvent(observing.observation(cycle, row), cycle, row.timestamp), COLLECTOR)
            self._answer()
        mean = statistics.fmean(self._rewards) if self._rewards else None
        return Played(
            len(rows),
            dict(sorted(self._decided.items())),
            None if mean is None else round(mean, 6),
        )

    def _model_ids(self, process: str) -> tuple[str, ...]:
        handler = next((one for one in self._handlers if one.name == process), None)
        return tuple(getattr(handler, "model_ids", ()))

    def _answer(self) -> None:
        """Let everybody say what they owe, until nobody owes anything."""
        spoke = True
        while spoke:
            spoke = False
            for number, handler in enumerate(self._handlers):
                for new in handler.decide(self._states[number], overdue=False):
                    self._say(new, handler.name)
                    spoke = True

    def _say(self, new: NewEvent, producer: str) -> None:
        """Store an event and let those who read it take it."""
        self._seq += 1
        encoded = encode(stamp(new, self._origin, producer, self._hashes.get(producer, "")))
        at_ns = round(new.time_seconds * _NS)
        message = StoredMessage(self._seq, at_ns, encoded.subject, encoded.headers, encoded.data)
        self._writer.write(message)
        event = event_of(message)
        self._count(event)
        for number, handler in enumerate(self._handlers):
            if self._reads(handler.reads, event.subject):
                self._states[number] = handler.evolve(self._states[number], event)

    def _reads(self, patterns: Iterable[tuple[str, ...]], subject: str) -> bool:
        cluster = self._origin.cluster
        return any(
            subjects.matches(subjects.pattern(cluster, tokens), subject) for tokens in patterns
        )

    def _count(self, event: Event[Any]) -> None:
        match event.data:
            case Decision() as decision:
                self._decided[str(decision.action.full_kind)] += 1
            case OutcomeReward() as reward if reward.observed is not None:
                self._rewards.append(reward.observed.total)
            case _:
                pass
