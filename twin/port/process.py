"""The twin as a process, what is known of it from outside, and its journal."""

from __future__ import annotations

from twin.__main__ import RunningTwin, build_engine
from twin.__main__ import main as run
from twin.api.access import EXECUTOR
from twin.api.journal import Journal, WorldKey, recorded_world, request_of
from twin.settings import read_settings
from twin.world_settings import as_recorded

__all__ = [
    "EXECUTOR",
    "Journal",
    "RunningTwin",
    "WorldKey",
    "as_recorded",
    "build_engine",
    "read_settings",
    "recorded_world",
    "request_of",
    "run",
]
