"""What a Service says of its requests: annotations, checked when the Service is written.

| annotation | meaning |
|---|---|
| `foresail.dev/traffic` | requests over time (`twin/traffic.py`); without it nothing is simulated |
| `foresail.dev/request-cpu-seconds` | mean CPU time of a request, 0.02 |
| `foresail.dev/request-cv` | its standard deviation over its mean, 0.1 to 4 (gamma distributed), 1 |
| `foresail.dev/request-timeout-seconds` | how long a client waits for its request to be begun, 10; at most 300 |
| `foresail.dev/request-workers` | requests that a pod serves at once; cores of its limit or request, rounded up |
| `foresail.dev/idle-cpu-cores` | what a pod uses without requests, 0.005 |
| `foresail.dev/warm-up-seconds` | time over which a started pod reaches its full speed; as the weather has it |
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from twin.traffic import Traffic, read_traffic

TRAFFIC = "foresail.dev/traffic"
CPU_SECONDS = "foresail.dev/request-cpu-seconds"
CV = "foresail.dev/request-cv"
TIMEOUT_SECONDS = "foresail.dev/request-timeout-seconds"
WORKERS = "foresail.dev/request-workers"
IDLE_CORES = "foresail.dev/idle-cpu-cores"
WARM_UP_SECONDS = "foresail.dev/warm-up-seconds"
_RANGES: dict[str, tuple[float, float, float]] = {
    CPU_SECONDS: (0.02, 1e-5, 1_000.0),
    CV: (1.0, 0.1, 4.0),
    TIMEOUT_SECONDS: (10.0, 0.001, 300.0),
    WORKERS: (0.0, 1.0, 1_024.0),
    IDLE_CORES: (0.005, 0.0, 64.0),
    WARM_UP_SECONDS: (0.0, 0.0, 3_600.0),
}
"""Default, least and most of each number."""


@dataclass(frozen=True, slots=True)
class RequestSettings:
    """What one Service's requests are like; seconds are cluster seconds."""

    traffic: Traffic
    cpu_seconds: float
    cv: float
    timeout_seconds: float
    workers: int
    """Requests that a pod serves at once; 0: as many as it has cores."""
    idle_cores: float
    warm_up_seconds: float | None
    """None: as the weather has it (`twin/serving/warmth.py`)."""


def read_request_settings(annotations: Mapping[str, str]) -> RequestSettings | None:
    """Return what the annotations say; None without traffic. Raises ValueError."""
    if TRAFFIC not in annotations:
        return None
    number = {name: _number(annotations, name) for name in _RANGES}
    return RequestSettings(
        traffic=read_traffic(annotations[TRAFFIC]),
        cpu_seconds=number[CPU_SECONDS],
        cv=number[CV],
        timeout_seconds=number[TIMEOUT_SECONDS],
        workers=int(number[WORKERS]),
        idle_cores=number[IDLE_CORES],
        warm_up_seconds=number[WARM_UP_SECONDS] if WARM_UP_SECONDS in annotations else None,
    )


def problems(annotations: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield (annotation, sentence) of each of ours that cannot be read."""
    for name in _RANGES:
        try:
            _number(annotations, name)
        except ValueError as error:
            yield name, str(error)
    if TRAFFIC in annotations:
        try:
            read_traffic(annotations[TRAFFIC])
        except ValueError as error:
            yield TRAFFIC, str(error)


def _number(annotations: Mapping[str, str], name: str) -> float:
    default, least, most = _RANGES[name]
    if name not in annotations:
        return default
    try:
        value = float(annotations[name])
    except ValueError:
        value = math.nan
    if not least <= value <= most or (name == WORKERS and value != int(value)):
        whole = "whole number" if name == WORKERS else "number"
        raise ValueError(f"give a {whole} from {least:g} to {most:g}")
    return value
