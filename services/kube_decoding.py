"""Kubernetes JSON into structs, reading null as client-go does: as a member that is not there."""

from __future__ import annotations

from functools import cache
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")


class KubeDecoder(Generic[T]):
    """Decodes one type; make it once.

    Objects without nulls, which is nearly all, cost nothing more: only what the fast decoder refuses is looked
    at again without its nulls.
    """

    def __init__(self, kind: Any) -> None:
        """Decode to `kind`, a struct."""
        self._decoder: msgspec.json.Decoder[T] = msgspec.json.Decoder(kind)

    def decode(self, body: bytes | msgspec.Raw) -> T:
        """Return the object; raises ValueError or RecursionError when it is none."""
        try:
            return self._decoder.decode(body)
        except msgspec.ValidationError:
            without = _without_nulls(msgspec.json.decode(body))
            return self._decoder.decode(msgspec.json.encode(without))


def decode_object(kind: type[T], body: bytes) -> T:
    """Return one object; raises ValueError or RecursionError when it is none."""
    decoder: KubeDecoder[T] = _decoder(kind)  # type: ignore[arg-type]  # a class is hashable
    return decoder.decode(body)


@cache
def _decoder(kind: Any) -> KubeDecoder[Any]:
    return KubeDecoder(kind)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return [_without_nulls(one) for one in value]
    return value
