"""Holds the twin's figures against documentation and against the real programs' figures."""

from __future__ import annotations

from dataclasses import dataclass

from lab.fidelity.metrics import Value, measure, node_counts
from lab.fidelity.recording import Recording
from lab.fidelity.scenario import Promise, Scenario

SHARE = 0.95
"""Share of minutes in which node counts have to lie within one of each other."""


@dataclass(frozen=True, slots=True)
class Row:
    """One promise and how both sides kept it."""

    promise: Promise
    real: Value
    twin: Value
    real_as_documented: bool | None
    """None: nothing is documented, or the scenario was not measured."""
    twin_as_documented: bool | None
    alike: bool | None
    """Whether the twin is near the real program; None: not measured."""

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
    rows: tuple[Row, ...]


def compare(scenario: Scenario, twin: Recording, real: Recording | None) -> Comparison:
    """Hold a scenario's promises; without a real recording against documentation alone."""
    promises = [*scenario.promises, *_promises_of_every(scenario)]
    rows = tuple(_row(promise, twin, real) for promise in promises)
    return Comparison(scenario, {} if real is None else real.programs, rows)


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


def _row(promise: Promise, twin: Recording, real: Recording | None) -> Row:
    if promise.metric == "node_counts":
        return _node_count_row(promise, twin, real)
    ours = measure(promise.metric, twin)
    theirs = None if real is None else measure(promise.metric, real)
    documented = promise.documented
    return Row(
        promise,
        theirs,
        ours,
        _fits(theirs, documented) if documented and real is not None else None,
        _fits(ours, documented) if documented else None,
        None if real is None else _near(ours, theirs, promise.near),
    )


def _node_count_row(promise: Promise, twin: Recording, real: Recording | None) -> Row:
    if real is None:
        return Row(promise, None, None, None, None, None)
    pairs = list(zip(node_counts(twin), node_counts(real), strict=True))
    share = sum(abs(ours - theirs) <= 1 for ours, theirs in pairs) / len(pairs)
    return Row(promise, None, f"{share:.0%}", None, None, share >= SHARE)


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
