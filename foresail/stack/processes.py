"""Which processes a stack has, as data: name, command, settings and when each is stopped."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bus.login import ANONYMOUS
from bus.logins import Logins
from foresail.settings import StackSettings
from schemas.agents import agent_names

LAST_SERVICE = 7
"""The largest `stop_order` of a service."""


@dataclass(frozen=True)
class ProcessSpec:
    """One process of the stack."""

    name: str
    """Process name, also the producer of its events."""
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    stop_order: int
    """Processes with a smaller number are stopped first; sources before sinks, so that the last
    cycle is told to its end.
    """


@dataclass(frozen=True)
class Connections:
    """How processes reach the log and the cluster."""

    cluster: str
    incarnation: str
    stream: str
    nats_url: str
    kubeconfigs: Mapping[str, str]
    """Kubeconfig of each service that touches the cluster."""
    context: str | None
    world: tuple[str, ...] = ()
    """Words of a command line that make the simulated world; none for a real cluster."""
    logins: Logins = field(default_factory=dict, repr=False)
    """Login of each process by name."""


def process_specs(settings: StackSettings, connections: Connections) -> tuple[ProcessSpec, ...]:
    """Return every service process of a stack, in starting order."""
    specs = [
        _spec(
            "collector",
            settings.collector,
            connections,
            1,
            kubeconfig=connections.kubeconfigs["collector"],
        ),
        _spec("inference", settings.inference, connections, 2),
        *(
            _spec(
                f"agent-{agent}",
                settings.agents,
                connections,
                3,
                module="agents",
                arguments=(agent,),
            )
            for agent in agent_names()
        ),
        _spec("referee", settings.referee, connections, 4),
        _spec(
            "executor",
            settings.executor,
            connections,
            5,
            kubeconfig=connections.kubeconfigs["executor"],
        ),
        _spec("scoreboard", settings.scoreboard, connections, 6),
        replace(
            _spec("dashboard", settings.dashboard, connections, 7),
            command=(sys.executable, "-m", "foresail.page"),
        ),
    ]
    if settings.run.untouched == "on" and connections.world:
        spec = _spec("untouched", settings.collector, connections, 2)
        command = (sys.executable, "-m", "foresail.untouched", *connections.world)
        specs.append(replace(spec, command=command))
    if settings.run.exercise:
        specs.append(
            _spec(
                "exerciser",
                settings.exerciser,
                connections,
                0,
                kubeconfig=connections.kubeconfigs["exerciser"],
            )
        )
    return tuple(specs)


def _spec(
    name: str,
    settings: Any,
    connections: Connections,
    stop_order: int,
    *,
    module: str = "",
    arguments: tuple[str, ...] = (),
    kubeconfig: str = "",
) -> ProcessSpec:
    environment = {
        "FORESAIL_SETTINGS": json.dumps(settings.model_dump(mode="json")),
        "FORESAIL_CLUSTER": connections.cluster,
        "FORESAIL_INCARNATION": connections.incarnation,
        "FORESAIL_STREAM": connections.stream,
        "FORESAIL_NATS_URL": connections.nats_url,
        **connections.logins.get(name, ANONYMOUS).environment(),
    }
    if kubeconfig:
        environment["FORESAIL_KUBECONFIG"] = kubeconfig
        if connections.context:
            environment["FORESAIL_CONTEXT"] = connections.context
    command = (sys.executable, "-m", f"services.{module or name}", *arguments)
    return ProcessSpec(name, command, environment, stop_order)
