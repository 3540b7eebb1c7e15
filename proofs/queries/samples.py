"""The samples that both evaluators are asked about: every awkward thing that a counter or gauge can do.

Two hours from 2026-01-01T00:00:00Z. Values are drawn with a fixed seed; times are whole milliseconds, since
that is all Prometheus keeps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from twin.promql.numbers import number_text
from twin.promql.values import NAME, Batch, Key, Labels, Matcher, key_of

START = 1_767_225_600
"""Unix seconds; 00:00 of a day, so that blocks of two hours hold all."""
SECONDS = 7_200
INTERVAL = 15
BOUNDS = ("0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "+Inf")


@dataclass(frozen=True)
class Sample:
    """One value at one time."""

    milliseconds: int
    value: float


Set = dict[Key, list[Sample]]


def samples() -> Set:
    """Return all series; the same at each call."""
    chance = Random(20260101)
    made: Set = {}

    def add(name: str, values: Iterable[tuple[float, float]], **labels: str) -> None:
        key = key_of({NAME: name, **labels})
        made[key] = [Sample(START * 1_000 + round(at * 1_000), value) for at, value in values]

    for pod in ("web-1", "web-2", "web-3"):
        for code in ("200", "504"):
            step = 3.0 if code == "200" else 0.2
            add("requests_total", _counter(chance, step), job="web", pod=pod, code=code)
    for bound in BOUNDS:
        share = 1.0 - math.exp(-float(bound) / 0.12)
        add("seconds_bucket", _line(share * 4.0), job="web", le=bound)
        add("seconds_bucket", _line(share * share), job="api", le=bound)
    add("restarts_total", _resetting(chance), pod="web-1")
    add("restarts_total", _resetting(chance), pod="web-2")
    for number in range(5):
        add("memory_bytes", _gauge(chance, 1e9), node=f"n{number}", zone=f"z{number % 2}")
        add("allocatable_bytes", _constant(4e9 + number), node=f"n{number}")
        add("node_info", _constant(1.0), node=f"n{number}", kernel=f"6.{number}")
    add(
        "gappy",
        [(at, value) for at, value in _gauge(chance, 10.0) if at % 1_800 < 900],
        kind="half",
    )
    add("gappy", [(at, value) for at, value in _gauge(chance, 10.0) if at < 2_000], kind="ends")
    add("gappy", [(at, value) for at, value in _gauge(chance, 10.0) if at > 5_000], kind="begins")
    add("sparse", [(at, at / 7.0) for at in range(0, SECONDS, 240)])
    add("jittered", _jittered_samples(chance), job="web")
    add("signed", [(at, math.sin(at / 500.0) * 3.0) for at in range(0, SECONDS, INTERVAL)])
    add("strange", _strange(), kind="mixed")
    add("strange", _constant(math.nan), kind="nan")
    add("steps", [(at, float(at // 600)) for at in range(0, SECONDS, INTERVAL)], kind="ten")
    add("tiny", [(at, 1e-9 * at) for at in range(0, SECONDS, INTERVAL)])
    add("huge", [(at, 1e22 + 1e18 * at) for at in range(0, SECONDS, INTERVAL)])
    return made


class SampleSet:
    """The samples as a source of the twin's evaluator."""

    def __init__(self, series: Set) -> None:
        """Serve these series."""
        self._batches = [
            (
                dict(key),
                np.array([one.milliseconds for one in values], np.int64),
                np.array([one.value for one in values]),
            )
            for key, values in series.items()
        ]

    def select(self, matchers: Sequence[Matcher], begin: int, end: int) -> Iterator[Batch]:
        """Yield each series by itself."""
        for labels, times, values in self._batches:
            if all(one.test(labels.get(one.label, "")) for one in matchers):
                inside = (times >= begin) & (times <= end)
                yield Batch([labels], times[inside], values[None, inside])


def open_metrics(series: Set) -> str:
    """Return the samples as `promtool tsdb create-blocks-from openmetrics` reads them."""
    families: dict[str, list[str]] = {}
    for key, values in series.items():
        labels: Labels = dict(key)
        shown = ",".join(f'{name}="{text}"' for name, text in key if name != NAME)
        families.setdefault(labels[NAME], []).extend(
            f"{labels[NAME]}{{{shown}}} {number_text(one.value)} {one.milliseconds / 1_000:.3f}"
            for one in values
        )
    lines = [line for name, rows in families.items() for line in (f"# TYPE {name} unknown", *rows)]
    return "\n".join([*lines, "# EOF", ""])


def _times() -> range:
    return range(0, SECONDS, INTERVAL)


def _line(per_second: float) -> Iterator[tuple[float, float]]:
    return ((at, at * per_second) for at in _times())


def _constant(value: float) -> Iterator[tuple[float, float]]:
    return ((at, value) for at in _times())


def _counter(chance: Random, step: float) -> Iterator[tuple[float, float]]:
    value = 100.0 * chance.random()
    for at in _times():
        value += step * INTERVAL * chance.random()
        yield at, value


def _resetting(chance: Random) -> Iterator[tuple[float, float]]:
    value = 0.0
    for at in _times():
        value = 0.0 if chance.random() < 0.03 else value + 5.0 * chance.random()
        yield at, value


def _gauge(chance: Random, size: float) -> Iterator[tuple[float, float]]:
    value = size
    for at in _times():
        value += size * 0.05 * (chance.random() - 0.5)
        yield at, value


def _jittered_samples(chance: Random) -> Iterator[tuple[float, float]]:
    value = 0.0
    for at in _times():
        value += 30.0 * chance.random()
        if chance.random() > 0.1:
            yield at + chance.randrange(0, 3_000) / 1_000.0, value


def _strange() -> Iterator[tuple[float, float]]:
    values = (1.0, math.inf, -3.0, math.nan, 0.0, -math.inf, 2.5, -0.0)
    for number, at in enumerate(_times()):
        yield at, values[number % len(values)]
