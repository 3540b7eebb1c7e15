"""Where a node stands: its rack and its zone, which fail as a whole."""

from __future__ import annotations

import re
from collections.abc import Mapping

RACK_LABELS = ("topology.kubernetes.io/rack", "rack")
ZONE_LABEL = "topology.kubernetes.io/zone"
_NUMBER = re.compile(r"(.*?)(\d+)\Z")


def rack_of(name: str, labels: Mapping[str, str], rack_nodes: int) -> str:
    """Return the rack of a node: as its labels say, or by the number at the end of its name; empty
    for a node that stands alone.
    """
    for label in RACK_LABELS:
        if label in labels:
            return labels[label]
    match = _NUMBER.match(name)
    return "" if match is None else f"{match[1]}{int(match[2]) // rack_nodes}"


def zone_of(labels: Mapping[str, str]) -> str:
    """Return the zone of a node; empty for one without."""
    return labels.get(ZONE_LABEL, "")
