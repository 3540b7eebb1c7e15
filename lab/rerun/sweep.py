"""Many what-ifs over one recording: every combination of some parameters, spread over the cores.

Results are kept one line each as soon as they are there, so that an interrupted sweep goes on where
it stopped; the file names what was swept, and another sweep does not take it for its own.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import multiprocessing
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bus.errors import ConfigError, InputError
from inputs.limited_json import BadJson, load_json
from lab.rerun.changes import Changes, full_name, read_rules, value_of
from lab.rerun.what_if import what_if

MOST_POINTS = 20_000
_RANGE = re.compile(r"(-?[0-9.]+(?:e-?[0-9]+)?)\.\.(-?[0-9.]+(?:e-?[0-9]+)?)(?::([0-9]+))?")
DEFAULT_STEPS = 5
DECIMALS = 6


@dataclass(frozen=True, slots=True)
class Parameter:
    """A setting and the values that it takes."""

    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Sweep:
    """Everything that determines a sweep's results."""

    path: Path
    parameters: tuple[Parameter, ...]
    changes: Changes
    """Held for every point."""
    rules: Path | None
    window_seconds: float

    @property
    def points(self) -> tuple[dict[str, Any], ...]:
        """Every combination, the last parameter changing fastest."""
        names = [parameter.name for parameter in self.parameters]
        values = itertools.product(*(parameter.values for parameter in self.parameters))
        return tuple(dict(zip(names, point, strict=True)) for point in values)

    def fingerprint(self) -> str:
        """Return what tells this sweep from others: its recording and everything held."""
        digest = hashlib.sha256()
        with self.path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        rules = "" if self.rules is None else self.rules.read_text(encoding="utf-8")
        parts = [self.changes, rules, self.window_seconds]
        digest.update(json.dumps(parts, sort_keys=True).encode())
        return digest.hexdigest()


def read_parameter(word: str) -> Parameter:
    """Return a parameter from `name=0.7..0.95:6` or `name=0.7,0.8,0.9`.

    Raises:
        ConfigError: it cannot be read, or there is no such setting.
    """
    name, sign, text = word.partition("=")
    if not sign or not text:
        raise ConfigError("--param", word, "write it as agents.safety.replicate=0.7..0.95:6")
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        values = tuple(value_of(word.strip()) for word in text.split(","))
    else:
        low, high = float(match[1]), float(match[2])
        steps = int(match[3] or DEFAULT_STEPS)
        if steps < 1 or (steps == 1 and low != high) or not math.isfinite(high - low):
            raise ConfigError("--param", word, "give at least two steps, as in 0.7..0.95:6")
        whole = all(
            bound.is_integer() and "." not in text.replace("..", "") for bound in (low, high)
        )
        values = tuple(_between(low, high, number, steps, whole=whole) for number in range(steps))
    return Parameter(full_name(name.strip()), tuple(dict.fromkeys(values)))


def _between(low: float, high: float, number: int, steps: int, *, whole: bool) -> float | int:
    value = low + (high - low) * number / max(1, steps - 1)
    return round(value) if whole else round(value, DECIMALS)


def run(
    sweep: Sweep, results: Path, workers: int
) -> Generator[tuple[dict[str, Any], int], None, None]:
    """Yield each point's figures and how many points are still to come; kept ones first.

    Args:
        sweep: what is swept.
        results: file of results, made or continued.
        workers: processes.

    Raises:
        InputError: too many points, or the file belongs to another sweep.
    """
    points = sweep.points
    if len(points) > MOST_POINTS:
        raise InputError("--param", f"{len(points)} points", f"sweep at most {MOST_POINTS}")
    earlier = _earlier_results(results, sweep.fingerprint())
    done = {_key(figures["point"]): figures for figures in earlier}
    todo = [point for point in points if _key(point) not in done]
    left = len(todo)
    for point in points:
        if _key(point) in done:
            yield done[_key(point)], left
    with results.open("a", encoding="utf-8") as file:
        for figures in _compute(sweep, todo, workers):
            left -= 1
            file.write(json.dumps(figures) + "\n")
            file.flush()
            yield figures, left


def compute(sweep: Sweep, point: Mapping[str, Any]) -> dict[str, Any]:
    """Return one point's figures as JSON values."""
    rules = None if sweep.rules is None else read_rules(sweep.rules)
    changes = {**sweep.changes, **point}
    try:
        result = what_if(sweep.path, changes, rules, window_seconds=sweep.window_seconds)
    except ConfigError as error:
        return {"point": dict(point), "refused": str(error)}
    whole = {"compared": result.compared, "unreadable": result.unreadable, "damage": result.damage}
    return {"point": dict(point), **result.names(), **whole}


def _compute(
    sweep: Sweep, points: Sequence[dict[str, Any]], workers: int
) -> Iterator[dict[str, Any]]:
    """Yield figures as they come; in this process when one worker is enough."""
    if workers <= 1 or len(points) <= 1:
        for point in points:
            yield compute(sweep, point)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(points)), mp_context=context) as pool:
        try:
            yield from _in_turn(pool, sweep, iter(points), 2 * workers)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _in_turn(
    pool: ProcessPoolExecutor, sweep: Sweep, points: Iterator[dict[str, Any]], ahead: int
) -> Iterator[dict[str, Any]]:
    """Keep some points waiting for a worker, never all of them."""
    waiting: set[Future[dict[str, Any]]] = {
        pool.submit(compute, sweep, point) for point in itertools.islice(points, ahead)
    }
    while waiting:
        finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for future in finished:
            yield future.result()
        more = itertools.islice(points, len(finished))
        waiting |= {pool.submit(compute, sweep, point) for point in more}


def _earlier_results(results: Path, fingerprint: str) -> list[dict[str, Any]]:
    """Return what an earlier, interrupted sweep had found; begin the file when there is none."""
    if not results.exists():
        results.write_text(json.dumps({"sweep": fingerprint}) + "\n", encoding="utf-8")
        return []
    results_so_far: list[dict[str, Any]] = []
    first, _, rest = results.read_text(encoding="utf-8").partition("\n")
    if _object(first).get("sweep") != fingerprint:
        raise InputError("--out", results, "it holds another sweep's results; give another file")
    whole = [line for line in rest.split("\n") if line]
    for line in whole:
        entry = _object(line)
        if "point" in entry:
            results_so_far.append(entry)
    if len(results_so_far) < len(whole):  # the last line was cut off when the sweep was killed
        lines = (json.dumps(entry) for entry in ({"sweep": fingerprint}, *results_so_far))
        results.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return results_so_far


def _object(line: str) -> dict[str, Any]:
    try:
        content = load_json(line)
    except BadJson:
        return {}
    return content if isinstance(content, dict) else {}


def _key(point: Mapping[str, Any]) -> str:
    return json.dumps(point, sort_keys=True)


def pareto(
    rows: Iterable[Mapping[str, Any]], goals: Sequence[tuple[str, bool]]
) -> list[Mapping[str, Any]]:
    """Return the rows that no other row beats: as good in every goal, and better in one.

    Args:
        rows: figures by name.
        goals: (name, more is better).
    """
    counted = [row for row in rows if "refused" not in row]

    def worth(row: Mapping[str, Any]) -> tuple[float, ...]:
        return tuple(row[name] if more else -row[name] for name, more in goals)

    front = []
    for row in counted:
        mine = worth(row)
        beaten = any(
            other != mine and all(a >= b for a, b in zip(other, mine, strict=True))
            for other in map(worth, counted)
        )
        if not beaten:
            front.append(row)
    return front
