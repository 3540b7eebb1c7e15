"""Node actuators: the annotations that a node agent would act on, read into numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from schemas.node_annotations import POWER_STATE, NodeLimit
from twin.part import keepable

CLOCK_SCALE = NodeLimit.CLOCK_SCALE.value
MEMORY_SCALE = NodeLimit.MEMORY_SCALE.value
CPU_CAP = NodeLimit.CPU_CAP.value
MEMORY_CAP = NodeLimit.MEMORY_CAP.value
_LEAST = 0.05  # a ratio below this is taken as this: a clock does not stop


@keepable
@dataclass(frozen=True, slots=True)
class NodeSettings:
    """What is set on one node; 1.0 everywhere on an untouched one. Caps are of allocatable."""

    asleep: bool = False
    clock_scale_ratio: float = 1.0
    memory_scale_ratio: float = 1.0
    cpu_cap_ratio: float = 1.0
    memory_cap_ratio: float = math.inf  # no cap: only the node's own memory limits


_UNTOUCHED = NodeSettings()
_KEYS = frozenset({POWER_STATE, CLOCK_SCALE, MEMORY_SCALE, CPU_CAP, MEMORY_CAP})


def read_settings(annotations: Mapping[str, str]) -> NodeSettings:
    """Return the settings; an unreadable value counts as absent, as a node agent would skip it."""
    if not _KEYS & annotations.keys():
        return _UNTOUCHED  # one for all: nodes are compared at every step, and most are alike
    return NodeSettings(
        asleep=annotations.get(POWER_STATE) == "sleep",
        clock_scale_ratio=_ratio(annotations, CLOCK_SCALE, 1.0),
        memory_scale_ratio=_ratio(annotations, MEMORY_SCALE, 1.0),
        cpu_cap_ratio=_ratio(annotations, CPU_CAP, 1.0),
        memory_cap_ratio=_ratio(annotations, MEMORY_CAP, math.inf),
    )


def _ratio(annotations: Mapping[str, str], key: str, absent: float) -> float:
    try:
        value = float(annotations[key])
    except (KeyError, ValueError):
        return absent
    return min(max(value, _LEAST), 1.0) if math.isfinite(value) else absent
