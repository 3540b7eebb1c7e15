"""What depends on names without being one, made anew after names were replaced."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from bus.errors import InputError
from bus.events import event_of
from bus.follow import Handler
from bus.port import StoredMessage
from lab.recordings.redaction import Renaming
from lab.rerun.settings import NO_CHANGES, Changes, settings_from
from schemas import subjects
from schemas.config import Config, config_hash
from schemas.envelope import MESSAGE_ID, Event, attributes_of
from schemas.frames import FramedData
from schemas.identity import Origin, cycle_of, event_id, traceparent
from schemas.model import DataModel
from schemas.registry import to_json
from schemas.tables import Table, TableDelta, apply_delta, state_hash
from services.inference.service import build as build_inference
from services.inference.settings import InferenceSettings

KEPT_HASHES = 4_096
"""Hashes of full states kept, for checkpoints that name one of the last cycles."""
PACKED = ("live", "usage")
"""Fields of inference's state that hold names inside packed arrays."""
WAITING_EVENTS = 50_000
Views = dict[tuple[str, int], dict[str, Any]]
"""Full observations by type and cycle."""


class Rederivation:
    """Hashes and ids over changed content, event by event in the log's order."""

    def __init__(self, origin: Origin, renaming: Renaming, views: Views) -> None:
        """Begin before the first event; `views` are observations that checkpoints hold: the deltas of a
        cut recording may continue one of them.
        """
        self._origin = origin
        self._renaming = renaming
        self._views = views
        self._tables: dict[str, Mapping[str, Table]] = {}
        self._states: OrderedDict[str, str] = OrderedDict()
        """Hashes of full states: what it was, what it is."""
        self._configs: dict[str, str] = {}

    def set_state_hash(self, kind: type[FramedData], content: dict[str, Any]) -> None:
        """Give framed data the hash of its tables as they are now."""
        frame = content["frame"]
        try:
            if frame["frame"] == "keyframe":
                tables = {
                    name: _table_kind(kind, name).model_validate_json(to_json(content[name]))
                    for name in kind.TABLES
                }
            else:
                before = self._before(kind, frame["previous_cycle"])
                tables = {
                    name: apply_delta(
                        before[name],
                        TableDelta.model_validate_json(to_json(frame["deltas"][name])),
                    )
                    for name in kind.TABLES
                }
        except (KeyError, TypeError, ValueError, ValidationError):
            # A delta whose keyframe lies before the recording: nobody can apply it either.
            self._tables.pop(kind.TYPE, None)
            frame["state_hash"] = self._renaming.placeholder(str(frame.get("state_hash")))
            return
        self._tables[kind.TYPE] = tables
        self._states[frame["state_hash"]] = state_hash(tables)
        frame["state_hash"] = self._states[frame["state_hash"]]
        while len(self._states) > KEPT_HASHES:
            self._states.popitem(last=False)

    def _before(self, kind: type[FramedData], cycle: int) -> Mapping[str, Table]:
        """Return the full tables that a delta builds on."""
        if kind.TYPE in self._tables:
            return self._tables[kind.TYPE]
        view = self._renaming.take(self._views[kind.TYPE, cycle])
        return {
            name: _table_kind(kind, name).model_validate_json(to_json(view[name]))
            for name in kind.TABLES
        }

    def rename_states(self, value: Any) -> Any:
        """Replace hashes of full states in a checkpoint."""
        if isinstance(value, dict):
            return {
                key: self._state_of(inner)
                if key == "state_hash" and isinstance(inner, str)
                else self.rename_states(inner)
                for key, inner in value.items()
            }
        if isinstance(value, list):
            return [self.rename_states(inner) for inner in value]
        return value

    def set_config_hash(self, before: dict[str, Any], content: dict[str, Any]) -> None:
        """Give announced settings the hash of what they are now."""
        models = tuple(content["model_ids"])
        version, old = content["code_version"], content["config_hash"]
        if config_hash(before["settings"], version, models) == old:
            content["config_hash"] = config_hash(content["settings"], version, models)
            self._configs[old] = content["config_hash"]

    def headers(self, message: StoredMessage, content: dict[str, Any]) -> dict[str, str]:
        """Return a message's headers with the settings' hash, and an announcement's id, as they are
        now.
        """
        headers = dict(message.headers)
        attributes = attributes_of(headers)
        old = attributes.get("confighash", "")
        if old in self._configs:
            headers["ce-confighash"] = self._configs[old]
        if attributes.get("type") == Config.TYPE and content["config_hash"] != old:
            producer = attributes["source"].rsplit("/", 1)[-1]
            cycle = cycle_of(attributes["correlationid"])
            key = f"{content['process']}/{content['config_hash']}"
            new = event_id(self._origin, producer, Config.TYPE, cycle=cycle, key=key)
            headers["ce-id"] = headers[MESSAGE_ID] = new
            headers["ce-traceparent"] = traceparent(self._origin, cycle, new)
        return headers

    def _state_of(self, old: str) -> str:
        return self._states.get(old) or (self._renaming.placeholder(old) if old else old)


class Folded:
    """Inference's state, applied again over the events as they are now."""

    def __init__(self, origin: Origin, *, whole: bool, changes: Changes = NO_CHANGES) -> None:
        """Begin before the first event; `whole` says that the recording holds the log's beginning."""
        self._origin = origin
        self._whole = whole
        self._changes = changes
        self._handler: Handler[Any] | None = None
        self._state: DataModel | None = None
        self._waiting: deque[Event[Any]] = deque()
        self._patterns: list[str] = []

    def take(self, message: StoredMessage) -> None:
        """Take the next event, if inference reads it."""
        if message.subject.endswith(".config.inference"):
            self._configure(message)
        if any(subjects.matches(pattern, message.subject) for pattern in self._patterns):
            self._waiting.append(_decode(message))
            if len(self._waiting) > WAITING_EVENTS:
                self._apply_until(self._waiting[len(self._waiting) // 2].seq)

    def checkpoint(self, content: dict[str, Any]) -> None:
        """Give inference's checkpoint the state as it is now, where names are packed into it.

        Raises:
            InputError: the recording does not hold what that state was made of.
        """
        state = content.get("state")
        if content.get("process") != "inference" or not isinstance(state, dict):
            return
        if all(state.get(name) is None for name in PACKED):
            return
        if not self._whole or self._state is None:
            raise InputError(
                "recording",
                "checkpoint.inference",
                "names are packed into it; redact the whole recording first, then cut",
            )
        self._apply_until(content["folded_seq"])
        made = self._state.model_dump(mode="json")
        content["state"] = {**state, **{name: made.get(name) for name in PACKED}}

    def _configure(self, message: StoredMessage) -> None:
        config = _decode(message).data
        settings = settings_from(InferenceSettings, "inference", config, self._changes)
        self._handler = build_inference(settings, self._origin)
        self._state = self._state or self._handler.initial()
        self._patterns = [
            subjects.pattern(self._origin.cluster, tokens) for tokens in self._handler.reads
        ]

    def _apply_until(self, seq: int) -> None:
        assert self._handler is not None
        assert self._state is not None
        while self._waiting and self._waiting[0].seq <= seq:
            self._state = self._handler.evolve(self._state, self._waiting.popleft())


def _table_kind(kind: type[FramedData], name: str) -> type[Table]:
    for argument in kind.model_fields[name].annotation.__args__:  # type: ignore[union-attr]
        if isinstance(argument, type) and issubclass(argument, Table):
            return argument
    raise TypeError(f"{kind.TYPE} has no table {name}")


def _decode(message: StoredMessage) -> Event[Any]:
    return event_of(message)
