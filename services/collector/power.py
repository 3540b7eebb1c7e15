"""The power model: watts of a node from its load, its clock and its power state."""

from __future__ import annotations

from services.collector.settings import PowerModel

ON = "on"


def node_watts(
    model: PowerModel,
    *,
    power_state: str,
    cpu_ratio: float,
    memory_ratio: float,
    clock_scale_ratio: float,
) -> float:
    """Return the estimated watts of one node.

    The dynamic CPU part shrinks in proportion to the clock; a node that is `off` draws nothing.
    """
    if power_state == "off":
        return 0.0
    if power_state != ON:
        return model.sleep_watts
    cpu = model.cpu_full_scale_watts * min(cpu_ratio, 1.0) * clock_scale_ratio
    return model.idle_watts + cpu + model.mem_full_scale_watts * min(memory_ratio, 1.0)
