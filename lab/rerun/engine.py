"""One pass over a recording: route each event to the stages that read it, ask those that wrote it.

Two ways to chain. Verifying, every layer gets the recorded events of the layers before it, so that
one difference does not spread. Asking what-if, it gets the computed ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bus.errors import InputError
from bus.port import StoredMessage
from lab.rerun.answering import AnsweringStage
from lab.rerun.observing import ObservingStage
from lab.rerun.ruling import RulingStage
from lab.rerun.scoring import ScoringStage
from lab.rerun.settings import NO_CHANGES, Changes, agent_settings, settings_from
from lab.rerun.stage import AnyEvent, Pair, Recorded, RerunStage
from lab.rerun.trusted import attributes_in, event_with, read_event
from schemas import subjects
from schemas.actions import AgentName
from schemas.agents import agent_names
from schemas.checkpoint import Checkpoint
from schemas.config import Config
from schemas.frames import FramedData, FrameMismatch, FullState, apply_frame
from schemas.identity import Origin
from schemas.proposal import Proposal
from schemas.registry import UnknownEvent
from services.agents.service import build as build_agent
from services.inference.service import build as build_inference
from services.inference.settings import InferenceSettings
from services.referee.rule import Rule

LAYERS = ("observation", "prediction", "proposal", "decision", "outcome")
"""Layers that are computed again, in order."""


NAMED = ("model", "demand_model")


@dataclass(frozen=True)
class Plan:
    """Plan of a re-run."""

    layers: frozenset[str] = frozenset(LAYERS)
    changes: Changes = field(default_factory=lambda: NO_CHANGES)
    rules: Sequence[Rule] | None = None
    models: Mapping[str, str] = field(default_factory=dict)
    """Folders of models by id: where to find those that the recording names."""
    chained: bool = False
    """Each layer gets the computed events of the layers before it."""


@dataclass(frozen=True, slots=True)
class _Route:
    writer: RerunStage | None
    readers: tuple[RerunStage, ...]
    side: bool
    foreign_agent: AgentName = ""
    """Whose proposals these are, when its agent is not installed here and they should be computed."""


class Rerun:
    """A re-run of one recording."""

    def __init__(self, header: Mapping[str, Any], plan: Plan) -> None:
        """Prepare the stages.

        Raises:
            InputError: the header does not say whose log it is.
        """
        try:
            self.origin = Origin(header["cluster"], header["incarnation"])
        except KeyError as error:
            raise InputError("recording", "header", f"it lacks {error}") from error
        self._plan = plan
        self._cut = header.get("cut") or {}
        self._stages: tuple[RerunStage, ...] = ()
        self._routes: dict[str, _Route] = {}
        self._configs: dict[str, Config] = {}
        self._full: dict[str, FullState] = {}
        self._side_patterns: tuple[tuple[str, ...], ...] = ()
        self.unreadable: Counter[str] = Counter()
        """Messages that are no events today's code knows, by subject."""
        self.as_recorded: Counter[AgentName] = Counter()
        """Proposals taken as recorded, by agent, since the agent is not installed here."""
        self.messages = 0
        self.first_ns = self.last_ns = 0
        self._newest_seq = self._unbroken_seq = 0

    def pairs(
        self,
        messages: Iterable[StoredMessage],
        on_event: Callable[[AnyEvent, AnyEvent], None] | None = None,
    ) -> Iterator[Pair]:
        """Yield recorded outputs with what is computed in their place, as soon as both are known.

        Args:
            messages: the recording's messages in order.
            on_event: called with (recorded, used) of every event that a stage reads.

        Raises:
            InputError: the recording lacks the settings of a process, or they do not work here.
        """
        for message in messages:
            if not self._stages:
                self._begin(message)
            self.messages += 1
            if message.seq != self._newest_seq + 1:
                self._unbroken_seq = message.seq
            self._newest_seq = message.seq
            self.last_ns = message.time_ns
            route = self._routes.get(message.subject) or self._route(message.subject)
            if route.foreign_agent:
                self.as_recorded[route.foreign_agent] += 1
            if route.writer is None and not route.readers and not route.side:
                continue
            try:
                yield from self._dispatch(message, route, on_event)
            except UnknownEvent:
                self.unreadable[message.subject] += 1
        for stage in self._stages:
            yield from stage.finish()

    def _dispatch(
        self,
        message: StoredMessage,
        route: _Route,
        on_event: Callable[[AnyEvent, AnyEvent], None] | None,
    ) -> Iterator[Pair]:
        """Give one message to those whom it concerns."""
        if route.side:
            self._side(read_event(message))
            return
        if route.writer is None:
            recorded = used = self._unfold(read_event(message))
        else:
            self._check_ready(route.writer)
            own = Recorded(message, attributes_in(message.headers))
            answers = route.writer.answer(own)
            yield from answers
            if not route.readers and on_event is None:
                return
            used = self._event_for_layers(own, answers)
            recorded = own.event if on_event is not None else used
        if on_event is not None:
            on_event(recorded, used)
        for reader in route.readers:
            reader.take(used)

    def _begin(self, first: StoredMessage) -> None:
        self.first_ns = first.time_ns
        whole = not self._cut and first.seq == 1
        # A log read from its beginning needs no checkpoint, and those are large.
        self._side_patterns = (Config.PATTERN,) if whole else (Config.PATTERN, Checkpoint.PATTERN)
        self._stages = _stages(self._plan, self.origin, from_start=whole)

    def _side(self, event: AnyEvent) -> None:
        if isinstance(event.data, Checkpoint):
            first_seq = self._cut.get("first_seq", self._unbroken_seq)
            for stage in self._stages:
                if stage.process == event.data.process and event.data.folded_seq >= first_seq - 1:
                    stage.restore(event.data)
            return
        data: Config = event.data
        if self._configs.get(data.process) == data:
            return
        self._configs[data.process] = data
        for stage in self._stages:
            if stage.process == data.process:
                stage.configure(data)
                self._routes.clear()  # what a handler reads is known only now

    def _check_ready(self, stage: RerunStage) -> None:
        if not stage.ready:
            raise InputError(
                "recording",
                f"config.{stage.process}",
                "it is not there, so nobody knows the settings; "
                "record from the log's beginning or cut with `foresail recording cut`",
            )

    def _event_for_layers(self, recorded: Recorded, answers: Sequence[Pair]) -> AnyEvent:
        """Return what the layers behind get to read."""
        if not self._plan.chained:
            return self._unfold(recorded.event)
        own = next((answer for answer in answers if answer.recorded is recorded), None)
        if own is None or own.computed is None:
            return self._unfold(recorded.event)
        new_event = own.computed
        return replace(event_with(recorded.message, new_event.data), causation_ids=new_event.causes)

    def _unfold(self, event: AnyEvent) -> AnyEvent:
        """Unfold a frame once for all who read it; its bytes are proven by the recording."""
        data = event.data
        if isinstance(data, FramedData):
            try:
                full = apply_frame(self._full.get(data.TYPE), data, prove=False)
            except FrameMismatch:
                self._full.pop(data.TYPE, None)
            else:
                self._full[data.TYPE] = full
                data.attach_full_state(full)
        return event

    def _route(self, subject: str) -> _Route:
        cluster = self.origin.cluster

        def fits(patterns: Iterable[tuple[str, ...]]) -> bool:
            return any(
                subjects.matches(subjects.pattern(cluster, tokens), subject) for tokens in patterns
            )

        writer = next((stage for stage in self._stages if fits(stage.writes)), None)
        readers = tuple(
            stage for stage in self._stages if stage is not writer and fits(stage.reads)
        )
        foreign = writer is None and "proposal" in self._plan.layers and fits((Proposal.PATTERN,))
        agent = subjects.parse(subject).tokens[-1] if foreign else ""
        route = _Route(writer, readers, fits(self._side_patterns), agent)
        self._routes[subject] = route
        return route


def _stages(plan: Plan, origin: Origin, *, from_start: bool) -> tuple[RerunStage, ...]:
    """Return the stages of the layers asked for, in the order of the layers."""
    made: list[RerunStage] = []
    if "observation" in plan.layers:
        made.append(ObservingStage(plan.changes, origin, chained=plan.chained))
    if "prediction" in plan.layers:
        made.append(_inference(plan, origin, from_start=from_start))
    if "proposal" in plan.layers:
        made.extend(
            _agent(agent, plan.changes, origin, from_start=from_start) for agent in agent_names()
        )
    if "decision" in plan.layers:
        made.append(
            RulingStage(origin, from_start=from_start, chained=plan.chained, rules=plan.rules)
        )
    if "outcome" in plan.layers:
        made.append(ScoringStage(plan.changes, origin, from_start=from_start))
    return tuple(made)


def _inference(plan: Plan, origin: Origin, *, from_start: bool) -> AnsweringStage:
    def build(config: Config) -> Any:
        redirected = config.model_copy(
            update={"settings": _with_folders(config.settings, plan.models)}
        )
        settings = settings_from(InferenceSettings, "inference", redirected, plan.changes)
        return build_inference(settings, origin)

    writes = (("prediction", ">"),)
    return AnsweringStage("inference", "prediction", writes, build, origin, from_start=from_start)


def _with_folders(settings: dict[str, Any], models: Mapping[str, str]) -> dict[str, Any]:
    """Return settings that name the folders of models instead of ids, where a folder is known."""
    folders = {name: models.get(value, value) for name, value in settings.items() if name in NAMED}
    shadows = [models.get(model, model) for model in settings.get("shadow_models", ())]
    return {**settings, **folders, "shadow_models": shadows}


def _agent(
    agent: AgentName, changes: Changes, origin: Origin, *, from_start: bool
) -> AnsweringStage:
    def build(config: Config) -> Any:
        return build_agent(agent_settings(agent, config, changes), origin, agent)

    writes = (("proposal", agent), ("learned", agent))
    return AnsweringStage(
        f"agent-{agent}", "proposal", writes, build, origin, from_start=from_start
    )
