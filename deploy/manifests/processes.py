"""Which processes an installation has and how each is started, read from docker-compose.yml."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

COMPOSE = Path(__file__).parents[2] / "docker-compose.yml"
LOGIN_MOUNT = ":/login:ro"
PROFILES = frozenset({"kubeconfig", "trace"})
"""Of compose, besides the containers of every profile: what belongs to a cluster of one's own."""
OURS = ("services.", "foresail.page")
"""Modules that are processes of an installation: every service, and the dashboard with what it asks other commands."""
DASHBOARD_PORT = 8765
FOLLOWING = ("mode", "otlp_url", "interval_seconds", "wall_interval_seconds")
"""Settings that follow from other values of an installation, or are left at their default."""
_VARIABLE = re.compile(r"\$\{\w+:-([^}]*)\}")


@dataclass(frozen=True, slots=True)
class Process:
    """One process, which is one container."""

    name: str
    """Its identity on NATS."""
    command: tuple[str, ...]
    """Behind `python -m`."""
    settings: dict[str, Any]
    reads_cluster: bool
    """Whether it talks to the API server."""


def read_processes(text: str) -> tuple[Process, ...]:
    """Return the processes of a compose file that run on a cluster of one's own."""
    found = []
    for container in yaml.safe_load(text)["services"].values():
        logins = [
            volume.removeprefix("login-").removesuffix(LOGIN_MOUNT)
            for volume in container.get("volumes", ())
            if volume.startswith("login-") and volume.endswith(LOGIN_MOUNT)
        ]
        command = tuple(str(word) for word in container.get("command", ()))
        if not logins or not command[0].startswith(OURS):
            continue
        if not set(container.get("profiles", ())) <= PROFILES:
            continue
        variables = container.get("environment") or {}
        given = json.loads(_VARIABLE.sub(r"\1", variables.get("FORESAIL_SETTINGS", "{}")))
        settings = {name: value for name, value in given.items() if name not in FOLLOWING}
        reads = "FORESAIL_KUBECONFIG" in variables
        found.append(Process(logins[0], command, settings, reads))
    return tuple(found)


PROCESSES = read_processes(COMPOSE.read_text(encoding="utf-8"))
