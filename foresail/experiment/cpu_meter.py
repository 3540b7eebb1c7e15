"""Processor time of the services of a stack that share one process, each with the tasks that it starts."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Generator
from contextvars import ContextVar
from typing import Any

_SERVICE: ContextVar[str] = ContextVar("foresail_metered_service")
AnyCoroutine = Coroutine[Any, Any, Any]


class CpuMeter:
    """Adds up the time of every step that a service's tasks take; equal runs differ in it."""

    def __init__(self) -> None:
        """Begin with nothing measured."""
        self.seconds: defaultdict[str, float] = defaultdict(float)
        """Processor time by service."""

    def run(self, name: str, service: AnyCoroutine) -> AnyCoroutine:
        """Return what runs a service in its place; what the service starts counts as its own.

        To be called where the event loop runs.
        """
        asyncio.get_running_loop().set_task_factory(self._start_task)
        return _Metered(self.seconds, name, service)

    def _start_task(
        self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any
    ) -> asyncio.Task[Any]:
        name = _SERVICE.get(None)
        if name is not None:
            coroutine = _Metered(self.seconds, name, coroutine)
        return asyncio.Task(coroutine, loop=loop, **options)


class _Metered(Coroutine[Any, Any, Any]):
    """A coroutine whose steps are timed."""

    def __init__(self, seconds: dict[str, float], name: str, inner: AnyCoroutine) -> None:
        self._seconds = seconds
        self._name = name
        self._inner = inner

    def send(self, value: Any) -> Any:
        """Take the next step."""
        _SERVICE.set(self._name)
        return self._time(self._inner.send, value)

    def throw(self, *error: Any) -> Any:
        """Take a step that begins with an exception, such as a cancellation."""
        return self._time(self._inner.throw, *error)

    def close(self) -> None:
        """End it."""
        self._inner.close()

    def __await__(self) -> Generator[Any, None, Any]:
        """Return the coroutine's own steps, as those of whoever waits for it."""
        return self._inner.__await__()

    def _time(self, step: Callable[..., Any], *values: Any) -> Any:
        began = time.process_time()
        try:
            return step(*values)
        finally:
            self._seconds[self._name] += time.process_time() - began
