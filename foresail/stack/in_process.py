"""Every service as a coroutine, wired as its process wires it; virtual time and the simulated faults
of proofs/ run them so.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from bus.clock import Clock
from bus.follow import Handler
from bus.handler_process import config_of, run_handler
from bus.port import Bus
from foresail.settings import StackSettings
from schemas.agents import agent_names
from schemas.config import CODE_VERSION
from schemas.identity import Origin
from services.agents.service import build as build_agent
from services.cluster import Transport
from services.collector.collected import NAME as COLLECTOR
from services.collector.collected import CollectedCycle
from services.collector.service import run as run_collector
from services.executor.service import run as run_executor
from services.exerciser.service import run as run_exerciser
from services.inference.service import build as build_inference
from services.referee.service import build as build_referee
from services.scoreboard.service import build as build_scoreboard

AGENTS = {f"agent-{name}": name for name in agent_names()}
Run = Callable[..., Coroutine[Any, Any, None]]
Instead = Callable[[Handler[Any]], Handler[Any]]
EFFECTFUL: Mapping[str, Run] = {
    "collector": run_collector,
    "executor": run_executor,
    "exerciser": run_exerciser,
}
"""Services that touch the cluster."""
BUILD: Mapping[str, Callable[[Any, Origin], Handler[Any]]] = {
    "inference": build_inference,
    "referee": build_referee,
    "scoreboard": build_scoreboard,
}


def service_names(settings: StackSettings) -> tuple[str, ...]:
    """Return the names of a stack's services, in starting order."""
    exerciser = ("exerciser",) if settings.run.exercise else ()
    return ("collector", "inference", *AGENTS, "referee", "executor", "scoreboard", *exerciser)


def service(
    name: str,
    settings: StackSettings,
    bus: Bus,
    clock: Clock,
    origin: Origin,
    transport: Transport,
    on_collected: Callable[[CollectedCycle], None] | None = None,
    instead: Instead | None = None,
) -> Coroutine[Any, Any, None]:
    """Return one service over a connection and a cluster of its own.

    `on_collected` is the collector's; `instead` returns what answers in a handler's place.
    """
    group: Any = settings.agents if name in AGENTS else settings.groups[name]
    if name in EFFECTFUL:
        more = {"on_collected": on_collected} if name == COLLECTOR else {}
        return EFFECTFUL[name](
            group, bus, clock, origin, transport, code_version=CODE_VERSION, **more
        )
    handler, announcement = _build_handler(name, group, origin)
    handler = handler if instead is None else instead(handler)
    models = getattr(handler, "model_ids", ())
    return run_handler(
        handler, bus, clock, origin, config_of(name, announcement, CODE_VERSION, models)
    )


def _build_handler(name: str, group: Any, origin: Origin) -> tuple[Handler[Any], dict[str, Any]]:
    if name in AGENTS:
        return build_agent(group, origin, AGENTS[name]), group.announcement(AGENTS[name])
    return BUILD[name](group, origin), group.announcement()
