"""The local container engine, for tests: whether there is one, its compose, and what it runs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bus.login import Login
from tests.patience import HANGS_SECONDS

REPOSITORY = Path(__file__).parents[2]
PYTHON_IMAGE = "python:3.11-slim"
BUILD_SECONDS = 3_600.0
"""As long as the packages take to come over a slow network, and to be unpacked beside other work."""
NATS_IMAGE = "nats:2.12-alpine"
PIP_ARGUMENTS = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST")


def run(command: Sequence[str], *, timeout: float = HANGS_SECONDS, **environment: str) -> str:
    """Run a command and return its output; fails with all it said."""
    done = subprocess.run(
        command,
        cwd=REPOSITORY,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert 0 == done.returncode, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def missing(*images: str) -> str:
    """Say what is missing for tests with these images; empty when all is there."""
    if shutil.which("docker") is None:
        return "no docker on this machine"
    if subprocess.run(["docker", "info"], capture_output=True, check=False).returncode:
        return "no container engine answers"
    for image in images:
        known = ["docker", "image", "inspect", image]
        if subprocess.run(known, capture_output=True, check=False).returncode:
            pulled = ["docker", "pull", "-q", image]
            if subprocess.run(
                pulled, capture_output=True, check=False, timeout=HANGS_SECONDS
            ).returncode:
                return f"the image {image} cannot be had here"
    return ""


@cache
def compose_command() -> list[str]:
    """Return the compose of this machine: the plugin, or else the older program."""
    plugin = ["docker", "compose"]
    if not subprocess.run([*plugin, "version"], capture_output=True, check=False).returncode:
        return plugin
    return ["docker-compose"] if shutil.which("docker-compose") else []


def build(tag: str) -> None:
    """Build our image with this machine's pip settings, over this machine's network."""
    names = [name for name in PIP_ARGUMENTS if os.environ.get(name)]
    arguments = [word for name in names for word in ("--build-arg", f"{name}={os.environ[name]}")]
    command = ["docker", "build", "--quiet", "--network", "host", *arguments]
    run([*command, "--file", "deploy/Dockerfile", "--tag", tag, "."], timeout=BUILD_SECONDS)


@dataclass(frozen=True)
class Stack:
    """One compose project."""

    project: str
    environment: dict[str, str]

    def compose(self, *arguments: str, timeout: float = HANGS_SECONDS) -> str:
        """Run one compose command of this project."""
        command = [*compose_command(), "--project-name", self.project, *arguments]
        return run(command, timeout=timeout, **self.environment)

    def containers(self) -> dict[str, dict[str, Any]]:
        """Return what the engine knows of each service's container, running or ended.

        Asked once for all of them: each question starts a program.
        """
        label = "com.docker.compose"
        mine = [f"label={label}.project={self.project}", f"label={label}.oneoff=False"]
        filters = [word for each in mine for word in ("--filter", each)]
        identities = run(["docker", "ps", "--all", "--quiet", *filters]).split()
        found: list[dict[str, Any]] = json.loads(run(["docker", "inspect", *identities]))
        return {one["Config"]["Labels"][f"{label}.service"]: one for one in found}

    def container(self, service: str) -> dict[str, Any]:
        """Return what the engine knows of one service's container."""
        return self.containers()[service]

    def address(self, service: str) -> str:
        """Return the address of a service in the project's network."""
        networks = self.container(service)["NetworkSettings"]["Networks"]
        return str(next(iter(networks.values()))["IPAddress"])

    def login(self, identity: str) -> Login:
        """Return the login that the project made for an identity."""
        volume = f"{self.project}_login-{identity}:/login:ro"
        image = self.environment["FORESAIL_IMAGE"]
        show = ["--entrypoint", "cat", image, "/login/login.env"]
        lines = run(["docker", "run", "--rm", "--volume", volume, *show]).splitlines()
        return Login.from_environment(dict(line.split("=", 1) for line in lines))

    def kill(self, service: str) -> None:
        """Kill a service's process from outside, as a crash would; the engine brings it back.

        A `docker kill` would count as wanted and leave it down.
        """
        os.kill(self.container(service)["State"]["Pid"], signal.SIGKILL)
