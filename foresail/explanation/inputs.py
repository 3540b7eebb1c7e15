"""Inputs of the decision: predictions and their reasons, signals with source and age, and what
was missing, stale or assumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from rich.text import Text

from foresail.explanation.section import Section, number, seconds
from projections import figures
from projections.cycle_record import CycleRecord
from projections.history_text import capacity_sentence
from projections.promotion.text import driving_texts
from projections.times import cluster_time
from schemas.envelope import Event
from schemas.observation import Observation
from schemas.prediction import (
    ABSTAINS,
    Contribution,
    Prediction,
    PredictionShadow,
    prediction_table,
)
from schemas.signals import Signal, SignalStatus

NAMED_NODES = 2
NAMED_FEATURES = 3
NAMED_EXCEPTIONS = 3


def input_sections(record: CycleRecord) -> Iterator[Section]:
    """Return the sections on predictions and signals."""
    target = "" if record.decision is None else record.decision.data.action.target.name
    lines = [line for event in record.predictions for line in _prediction(event, target)]
    yield Section("PREDICTED", lines or [Text("nothing: no prediction of this cycle")], "cyan")
    yield Section("BEARS", _capacities(record), "cyan")
    if record.driven_by is not None:
        yield Section("DRIVES", [Text(line) for line in driving_texts(record.driven_by.data)])
    if record.observation is None:
        yield Section("SIGNALS", [Text("the observation is not in this log any more")], "red")
        return
    yield from _signals(record.observation)


def _capacities(record: CycleRecord) -> list[Text]:
    """Return what replicas of the workloads bear that somebody wanted to change, a line each."""
    if record.capacity is None:
        return []
    actions = [event.data.action for event in record.proposals]
    decided = () if record.decision is None else record.decision.data.actions
    names = dict.fromkeys(action.target.name for action in (*decided, *actions))
    said = ((name, capacity_sentence(record.capacity.data, name)) for name in names)
    return [Text(f"{name}: {sentence}") for name, sentence in said if sentence]


def _prediction(event: Event[Any], target: str) -> list[Text]:
    data: Prediction = event.data
    what = prediction_table(data)[0]
    shadow = f"shadow {data.slot} " if isinstance(data, PredictionShadow) else ""
    head = Text(f"{shadow}{what} {data.model_id}", style="" if not shadow else "dim")
    if data.status == "skipped":
        return [head.append(f": skipped [{data.reason}]")]
    quantile = "" if data.quantile is None else f", quantile {number(data.quantile)}"
    kind = "probability" if data.calibrated else "a score"
    sign = "<" if what == "demand" else ">="
    alarm = "" if data.alarm_ratio is None else f", acts {sign} {number(data.alarm_ratio)}"
    head.append(f", {figures.duration(data.horizon_seconds)}{quantile} ({kind}{alarm}); ")
    head.append(_extremes(data, target))
    abstains = data.grounds.count(ABSTAINS)
    if abstains:
        head.append(f"; abstains on {abstains}, where nothing like it has failed lately")
    if shadow:
        return [head]
    about = target if what == "demand" and target else ""
    return [head, *_why(data, target, only=about), *_ages(data)]


def _extremes(data: Prediction, target: str) -> str:
    what, ids, ratios = prediction_table(data)
    if not ids:
        return "no nodes"
    lowest = what == "demand"
    order = sorted(
        zip(ratios, ids, strict=True), key=lambda one: (one[0] if lowest else -one[0], one[1])
    )
    named = order[:NAMED_NODES]
    named += [one for one in order[NAMED_NODES:] if one[1] == target]
    word = "lowest" if lowest else "highest"
    return f"{word} of {len(ids)}: " + ", ".join(
        f"{name} {figures.number_beside(ratio, data.alarm_ratio)}" for ratio, name in named
    )


def _why(data: Prediction, target: str, only: str = "") -> list[Text]:
    """Return the features that made the prediction of the target, else of the first explained node,
    unless it is to be `only` one.
    """
    if not data.contributions:
        return [Text("  no node is beyond an action threshold, so none is explained", "dim")]
    about = [
        contribution
        for contribution in data.contributions
        if contribution.target.partition("|")[0] == target
    ]
    if not about and only:
        return []
    first = data.contributions[0].target
    about = about or [
        contribution for contribution in data.contributions if contribution.target == first
    ]
    weighty = [one for one in about if one.contribution] or about
    by_weight = sorted(weighty, key=lambda one: -abs(one.contribution))[:NAMED_FEATURES]
    unit = " in log-odds" if data.contributions_unit == "log_odds" else ""
    terms = ", ".join(_term(one) for one in by_weight)
    return [Text(f"  {about[0].target} because{unit}: {terms}")]


def _term(contribution: Contribution) -> str:
    value = "missing" if contribution.value is None else figures.number(contribution.value)
    return f"{contribution.feature} {value} ({figures.signed_text(contribution.contribution)})"


def _ages(data: Prediction) -> list[Text]:
    if not data.feature_sources:
        return []
    texts = [
        f"{source.features} from {source.name}, {source.status}"
        + ("" if source.age_seconds is None else f" {seconds(source.age_seconds)} old")
        for source in data.feature_sources
    ]
    return [Text(f"  features: {'; '.join(texts)}", style="dim")]


def _signals(observation: Event[Observation]) -> Iterator[Section]:
    signals = observation.data.signals
    fresh = [one for one in signals if one.status is SignalStatus.FRESH]
    yield Section("SIGNALS", [Text("; ".join(_group(fresh)))] if fresh else [])
    bad = [one for one in signals if one.status in (SignalStatus.STALE, SignalStatus.MISSING)]
    yield Section("NOT FRESH", [Text(_trouble(one)) for one in bad], "red")
    assumed = [
        f"{one.name} ({one.source})" for one in signals if one.status is SignalStatus.ASSUMED
    ]
    yield Section("ASSUMED", [Text(", ".join(assumed))] if assumed else [])
    modelled = [one for one in signals if one.modelled]
    yield Section("MODELLED", [Text(_modelled(one)) for one in modelled], "yellow")
    partly = [one for one in signals if one.exceptions and one not in bad]
    yield Section("NOT FOR", [Text(_exceptions(one)) for one in partly], "yellow")


def _group(signals: Sequence[Signal]) -> list[str]:
    """Return signals of one source and age together."""

    def key(one: Signal) -> tuple[str, float, float, float]:
        age, limit = one.age_seconds or 0.0, one.limit_seconds or 0.0
        return (one.source, age, limit, one.window_seconds or 0.0)

    texts = []
    for (source, age, limit, window), found in groupby(sorted(signals, key=key), key=key):
        names = ", ".join(f"measured {one.name}" if one.measured else one.name for one in found)
        over = f" over {figures.duration(window)}," if window else ""
        bound = f", limit {figures.duration(limit)}" if limit else ""
        texts.append(f"{names}{over} {seconds(age)} old ({source}{bound})")
    return texts


def _trouble(one: Signal) -> str:
    if one.status is SignalStatus.STALE:
        return f"{one.name} stale: {seconds(one.age_seconds)} old, limit {seconds(one.limit_seconds)} ({one.source})"
    since = one.missing_since_seconds
    dated = "" if since is None else f" since {cluster_time(since)}"
    return f"{one.name} missing{dated}: {one.reason or 'no reason given'} ({one.source})"


def _exceptions(one: Signal) -> str:
    return f"{one.name} has nothing for {_named(one.exceptions)}"


def _modelled(one: Signal) -> str:
    return f"{one.name} of {_named(one.modelled)}; the others' was measured"


def _named(rows: Sequence[str]) -> str:
    more = len(rows) - NAMED_EXCEPTIONS
    return ", ".join(rows[:NAMED_EXCEPTIONS]) + (f" and {more} more" if more > 0 else "")
