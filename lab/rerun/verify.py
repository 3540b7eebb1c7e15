"""Does today's code say what the recording says? A report by layer, with the first difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bus.events import read_entry
from bus.port import StoredMessage
from bus.recording import Recording, open_recording
from lab.queue.rerun import ChoiceCheck
from lab.rerun.causes import Link, chain_of
from lab.rerun.compare import (
    FieldDifference,
    added_fields,
    differences,
    only_environment,
    same_place,
)
from lab.rerun.engine import LAYERS, Plan, Rerun
from lab.rerun.garbage import rare_collections
from lab.rerun.stage import Pair

QUEUE = "queue"
"""Layer of a policy's choices about Kueue's queues."""


@dataclass(slots=True)
class LayerCount:
    """Result of one layer's comparison."""

    equal: int = 0
    different: int = 0
    environment: int = 0
    """Predictions of a trained model that differ in its floats alone, by next to nothing."""
    ungrounded: int = 0
    """Not compared: what they were computed from is not in the recording."""

    @property
    def compared(self) -> int:
        """Events of the layer that were compared."""
        return self.equal + self.different + self.environment


@dataclass(frozen=True, slots=True)
class Difference:
    """One event that today's code would not have published."""

    seq: int
    layer: str
    process: str
    subject: str
    type: str
    cycle: int
    fields: tuple[FieldDifference, ...]
    causes: tuple[Link, ...]
    environment: bool


@dataclass(slots=True)
class Report:
    """Result of verifying a recording."""

    file: str
    layers: dict[str, LayerCount] = field(default_factory=dict)
    first: Difference | None = None
    """The first difference; an environment difference only when there is no other."""
    messages: int = 0
    recorded_seconds: float = 0.0
    damage: str = ""
    unreadable: Counter[str] = field(default_factory=Counter)
    as_recorded: Counter[str] = field(default_factory=Counter)
    """Proposals taken as recorded, by agent: those of agents that are not installed here."""
    added: dict[str, set[str]] = field(default_factory=dict)
    """By event type: fields that today's form has and the recording's had not."""

    @property
    def compared(self) -> int:
        """Events that were compared."""
        return sum(layer.compared for layer in self.layers.values())

    @property
    def not_compared(self) -> tuple[str, ...]:
        """Layers asked for of which not one event was compared."""
        return tuple(name for name, layer in self.layers.items() if layer.compared == 0)

    @property
    def different(self) -> int:
        """Events that differ, environment differences apart."""
        return sum(layer.different for layer in self.layers.values())

    @property
    def holds(self) -> bool:
        """Whether something of every layer and agent asked for was compared and nothing differs."""
        looked_at_all = not self.not_compared and not self.as_recorded
        return looked_at_all and self.different == 0 and not self.unreadable


def verify(
    path: Path,
    layers: frozenset[str] = frozenset(LAYERS),
    models: Mapping[str, str] | None = None,
    on_message: Callable[[StoredMessage], None] | None = None,
) -> Report:
    """Compute the layers of a recording again and compare.

    Args:
        path: the recording.
        layers: which of `LAYERS`.
        models: folders of models by id, where they are not shipped ones.
        on_message: called with every message, for progress.

    Raises:
        InputError: it cannot be read, or today's code cannot run with its settings.
    """
    recording = open_recording(path)
    rerun = Rerun(recording.header, Plan(layers, models=models or {}))
    queue_alone = recording.header.get("layers") == [QUEUE]
    names = () if queue_alone else [name for name in LAYERS if name in layers]
    report = Report(path.name, {name: LayerCount() for name in names})
    choices = ChoiceCheck()
    messages = _with_choices(_messages_with_progress(recording, on_message), choices)
    with rare_collections():
        first, close = _count_pairs(rerun.pairs(messages), rerun, report)
    if queue_alone or choices.seen:
        report.layers[QUEUE] = LayerCount(
            choices.equal, choices.different, ungrounded=choices.ungrounded
        )
    report.messages, report.damage = rerun.messages, recording.damage
    report.recorded_seconds = (rerun.last_ns - rerun.first_ns) / 1e9
    report.unreadable, report.as_recorded = rerun.unreadable, rerun.as_recorded
    difference = first or close
    if difference is not None:
        report.first = _difference(recording, difference, rerun)
    return report


def _with_choices(
    messages: Iterator[StoredMessage], choices: ChoiceCheck
) -> Iterator[StoredMessage]:
    """Yield messages on; those about queues are told to who makes choices again."""
    for message in messages:
        if message.subject.split(".", 3)[2:3] == [QUEUE]:  # a subject's layer, unescaped
            entry = read_entry(message)
            if entry.event is not None:
                choices.take(entry.event.data)
        yield message


def _count_pairs(
    pairs: Iterator[Pair], rerun: Rerun, report: Report
) -> tuple[Pair | None, Pair | None]:
    """Count pairs into a report; return the first that differs, and the first that nearly does not."""
    first: Pair | None = None
    close: Pair | None = None
    for pair in pairs:
        count = report.layers[pair.layer]
        if not pair.grounded:
            count.ungrounded += 1
        elif pair.equal or _equal_in_older_form(pair, rerun, report):
            count.equal += 1
        elif only_environment(pair, rerun.origin):
            count.environment += 1
            close = close or pair
        else:
            count.different += 1
            first = first or pair
    return first, close


def as_json(report: Report) -> dict[str, Any]:
    """Return a report as JSON values."""
    first = report.first
    return {
        "file": report.file,
        "holds": report.holds,
        "compared": report.compared,
        "messages": report.messages,
        "recorded_seconds": round(report.recorded_seconds, 3),
        "damage": report.damage,
        "not_compared": list(report.not_compared),
        "unreadable": dict(sorted(report.unreadable.items())),
        "as_recorded": dict(sorted(report.as_recorded.items())),
        "added_fields": {name: sorted(fields) for name, fields in sorted(report.added.items())},
        "layers": {
            name: {
                "equal": layer.equal,
                "different": layer.different,
                "environment": layer.environment,
                "ungrounded": layer.ungrounded,
            }
            for name, layer in report.layers.items()
        },
        "first_difference": None
        if first is None
        else {
            "seq": first.seq,
            "layer": first.layer,
            "process": first.process,
            "subject": first.subject,
            "type": first.type,
            "cycle": first.cycle,
            "environment": first.environment,
            "fields": [
                {"path": field.path, "recorded": field.recorded, "computed": field.computed}
                for field in first.fields
            ],
            "causes": [
                {"seq": cause.seq, "subject": cause.subject, "id": cause.id, "depth": cause.depth}
                for cause in first.causes
            ],
        },
    }


def _equal_in_older_form(pair: Pair, rerun: Rerun, report: Report) -> bool:
    """Say whether only fields differ that did not exist when the recording was made; note them."""
    new_event = pair.computed
    placed = new_event is not None and same_place(pair.recorded, new_event, rerun.origin)
    fields = added_fields(pair) if placed else ()
    if fields:
        report.added.setdefault(pair.recorded.event.type, set()).update(fields)
    return bool(fields)


def _messages_with_progress(
    recording: Recording, on_message: Callable[[StoredMessage], None] | None
) -> Any:
    if on_message is None:
        return recording

    def report_each() -> Any:
        for message in recording:
            on_message(message)
            yield message

    return report_each()


def _difference(recording: Recording, pair: Pair, rerun: Rerun) -> Difference:
    event, message = pair.recorded.event, pair.recorded.message
    return Difference(
        seq=message.seq,
        layer=pair.layer,
        process=pair.process,
        subject=message.subject,
        type=event.type,
        cycle=event.cycle,
        fields=differences(pair, rerun.origin),
        causes=chain_of(recording, event),
        environment=only_environment(pair, rerun.origin),
    )
