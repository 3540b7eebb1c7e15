"""Defects in what models are trained and judged by."""

from __future__ import annotations

from proofs.planted.defect import Defect

FORECAST = (
    Defect(
        "a failure at the anchor's own microsecond is a label",
        "lab/forecast/labels.py",
        "(end > time) &",
        "(end >= time) &",
        "tests/forecast/data/test_labels.py::test_the_horizon_is_open_at_its_start_and_closed_at_its_end",
    ),
    Defect(
        "a failure at the horizon's end is no label",
        "lab/forecast/labels.py",
        "(end <= time + horizon_us)",
        "(end < time + horizon_us)",
        "tests/forecast/data/test_labels.py::test_the_horizon_is_open_at_its_start_and_closed_at_its_end",
    ),
)
