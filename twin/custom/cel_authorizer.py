"""`authorizer` in expressions: what the user of a request may do, asked of whoever decides about rights.

A check is built as a map, step by step; `check` asks. Who decides is set for as long as an expression is evaluated.
Source: staging/src/k8s.io/apiserver/pkg/cel/library/authz.go of kubernetes/kubernetes. `serviceAccount` is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from twin.custom.cel_functions import Row

Value = dict[str, Any]
Decide = Callable[[str, Value], tuple[bool, str, str]]
"""Says of a verb and a check (a `path`, or a `group` and what follows) whether it is allowed, why, and what failed."""
_DECIDES: ContextVar[Decide] = ContextVar("who decides about rights")


@contextmanager
def deciding(decide: Decide) -> Iterator[None]:
    """Let expressions ask `decide`."""
    token = _DECIDES.set(decide)
    try:
        yield
    finally:
        _DECIDES.reset(token)


def request_resource(request: Value) -> Value:
    """Return the check of what a request is about."""
    about = request.get("resource") or {}
    return {
        "group": about.get("group", ""),
        "resource": about.get("resource", ""),
        "subresource": request.get("subResource", ""),
        "namespace": request.get("namespace", ""),
        "name": request.get("name", ""),
    }


def _named(key: str, *, empty: bool = True) -> Callable[[Value, str], Value]:
    def step(value: Value, text: str) -> Value:
        if not empty and not text.strip():
            raise ValueError(f"{key} must not be empty")
        return {**value, key: text}

    return step


def _check(value: Value, verb: str) -> Value:
    allowed, reason, error = _DECIDES.get()(verb, value)
    return {"allowed": allowed, "reason": reason, "error": error}


ROWS: tuple[Row, ...] = (
    ("path", "ds", "d", _named("path", empty=False)),
    ("group", "ds", "d", _named("group")),
    ("resource", "ds", "d", _named("resource", empty=False)),
    ("subresource", "ds", "d", _named("subresource")),
    ("namespace", "ds", "d", _named("namespace")),
    ("name", "ds", "d", _named("name")),
    ("check", "ds", "d", _check),
    ("allowed", "d", "b", lambda value: bool(value["allowed"])),
    ("reason", "d", "s", lambda value: str(value["reason"])),
    ("errored", "d", "b", lambda value: bool(value["error"])),
    ("error", "d", "s", lambda value: str(value["error"])),
)  # fmt: skip
"""Functions of a value, in the form of `twin.custom.cel_functions`."""
