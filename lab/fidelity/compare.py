"""Holds the twin's figures against documentation and against the real programs' figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lab.fidelity.metrics import Value, measure, node_counts
from lab.fidelity.recording import Recording
from lab.fidelity.scenario import Promise, Scenario

SHARE = 0.95
"""Share of minutes in which node counts have to lie within one of each other."""


@dataclass(frozen=True, slots=True)
class FidelityRow:
    """One promise and how both sides kept it."""

    promise: Promise
    real: tuple[Value, ...]
    """One of each run of the real program; empty: not measured."""
    twin: Value
    real_as_documented: bool | None
    """None: nothing is documented, or the scenario was not measured."""
    twin_as_documented: bool | None
    alike: bool | None
    """Whether the twin is near one of the real runs; None: not measured."""

    @property
    def holds(self) -> bool:
        """Whether the twin does what is promised: as the real program, or as documented where none ran."""
        return self.twin_as_documented is not False and self.alike is not False


@dataclass(frozen=True, slots=True)
class Comparison:
    """All rows of a scenario."""

    scenario: Scenario
    programs: dict[str, str]
    """Versions of the real programs; empty: not measured."""
    rows: tuple[FidelityRow, ...]


def compare(scenario: Scenario, twin: Recording, real: Sequence[Recording]) -> Comparison:
    """Hold a scenario's promises beside all runs of the real programs; without any, documentation counts alone."""
    promises = [*scenario.promises, *_promises_of_every(scenario)]
    rows = tuple(_row(promise, twin, real) for promise in promises)
    return Comparison(scenario, real[0].programs if real else {}, rows)


def _promises_of_every(scenario: Scenario) -> list[Promise]:
    """Return what is promised of every scenario with a provisioner: the issue's own bar."""
    if scenario.kind == "control-plane":
        return []
    return [Promise(
        text="minutes in which the twin's mean node count is within 1 of the real one",
        metric="node_counts",
        source="issue 13, bar 2: within 1 in 95 % of minutes",
        cause=scenario.node_count_cause,
    )]  # fmt: skip


def _row(promise: Promise, twin: Recording, real: Sequence[Recording]) -> FidelityRow:
    if promise.metric == "node_counts":
        return _node_count_row(promise, twin, real)
    ours = measure(promise.metric, twin)
    theirs = tuple(measure(promise.metric, one) for one in real)
    documented = promise.documented
    return FidelityRow(
        promise,
        theirs,
        ours,
        all(_fits(one, documented) for one in theirs) if documented and real else None,
        _fits(ours, documented) if documented else None,
        any(_near(ours, one, promise.near) for one in theirs) if real else None,
    )


def _node_count_row(promise: Promise, twin: Recording, real: Sequence[Recording]) -> FidelityRow:
    if not real:
        return FidelityRow(promise, (), None, None, None, None)
    share = max(_share_of_minutes(twin, one) for one in real)
    return FidelityRow(promise, (), f"{share:.0%}", None, None, share >= SHARE)


def _share_of_minutes(twin: Recording, real: Recording) -> float:
    pairs = list(zip(node_counts(twin), node_counts(real), strict=True))
    return sum(abs(ours - theirs) <= 1 for ours, theirs in pairs) / len(pairs)


def _fits(value: Value, documented: str) -> bool:
    """Whether a figure is as documented; raises ValueError for an unclear text."""
    if value is None:
        return False
    if " .. " in documented:
        low, high = map(float, documented.split(" .. "))
        return low <= float(value) <= high
    sign, _, text = documented.partition(" ")
    if isinstance(value, str):
        if sign != "=":
            raise ValueError(f"unclear {documented!r} for a text")
        return value == text
    known = {"=": value == float(text), "<=": value <= float(text), ">=": value >= float(text)}
    return known[sign]


def _near(ours: Value, theirs: Value, near: float) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float):
        return abs(ours - theirs) <= near + 1e-9
    return ours == theirs
