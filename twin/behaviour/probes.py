"""Probes: when a container that has started becomes ready, and when it is killed for being silent.

A container answers its probes from a moment on: `foresail.dev/ready-seconds` after its start. Probes
are tried at initialDelaySeconds and every periodSeconds after it. Readiness needs successThreshold
tries that succeed; failureThreshold tries that fail in a row end a container that has a startup or
liveness probe. A startup probe holds the others back.
Source: kubernetes/website concepts/configuration/liveness-readiness-startup-probes.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from inputs.plain_numbers import parse_number
from twin.records import Object

READY_SECONDS = "foresail.dev/ready-seconds"
_PERIOD_SECONDS, _FAILURES, _SUCCESSES = 10, 3, 1  # core/v1 defaults of a probe


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """What the probes of a pod lead to, in seconds after its start; inf: never."""

    ready_seconds: float
    killed_seconds: float = math.inf
    probe: str = ""
    """Which probe kills it: startup or liveness."""


READY_AT_ONCE = ProbeOutcome(0.0)


def probe_fate(spec: Object, annotations: Mapping[str, str], answer_seconds: float) -> ProbeOutcome:
    """Return what the probes of all containers of a pod lead to."""
    probed = [c for c in spec["containers"] if not _PROBES.isdisjoint(c)]
    if not probed:
        return READY_AT_ONCE
    answers = _seconds(annotations, answer_seconds)
    fates = [_container_fate(container, answers) for container in probed]
    first = min(fates, key=lambda fate: fate.killed_seconds)
    ready = max(fate.ready_seconds for fate in fates)
    return ProbeOutcome(ready if ready <= first.killed_seconds else math.inf, first.killed_seconds,
                first.probe)  # fmt: skip


_PROBES = frozenset({"readinessProbe", "livenessProbe", "startupProbe"})


def _container_fate(container: Object, answers: float) -> ProbeOutcome:
    startup = container.get("startupProbe")
    began = 0.0
    if startup is not None:
        if answers > (last := _gives_up(startup, 0.0)):
            return ProbeOutcome(math.inf, last, "startup")
        began = _first_success(startup, answers, 0.0)
    liveness = container.get("livenessProbe")
    if liveness is not None and answers > (last := _gives_up(liveness, began)):
        return ProbeOutcome(math.inf, last, "liveness")
    readiness = container.get("readinessProbe")
    if readiness is None:
        return ProbeOutcome(began)
    more = (readiness.get("successThreshold") or _SUCCESSES) - 1
    return ProbeOutcome(_first_success(readiness, answers, began) + more * _period(readiness))


def _first_success(probe: Object, answers: float, began: float) -> float:
    """Return the first try at which the container answers."""
    first = max(began, float(probe.get("initialDelaySeconds") or 0))
    tries = math.ceil(max(0.0, answers - first) / _period(probe))
    return first + tries * _period(probe)


def _gives_up(probe: Object, began: float) -> float:
    """Return the last try that may fail."""
    first = max(began, float(probe.get("initialDelaySeconds") or 0))
    return first + ((probe.get("failureThreshold") or _FAILURES) - 1) * _period(probe)


def _period(probe: Object) -> float:
    return float(probe.get("periodSeconds") or _PERIOD_SECONDS)


def _seconds(annotations: Mapping[str, str], absent: float) -> float:
    try:
        value = parse_number(annotations[READY_SECONDS])
    except (KeyError, ValueError):
        return absent
    return value if value >= 0.0 else absent
