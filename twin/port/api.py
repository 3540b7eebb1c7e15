"""The Kubernetes API in front of an engine, in this process, without HTTP."""

from __future__ import annotations

from twin.api.access import EXERCISE_NAMESPACES
from twin.api.messages import JSON, WRITING, Request, Response
from twin.api.router import Router
from twin.inprocess import InProcessTwin

__all__ = [
    "EXERCISE_NAMESPACES",
    "JSON",
    "WRITING",
    "InProcessTwin",
    "Request",
    "Response",
    "Router",
]
