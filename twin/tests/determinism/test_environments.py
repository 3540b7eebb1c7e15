"""The state hash is the same in other processes: hash seeds, interpreters, slicing and reading."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from random import Random

import pytest

from proofs.determinism.environments import ENVIRONMENTS, Environment
from proofs.determinism.interpreters import (
    CURRENT,
    ROOT,
    Interpreter,
    MissingInterpreter,
    other_interpreter,
    running_interpreter,
)
from twin.api.messages import Request
from twin.api.router import Router
from twin.engine import Engine

Build = Callable[..., Engine]
EVENTS = 8_000
KEPT = {name: os.environ[name] for name in ("PYTHONPYCACHEPREFIX",) if name in os.environ}
"""Where bytecode is kept: no part of the environment that is tried."""
OTHERS = sorted({"3.11", "3.12", "3.13"} - {CURRENT})


def hash_elsewhere(python: Interpreter, environment: Environment) -> str:
    """Return the hash that the run prints in a process of its own."""
    words = ["-m", "benchmarks.twin_engine_world", str(EVENTS), "1", "0"]
    command = [str(python.path), *environment.flags, *words]
    ran = subprocess.run(
        command,
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", **KEPT, **environment.variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.split()[0]


@pytest.fixture(scope="module")
def first() -> str:
    """The hash of the run on this interpreter, in the first environment."""
    return hash_elsewhere(running_interpreter(), ENVIRONMENTS[0])


@pytest.mark.parametrize("environment", ENVIRONMENTS[1:3], ids=lambda one: one.name)
def test_the_environment_changes_nothing(first: str, environment: Environment) -> None:
    """Hash seed, time zone and locale are not in the state."""
    assert first == hash_elsewhere(running_interpreter(), environment)


@pytest.mark.slow
@pytest.mark.parametrize("version", OTHERS)
def test_the_interpreter_changes_nothing(first: str, version: str) -> None:
    """8,000 events end in one hash on every supported CPython."""
    python = other_interpreter(version)
    if isinstance(python, MissingInterpreter):
        pytest.skip(f"not tried: {python}")

    assert first == hash_elsewhere(python, ENVIRONMENTS[1])


def test_slicing_and_reading_change_nothing(build: Build) -> None:
    """One advance, many odd ones, single events, and lists and watches in between: one hash."""
    span = 500.0
    whole, sliced, stepped, read = (build(9) for _ in range(4))
    end = whole.now + span
    whole.advance(end)
    random = Random(2)
    while sliced.now < end:
        sliced.advance(min(end, sliced.now + random.choice((1e-6, 0.013, 5.0, 33.3))))
    while stepped.now < end - 60.0:
        stepped.step(random.randrange(1, 50))
    stepped.advance(end)
    router = Router(read)
    while read.now < end:
        read.advance(min(end, read.now + 20.0))
        for path in ("/api/v1/pods", "/apis/metrics.k8s.io/v1beta1/nodes", "/foresail/v1/state"):
            router.handle(Request("GET", path))
        router.handle(Request("GET", "/api/v1/pods", {"watch": "true"}))

    assert {whole.state_hash()} == {each.state_hash() for each in (sliced, stepped, read)}
