"""How refusals come about that the API server gives: each write gets one answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from schemas.actions import ActionKind
from schemas.reasons import Reason
from services.cluster import ClusterRefused
from services.executor.scope import OUT_OF_SCOPE
from tests.explain.theatre import Theatre

Case = Callable[[Theatre], Awaitable[None]]


async def _sleep(theatre: Theatre) -> None:
    await theatre.order("efficiency", ActionKind.POWER_STATE, "node-0", power_state="sleep")


async def _migrate(theatre: Theatre) -> None:
    theatre.deploy("web", 1)
    await theatre.order("safety", ActionKind.MIGRATE, "node-0")


async def _replicate(theatre: Theatre) -> None:
    theatre.deploy("web", 1)
    await theatre.order("safety", ActionKind.REPLICATE, "node-0")


def _answered(answer: ClusterRefused, play: Case = _sleep) -> tuple[Case, dict[str, Any]]:
    async def play_so(theatre: Theatre) -> None:
        theatre.transport.refuses = answer
        await play(theatre)

    return play_so, {}


async def _no_answer(theatre: Theatre) -> None:
    theatre.transport.deaf = True
    await _sleep(theatre)


_BUDGET = "Cannot evict pod as it would violate the pod's disruption budget."
_CHANGED = "Operation cannot be fulfilled on deployments.apps: the object has been modified"
_LACKS = 'nodes "node-0" is forbidden: User "foresail" cannot patch resource "nodes"'
_DENIED = 'admission webhook "nodes.example.com" denied the request: nodes are ours to change'
_BUSY = "Too many requests, please try again later."
REFUSED_WRITES: dict[Reason, tuple[Case, dict[str, Any]]] = {
    Reason.PDB: _answered(
        ClusterRefused(429, "TooManyRequests", _BUDGET, causes=("DisruptionBudget",)), _migrate
    ),
    Reason.THROTTLED: _answered(ClusterRefused(429, "TooManyRequests", _BUSY)),
    Reason.UNAUTHENTICATED: _answered(ClusterRefused(401, "Unauthorized", "Unauthorized")),
    Reason.CONFLICT: _answered(ClusterRefused(409, "Conflict", _CHANGED), _replicate),
    Reason.FORBIDDEN: _answered(ClusterRefused(403, "Forbidden", _LACKS)),
    Reason.ADMISSION_DENIED: _answered(ClusterRefused(403, "Forbidden", _DENIED)),
    Reason.OUT_OF_SCOPE: _answered(
        ClusterRefused(
            403,
            OUT_OF_SCOPE,
            "PATCH /api/v1/nodes/node-0: no node may be written",
            causes=(OUT_OF_SCOPE,),
        )
    ),
    Reason.INVALID: _answered(ClusterRefused(422, "Invalid", 'Node "node-0" is invalid: spec')),
    Reason.API_ERROR: _answered(ClusterRefused(500, "InternalError", "etcd is slow")),
    Reason.API_UNREACHABLE: (_no_answer, {}),
}
"""By reason: how it comes about, and the executor's settings for it."""
