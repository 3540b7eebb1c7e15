"""A cluster in this process, and what happens in it."""

from __future__ import annotations

from twin.changes import Change
from twin.copying import copy_object
from twin.engine import Engine
from twin.errors import ApiError

__all__ = [
    "ApiError",
    "Change",
    "Engine",
    "copy_object",
]
