"""Is a computed event the recorded one? Same id, type, subject, causes and data bytes.

Time stamps and positions are not compared. Where data differ, the fields that differ are named.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from pydantic import BaseModel

from features.baseline import MEASURED_ID, MODEL_ID
from lab.rerun.stage import Pair, Recorded
from lab.rerun.trusted import attributes_in
from schemas import subjects
from schemas.actions import BaseAction
from schemas.envelope import NewEvent
from schemas.identity import Origin, event_id
from schemas.prediction import Prediction, PredictionDemand
from schemas.registry import to_json
from schemas.upcast import newest_type

SHOWN_FIELDS = 20
KEPT_IDS = 64
"""Each is asked for twice: to find a new event, and to compare it."""
CLOSE_RATIO = 1e-3
"""Floats that a trained model computes and that differ by no more than this share may come from another
CPU."""
FORMULAS = frozenset((MODEL_ID, MEASURED_ID))
"""Predictors that are plain arithmetic, the same on every CPU."""
_OF_A_MODEL = re.compile(
    r"(nodes|risk_table|demand_table)\.(risk_ratio|demand_ratio)\[\d+\]|contributions\[\d+\]\.contribution"
)
"""Fields of a prediction that a trained model computes; all others are made as in any other event."""
_OF_A_RATE_MODEL = re.compile(r"bands\[\d+\]\.series\.(lowest|low|middle|high|highest)\[\d+\]")
"""The same of a model of rates, whose bands come with the demand of whichever predictor."""


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """One field that differs."""

    path: str
    recorded: Any
    computed: Any

    def is_close(self, computed: Sequence[re.Pattern[str]]) -> bool:
        """Say whether both are floats that a trained model computes, by their paths, and nearly the same."""
        if not any(pattern.fullmatch(self.path) for pattern in computed):
            return False
        pair = (self.recorded, self.computed)
        if not all(isinstance(number, float) for number in pair):
            return False
        return math.isclose(*pair, rel_tol=CLOSE_RATIO, abs_tol=CLOSE_RATIO)


class Comparer:
    """Holds computed events against the recorded ones of one producer."""

    def __init__(self, origin: Origin, process: str, layer: str) -> None:
        """Compare what `process` says in `layer`."""
        self._origin = origin
        self._process = process
        self._layer = layer
        self._ids: dict[tuple[str, int, str], str] = {}

    def pair(
        self, recorded: Recorded, new_event: NewEvent | None, *, grounded: bool = True
    ) -> Pair:
        """Return both, compared."""
        same = (
            new_event is not None
            and self.identity(new_event, recorded.old_type) == recorded.id
            and same_place(recorded, new_event, self._origin)
            and _same_bytes(recorded, new_event)
        )
        if same and new_event is not None:
            recorded.is_said_by(new_event)
        return Pair(self._process, self._layer, recorded, new_event, same, grounded)

    def find(self, new_events: Sequence[NewEvent], recorded: Recorded) -> NewEvent | None:
        """Return the new event that has the recorded event's id."""
        return next(
            (
                new_event
                for new_event in new_events
                if self.identity(new_event, recorded.old_type) == recorded.id
            ),
            None,
        )

    def identity(self, new_event: NewEvent, event_type: str = "") -> str:
        """Return a new event's id; `event_type` stands for its own type in recordings of an older one."""
        kind = new_event.data.TYPE
        if event_type and newest_type(event_type) == kind:
            kind = event_type
        place = (kind, new_event.cycle, new_event.data.key())
        known = self._ids.get(place)
        if known is None:
            if len(self._ids) >= KEPT_IDS:
                self._ids.clear()
            known = event_id(self._origin, self._process, kind, cycle=place[1], key=place[2])
            self._ids[place] = known
        return known


@lru_cache(maxsize=256)
def _subject(cluster: str, tokens: tuple[str, ...]) -> str:
    return subjects.build(cluster, tokens)


def same_place(recorded: Recorded, new_event: NewEvent, origin: Origin) -> bool:
    """Say whether subject and causes are equal."""
    causes = attributes_in(recorded.message.headers).get("causationid", "")
    return (
        _subject(origin.cluster, new_event.data.tokens()) == recorded.message.subject
        and " ".join(new_event.causes) == causes
    )


def differences(pair: Pair, origin: Origin) -> tuple[FieldDifference, ...]:
    """Return what differs, field by field, at most `SHOWN_FIELDS` of them."""
    return tuple(islice(_every_difference(pair, origin), SHOWN_FIELDS))


def _every_difference(pair: Pair, origin: Origin) -> Iterator[FieldDifference]:
    event, new_event = pair.recorded.event, pair.computed
    if new_event is None:
        yield FieldDifference("event", event.type, None)
        return
    identity = Comparer(origin, pair.process, pair.layer).identity(
        new_event, pair.recorded.old_type
    )
    outside = (
        ("id", event.id, identity),
        ("subject", event.subject, subjects.build(origin.cluster, new_event.data.tokens())),
        ("causes", list(event.causation_ids), list(new_event.causes)),
    )
    yield from (FieldDifference(name, old, new) for name, old, new in outside if old != new)
    old, new = json.loads(bytes_of(pair.recorded)), json.loads(computed_bytes(new_event))
    yield from _differ("", old, new)


def added_fields(pair: Pair) -> tuple[str, ...]:
    """Return the fields that today's form has and the recorded one had not (a compatible change);
    empty when nothing else differs from the recorded bytes in any way.
    """
    new_event = pair.computed
    if new_event is None:
        return ()
    added: dict[str, None] = {}
    dumped = new_event.data.model_dump(mode="json")
    try:
        recorded = json.loads(bytes_of(pair.recorded))
        older = _in_older_form("", new_event.data, dumped, recorded, added)
    except ValueError:
        return ()
    return tuple(added) if to_json(older) == bytes_of(pair.recorded) else ()


def _in_older_form(
    path: str, value: Any, dumped: Any, recorded: Any, added: dict[str, None]
) -> Any:
    """Return `dumped` without the model fields that the recorded object does not have at all."""
    if isinstance(value, BaseModel) and isinstance(recorded, dict):
        older = {}
        for name, inner in dumped.items():
            where = f"{path}.{name}" if path else name
            if name in recorded:
                # An action's own fields are stored one deeper, in `parameters`.
                nested = isinstance(value, BaseAction) and name == "parameters"
                field = value if nested else getattr(value, name, None)
                older[name] = _in_older_form(where, field, inner, recorded[name], added)
            else:
                added[where] = None
        return older
    if isinstance(value, dict) and isinstance(recorded, dict):
        return {
            name: _in_older_form(path, value[name], inner, recorded.get(name), added)
            for name, inner in dumped.items()
        }
    if isinstance(value, tuple) and isinstance(recorded, list) and len(value) == len(recorded):
        if not any(isinstance(entry, BaseModel) for entry in value[:1]):
            return dumped
        rows = zip(value, dumped, recorded, strict=True)
        return [_in_older_form(path, *row, added) for row in rows]
    return dumped


def only_environment(pair: Pair, origin: Origin) -> bool:
    """Say whether nothing differs but what a trained model computes, and that by next to nothing.

    That is what another CPU or another build of a numeric library does to a trained model.
    """
    data = pair.recorded.event.data
    if not isinstance(data, Prediction):
        return False
    computed = [] if data.model_id in FORMULAS else [_OF_A_MODEL]
    if isinstance(data, PredictionDemand) and any(not one.is_of_a_minute for one in data.bands):
        computed.append(_OF_A_RATE_MODEL)
    differences = _every_difference(pair, origin)
    first = next(differences, None)
    if first is None or not first.is_close(computed):
        return False
    return all(difference.is_close(computed) for difference in differences)


def bytes_of(recorded: Recorded) -> bytes:
    """Return the recorded data; in today's form when it was recorded in an older one."""
    if recorded.old_type:
        return to_json(recorded.event.data.model_dump(mode="json"))
    return recorded.message.data


def computed_bytes(new_event: NewEvent) -> bytes:
    """Return the data as it would be published."""
    return to_json(new_event.data.model_dump(mode="json"))


def _same_bytes(recorded: Recorded, new_event: NewEvent) -> bool:
    data = bytes_of(recorded)
    # Faster than our encoder. Where the two write a number differently they are never equal, and
    # then ours decides; what is equal here says the same values, and those have one form in ours.
    return new_event.data.__pydantic_serializer__.to_json(new_event.data) == data or (
        computed_bytes(new_event) == data
    )


def _differ(path: str, old: Any, new: Any) -> Iterator[FieldDifference]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys((*old, *new)):
            inner = f"{path}.{name}" if path else name
            yield from _differ(inner, old.get(name), new.get(name))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (left, right) in enumerate(zip(old, new, strict=True)):
            yield from _differ(f"{path}[{number}]", left, right)
    elif old != new or type(old) is not type(new):
        yield FieldDifference(path, old, new)
