"""Comparisons as data: each threshold that a policy tries becomes one `Evidence`, with its signal's age."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from schemas.actions import Evidence
from schemas.numbers import rounded
from schemas.view import ObservationView

COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
}


@dataclass(frozen=True, slots=True)
class Measurement:
    """A number that thresholds are tried against: what, on which node, from which signal."""

    name: str
    value: float
    signal: str
    age_seconds: float | None
    subject: str = ""

    def compare(self, comparison: str, threshold: float) -> Evidence:
        """Return the comparison; the value is rounded first, as it travels."""
        value = rounded(self.value)
        return Evidence(
            name=self.name,
            value=value,
            comparison=comparison,
            threshold=threshold,
            holds=COMPARISONS[comparison](value, rounded(threshold)),
            subject=self.subject,
            signal=self.signal,
            age_seconds=self.age_seconds,
        )


def measure(
    view: ObservationView, name: str, value: float, signal: str, subject: str = ""
) -> Measurement:
    """Return a measurement with the age that the observation states for its signal."""
    source = view.signal(signal)
    return Measurement(name, value, signal, None if source is None else source.age_seconds, subject)
