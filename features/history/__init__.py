"""History as numbers: the one feature code of training and of live inference.

Problem: a model is only worth something live when its columns mean there what they meant in
training. So both read their features from this package: `lab.forecast.features` feeds it a trace
in large pieces, inference feeds it what each cycle brought.

Guarantees, each with a test under tests/forecast/history: a feature of an anchor follows from the
events strictly before the anchor's time and from the anchor's own row alone; cutting the events
into other pieces, or forgetting what no feature can ask for any more, changes no bit of any value.
Both hold because every state is whole numbers: counts, microseconds, millionths and bit masks.

Reads numpy and the standard library only; no clock, no chance, no I/O.
"""

from __future__ import annotations

from features.history.events import (
    Anchors,
    Events,
    JobEvents,
    Kind,
    MachineEvents,
    MachineKind,
    TaskEvents,
)
from features.history.feature import Feature
from features.history.history import History
from features.history.sets import FEATURE_SETS, FeatureSet

__all__ = [
    "FEATURE_SETS",
    "Anchors",
    "Events",
    "Feature",
    "FeatureSet",
    "History",
    "JobEvents",
    "Kind",
    "MachineEvents",
    "MachineKind",
    "TaskEvents",
]
