"""Objects of the page packed as bytes and made again, quicker and smaller than by pickle alone. Pure.

Models of pydantic and frozen data classes tell pickle their state in Python, field by field, and take it back so. Here
a model is its dictionary, and a data class that does nothing of its own at the start is a call of it.
"""

from __future__ import annotations

import dataclasses
import io
import pickle
from functools import cache
from typing import Any

import zstandard
from pydantic import BaseModel

_LEVEL = 1
# What pydantic keeps of a model, set without a look at what the model's class allows.
_set_content, _set_given, _set_extra, _set_private = (
    vars(BaseModel)[name].__set__
    for name in (
        "__dict__",
        "__pydantic_fields_set__",
        "__pydantic_extra__",
        "__pydantic_private__",
    )
)


def packed(content: Any, level: int = _LEVEL) -> bytes:
    """Pack anything that pickle can; what stands in it twice comes back as one object."""
    written = io.BytesIO()
    _Packer(written, pickle.HIGHEST_PROTOCOL).dump(content)
    return zstandard.ZstdCompressor(level).compress(written.getbuffer())


def unpacked(data: bytes) -> Any:
    """Return an equal object; `data` must come from `packed` in this process."""
    return pickle.loads(zstandard.ZstdDecompressor().decompress(data))  # noqa: S301 - packed here


class _Packer(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        kind = type(obj)
        if dataclasses.is_dataclass(kind) and (names := _fields(kind)) is not None:
            return kind, tuple(getattr(obj, name) for name in names)
        if not issubclass(kind, BaseModel) or obj.__pydantic_extra__ or obj.__pydantic_private__:
            return NotImplemented
        given = obj.__pydantic_fields_set__
        return _model, (kind, obj.__dict__, None if len(given) == len(obj.__dict__) else given)


@cache
def _fields(kind: Any) -> tuple[str, ...] | None:
    """Return the fields of a data class that a call with them makes again; None where more or less is needed."""
    fields = dataclasses.fields(kind)
    whole = all(field.init and not field.kw_only for field in fields)
    if not whole or kind.__dictoffset__ or hasattr(kind, "__post_init__"):
        return None
    return tuple(field.name for field in fields)


def _model(
    kind: type[BaseModel],
    content: dict[str, Any],
    given: set[str] | None,
    new: Any = object.__new__,
) -> BaseModel:
    """Return a model of checked content; `given` says which fields were set, None: all."""
    model: BaseModel = new(kind)
    _set_content(model, content)
    _set_given(model, set(content) if given is None else given)
    _set_extra(model, None)
    _set_private(model, None)
    return model
