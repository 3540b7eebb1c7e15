"""`python -m bus.bootstrap`: make sure the log exists, once, before anybody speaks.

Waits for the server as long as FORESAIL_WAIT_SECONDS says (60 unless set), so that containers may
start in any order; then it ends. Reads the variables that every process reads, and
FORESAIL_REPLICAS: how many servers of a cluster keep the log (1 unless set).
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
from collections.abc import Mapping

from bus.clock import Clock, SystemClock
from bus.errors import BusUnavailable, ConfigError, InputError, Permanent
from bus.exit_codes import ExitCode
from bus.login import Login
from bus.nats_adapter import NatsBus
from bus.streams import StreamDeclaration
from inputs.plain_numbers import parse_number

AGAIN_SECONDS = 0.5
WAIT_SECONDS = "60"
LONGEST_WAIT_SECONDS = 86_400.0


async def declare_log(environment: Mapping[str, str], clock: Clock) -> str:
    """Declare the log that the environment names; return its name.

    Raises:
        ConfigError: a variable is unset or does not fit.
        BusUnavailable: no server answered in time.
    """
    url, cluster, incarnation = (
        _required_variable(environment, f"FORESAIL_{part}")
        for part in ("NATS_URL", "CLUSTER", "INCARNATION")
    )
    replicas = environment.get("FORESAIL_REPLICAS") or "1"
    if replicas not in {"1", "3", "5"}:
        raise ConfigError("FORESAIL_REPLICAS", replicas, "give 1, 3 or 5")
    declaration = StreamDeclaration.of(cluster, incarnation, replicas=int(replicas))
    if environment.get("FORESAIL_STREAM", declaration.name) != declaration.name:
        raise ConfigError("FORESAIL_STREAM", environment["FORESAIL_STREAM"], declaration.name)
    deadline = clock.monotonic() + _wait_seconds(environment)
    while True:
        try:
            await NatsBus.declare(url, declaration, login=Login.from_environment(environment))
        except BusUnavailable:
            if clock.monotonic() > deadline:
                raise
            await clock.sleep(AGAIN_SECONDS)
        else:
            return declaration.name


def _wait_seconds(environment: Mapping[str, str]) -> float:
    text = environment.get("FORESAIL_WAIT_SECONDS", WAIT_SECONDS)
    try:
        seconds = parse_number(text)
    except ValueError:
        seconds = math.nan
    if not 0.0 <= seconds <= LONGEST_WAIT_SECONDS:
        raise ConfigError(
            "FORESAIL_WAIT_SECONDS", text, f"give seconds from 0 to {LONGEST_WAIT_SECONDS:g}"
        )
    return seconds


def _required_variable(environment: Mapping[str, str], variable: str) -> str:
    if not environment.get(variable):
        raise ConfigError(variable, "(unset)", "set it")
    return environment[variable]


def main(environment: Mapping[str, str]) -> int:
    """Declare the log; 2 for bad input, 1 when no server came."""
    try:
        name = asyncio.run(declare_log(environment, SystemClock()))
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return ExitCode.BAD_INPUT
    except (BusUnavailable, Permanent) as error:
        sys.stderr.write(f"{error}\n")
        return ExitCode.FAILED
    sys.stdout.write(f"the log {name} is there\n")
    return ExitCode.GOOD


if __name__ == "__main__":
    sys.exit(main(os.environ))  # noqa: TID251 - the last frame reads the environment
