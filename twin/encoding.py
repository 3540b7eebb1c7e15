"""Kept values as JSON and back, for checkpoint files and the state hash.

Every container is an array that starts with a letter, so tuples, lists, sets, deques, dicts of any
keys and number arrays come back as what they were. A live record is written where it first occurs
and referred to by number afterwards.

Guarantee: decoding gives a value whose encoding is the same bytes; two values that differ anywhere
have different encodings. Order counts, since walks over dicts follow it; sets are sorted.
"""

from __future__ import annotations

import base64
import json
import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, fields
from types import NoneType
from typing import Any

import numpy as np
import orjson

from twin.config import TwinConfig
from twin.config.access import AccessConfig
from twin.config.kueue import KueueConfig
from twin.intake import pod_shape
from twin.part import KEEPABLE, Kept, Part
from twin.records import LATER, SLOTS, PodShape, Record

_RECORDS: dict[str, type[Record]] = {cls.__name__: cls for cls in SLOTS}
_PLAIN = frozenset({NoneType, bool, int, str})


def json_of(encoded: Any) -> bytes:
    """Return encoded values as JSON bytes; equal on every platform and Python version."""
    try:
        return orjson.dumps(encoded)
    except orjson.JSONEncodeError:  # a client's number of more than 64 bits
        return json.dumps(encoded, separators=(",", ":"), ensure_ascii=False).encode()


def state_lines(seed: int, config: TwinConfig, parts: Mapping[str, Part]) -> Iterator[bytes]:
    """Yield the whole state of an engine as JSON lines: its world, then one line a part."""
    encoder = Encoder()
    yield json_of(["World", seed, encoder.encode(_settings_of(config))]) + b"\n"
    for name, part in parts.items():
        yield json_of([name, part.KEEPS, encoder.encode(part.kept())]) + b"\n"


def read_state(
    lines: Iterator[bytes], seed: int, config: TwinConfig, parts: Mapping[str, Part]
) -> dict[str, Kept]:
    """Return what the parts of an engine kept, from the lines that `state_lines` made of it.

    Raises ValueError for another seed or configuration, other parts, or lines that are no state.
    """
    world = json_of(["World", seed, Encoder().encode(_settings_of(config))])
    if next(lines, b"").rstrip(b"\n") != world:
        raise ValueError("it has another seed or configuration")
    decoder, state = Decoder(), {}
    for (name, part), line in zip(parts.items(), lines, strict=True):
        row = json.loads(line)
        if row[:2] != [name, list(part.KEEPS)]:
            raise ValueError(f"it keeps {row[:2]} where this version keeps {name}")
        state[name] = decoder.decode(row[2])
    return state


def _settings_of(config: TwinConfig) -> dict[str, Any]:
    """Return the settings; `access` and `kueue` only where they are not the default, so that the
    hashes of all other worlds are what they were before there were such settings.
    """
    settings = asdict(config)
    for name, usual in (("access", AccessConfig()), ("kueue", KueueConfig())):
        if getattr(config, name) == usual:
            del settings[name]
    return settings


class Encoder:
    """Encodes values that refer to one another; one encoder for one state."""

    __slots__ = ("_objects", "_records", "_shapes")

    def __init__(self) -> None:
        self._records: dict[Record, int] = {}
        self._shapes: dict[PodShape, int] = {}
        self._objects: dict[object, int] = {}

    def encode(self, value: Any) -> Any:
        """Return what `json_of` can write; raises TypeError for a type that cannot be kept."""
        kind = type(value)
        if kind in _PLAIN:
            return value
        how = _ENCODERS.get(kind)
        if how is None:
            how = _ENCODERS[kind] = _encoder_of(kind)
        return how(self, value)

    def record(self, value: Record) -> list[Any]:
        """Write a record once; dicts in it are JSON already."""
        known = self._records.get(value)
        if known is not None:
            return ["r", known]
        self._records[value] = len(self._records)
        encoded: list[Any] = ["R", type(value).__name__]
        for slot in SLOTS[type(value)]:
            entry = getattr(value, slot)
            if entry is None and slot in LATER:
                continue
            kind = type(entry)
            encoded.append(entry if kind in _PLAIN else self._field(kind, entry))
        return encoded

    def shape(self, value: PodShape) -> list[Any]:
        """Write a pod's shape once, as the spec that it is measured from."""
        number = self._shapes.get(value)
        if number is not None:
            return ["p", number]
        self._shapes[value] = len(self._shapes)
        return ["P", value.spec]

    def dataclass(self, value: Any) -> list[Any]:
        """Write a keepable dataclass; one that can change only once."""
        kind = type(value)
        letter = "o"
        if not kind.__dataclass_params__.frozen:
            known = self._objects.get(value)
            if known is not None:
                return ["x", known]
            self._objects[value] = len(self._objects)
            letter = "O"
        entries = (self.encode(getattr(value, field.name)) for field in fields(kind))
        return [letter, kind.__name__, *entries]

    def _field(self, kind: type, entry: Any) -> Any:
        if kind is dict:
            return ["j", entry]
        if kind is tuple:
            return ["t", *(self._field(type(part), part) for part in entry)]
        return self.encode(entry)


class Decoder:
    """Decodes what one encoder wrote, in the same order."""

    __slots__ = ("_objects", "_records", "_shapes")

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._shapes: list[PodShape] = []
        self._objects: list[object] = []

    def decode(self, encoded: Any) -> Any:
        """Return the value; raises ValueError for what no encoder wrote."""
        if type(encoded) is not list:
            if isinstance(encoded, dict):
                raise ValueError("an object stands where a value should")
            return encoded
        try:
            return _DECODERS[encoded[0]](self, encoded)
        except (IndexError, KeyError, TypeError) as error:
            raise ValueError(f"not a kept value: {error!r}") from error

    def record(self, encoded: list[Any]) -> Record:
        """Make a record at its first occurrence."""
        cls = _RECORDS[encoded[1]]
        made = object.__new__(cls)
        self._records.append(made)
        slots = SLOTS[cls]
        for slot in slots[len(encoded) - 2 :]:
            if slot not in LATER:
                raise ValueError(f"a record without {slot}")
            setattr(made, slot, None)
        for slot, entry in zip(slots, encoded[2:], strict=False):
            setattr(made, slot, entry if type(entry) is not list else self.decode(entry))
        return made

    def known_record(self, encoded: list[Any]) -> Record:
        """Return a record that stood somewhere before."""
        return self._records[int(encoded[1])]

    def shape(self, encoded: list[Any]) -> PodShape:
        """Measure a shape at its first occurrence."""
        self._shapes.append(pod_shape(encoded[1]))
        return self._shapes[-1]

    def known_shape(self, encoded: list[Any]) -> PodShape:
        """Return a shape that stood somewhere before."""
        return self._shapes[int(encoded[1])]

    def dataclass(self, encoded: list[Any]) -> Any:
        """Make a keepable dataclass at its first occurrence."""
        cls = KEEPABLE[encoded[1]]
        made: Any = object.__new__(cls)
        if encoded[0] == "O":
            self._objects.append(made)
        for field, entry in zip(fields(cls), encoded[2:], strict=True):
            object.__setattr__(made, field.name, self.decode(entry))
        return made

    def known_dataclass(self, encoded: list[Any]) -> Any:
        """Return a dataclass that stood somewhere before."""
        return self._objects[int(encoded[1])]


def _float(encoder: Encoder, value: float) -> Any:
    del encoder
    return value if math.isfinite(value) else ["f", repr(value)]


def _dict(encoder: Encoder, value: dict[Any, Any]) -> list[Any]:
    encode = encoder.encode
    encoded: list[Any] = ["d"]
    for key, entry in value.items():
        encoded.append(encode(key))
        encoded.append(encode(entry))
    return encoded


def _row(letter: str) -> Callable[[Encoder, Any], list[Any]]:
    def encode(encoder: Encoder, value: Any) -> list[Any]:
        return [letter, *map(encoder.encode, value)]

    return encode


def _sorted_encoder(letter: str) -> Callable[[Encoder, Any], list[Any]]:
    def encode(encoder: Encoder, value: Any) -> list[Any]:
        return [letter, *map(encoder.encode, sorted(value))]

    return encode


def _deque(encoder: Encoder, value: deque[Any]) -> list[Any]:
    return ["q", value.maxlen, *map(encoder.encode, value)]


def _bytes(encoder: Encoder, value: bytes) -> list[Any]:
    del encoder
    return ["b", base64.b64encode(value).decode()]


def _array(encoder: Encoder, value: Any) -> list[Any]:
    del encoder
    little = value.astype(value.dtype.newbyteorder("<"), copy=False)
    data = base64.b64encode(np.ascontiguousarray(little).tobytes()).decode()
    return ["a", little.dtype.str, list(value.shape), data]


def _array_of(encoded: list[Any]) -> Any:
    _, kind, shape, data = encoded
    array = np.frombuffer(base64.b64decode(data), np.dtype(kind)).reshape(shape)
    return array.astype(array.dtype.newbyteorder("="))


def _encoder_of(kind: type) -> Callable[[Encoder, Any], list[Any]]:
    if KEEPABLE.get(kind.__name__) is not kind:
        raise TypeError(f"{kind.__module__}.{kind.__name__} cannot be kept; see twin/part.py")
    return Encoder.dataclass


_ENCODERS: dict[type, Callable[[Encoder, Any], Any]] = {
    float: _float,
    dict: _dict,
    list: _row("l"),
    tuple: _row("t"),
    set: _sorted_encoder("s"),
    frozenset: _sorted_encoder("z"),
    deque: _deque,
    bytes: _bytes,
    np.ndarray: _array,
    PodShape: Encoder.shape,
    **dict.fromkeys(SLOTS, Encoder.record),
}
_DECODERS: dict[str, Callable[[Decoder, list[Any]], Any]] = {
    "f": lambda _, encoded: float(encoded[1]),
    "d": lambda decoder, encoded: dict(
        zip(map(decoder.decode, encoded[1::2]), map(decoder.decode, encoded[2::2]), strict=True)
    ),
    "l": lambda decoder, encoded: list(map(decoder.decode, encoded[1:])),
    "t": lambda decoder, encoded: tuple(map(decoder.decode, encoded[1:])),
    "s": lambda decoder, encoded: set(map(decoder.decode, encoded[1:])),
    "z": lambda decoder, encoded: frozenset(map(decoder.decode, encoded[1:])),
    "q": lambda decoder, encoded: deque(map(decoder.decode, encoded[2:]), encoded[1]),
    "b": lambda _, encoded: base64.b64decode(encoded[1]),
    "a": lambda _, encoded: _array_of(encoded),
    "j": lambda _, encoded: encoded[1],
    "o": Decoder.dataclass,
    "O": Decoder.dataclass,
    "x": Decoder.known_dataclass,
    "R": Decoder.record,
    "r": Decoder.known_record,
    "P": Decoder.shape,
    "p": Decoder.known_shape,
}
