"""Results that are kept with the object of the API they belong to.

A list is read every few seconds, and seldom does an item of it change: where a transport knows that it has
not, `services.kube_lists` gives the same object again, and with it all that was found out about it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def kept(compute: Callable[[K], V]) -> Callable[[K], V]:
    """Let a pure function be computed once for each object.

    For objects that are never changed and that take attributes (`dict=True` of a `KubeStruct`).
    """
    name = f"{compute.__module__}.{compute.__qualname__}"

    @wraps(compute)
    def computed(obj: K) -> V:
        memory: dict[str, V] = obj.__dict__
        try:
            return memory[name]
        except KeyError:
            value = memory[name] = compute(obj)
            return value

    return computed
