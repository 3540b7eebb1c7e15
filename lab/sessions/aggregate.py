"""Ranks the results in a folder: filters, the best ones, and those that no other one beats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bus.errors import InputError
from inputs.limited_files import BadFile, read_limited
from inputs.limited_json import BadJson, load_json
from lab.rerun.sweep import pareto
from lab.sessions.engines.port import RESULT_BYTES
from lab.sessions.results import figure_of
from projections.session_state import Direction
from schemas.expressions import Expression, ExpressionError, compile_expression

KIND = "foresail.session.summary"
"""Marks our own summaries, so that none is ever taken for a result."""
DRAWDOWN, TRADES = "max_drawdown_pct", "total_trades"
WITHOUT_DRAWDOWN = 100.0
"""What a result without the figure is taken to have lost, in percent: it passes no limit below."""
USUAL_FIGURES = ("realized_pnl_usd", "score_dollars_per_hour", "reward", "score")
"""What results are ranked by unless told otherwise: the first of these that one of them has."""


@dataclass(frozen=True, slots=True)
class RankedResult:
    """One result, with what it is ranked by."""

    job_id: str
    tag: str | None
    config: dict[str, Any]
    metrics: dict[str, Any]
    status: str
    value: float | None
    file: str

    @property
    def names(self) -> dict[str, Any]:
        """What an expression may speak of: every metric by its name, then `metrics` and `config`."""
        return {**self.metrics, "metrics": self.metrics, "config": self.config}


@dataclass(slots=True)
class SessionResults:
    """Every result of a folder."""

    succeeded: list[RankedResult] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    """(file, why)"""

    @property
    def total(self) -> int:
        """Results, whatever became of them."""
        return len(self.succeeded) + len(self.errors)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which results count, and in what order."""

    max_drawdown_pct: float | None = None
    min_trades: int | None = None
    where: tuple[str, ...] = ()
    rank_by: str | None = None
    """None: the first of `USUAL_FIGURES` that there is."""
    direction: Direction = "maximize"
    goals: tuple[tuple[str, Direction], ...] = ()
    """(expression, direction) of the Pareto front."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Results that passed the filters, best first."""

    rank_by: str
    results: tuple[RankedResult, ...]
    front: tuple[RankedResult, ...]
    """Those that no other one beats in every goal."""


def read_results(folder: Path, leave_out: Sequence[Path] = ()) -> SessionResults:
    """Return the results below a folder; JSON that is no result, and our own summaries, are passed over.

    Raises:
        InputError: there is no such folder.
    """
    if not folder.is_dir():
        raise InputError("--results-dir", folder, "give the folder of the jobs' results")
    results = SessionResults()
    hidden = {path.resolve() for path in leave_out}
    for path in sorted(folder.rglob("*.json")):
        if path.resolve() in hidden:
            continue
        name = path.relative_to(folder).as_posix()
        try:
            content = load_json(read_limited(path, RESULT_BYTES), most_bytes=RESULT_BYTES)
        except (OSError, BadFile, BadJson) as error:
            results.errors.append((name, f"it cannot be read ({error})"))
            continue
        if not isinstance(content, dict) or _is_summary(content) or "status" not in content:
            continue
        if content["status"] == "success" and isinstance(content.get("metrics"), dict):
            results.succeeded.append(_result(path, name, content))
        else:
            results.errors.append((name, str(content.get("error", content["status"]))[:500]))
    return results


def rank(results: SessionResults, wanted: Wanted) -> Ranking:
    """Return what passes the filters, best first, results without the figure last.

    Raises:
        InputError: an expression cannot be read.
    """
    filters = [_expression("--where", text) for text in wanted.where]
    rank_by = wanted.rank_by or _usual_figure(results.succeeded)
    _expression("--rank-by", rank_by)
    kept = [
        replace(one, value=figure_of(one.names, rank_by))
        for one in results.succeeded
        if _passes(one, wanted) and all(each.holds(one.names) for each in filters)
    ]
    sign = -1.0 if wanted.direction == "maximize" else 1.0
    kept.sort(key=lambda one: (one.value is None, sign * (one.value or 0.0), one.job_id))
    return Ranking(rank_by, tuple(kept), tuple(_front(kept, wanted.goals)))


def _passes(one: RankedResult, wanted: Wanted) -> bool:
    drawdown = one.metrics.get(DRAWDOWN, WITHOUT_DRAWDOWN)
    if wanted.max_drawdown_pct is not None and drawdown > wanted.max_drawdown_pct:
        return False
    return wanted.min_trades is None or one.metrics.get(TRADES, 0) >= wanted.min_trades


def _front(
    kept: Sequence[RankedResult], goals: Sequence[tuple[str, Direction]]
) -> Iterator[RankedResult]:
    if not goals:
        return
    for text, _ in goals:
        _expression("--pareto", text)
    rows = []
    for place, one in enumerate(kept):
        figures = {text: figure_of(one.names, text) for text, _ in goals}
        if None not in figures.values():
            rows.append({**figures, "place": place})
    wanted = [(text, direction == "maximize") for text, direction in goals]
    for row in pareto(rows, wanted):
        yield kept[row["place"]]


def summary_json(
    results: SessionResults, ranking: Ranking, filters: Mapping[str, Any], most: int
) -> dict[str, Any]:
    """Return a summary for scripts; the first five fields are those of the predecessors' `AggregatedSummary`."""
    top = [_as_json(one) for one in ranking.results[:most]]
    return {
        "total_jobs": results.total,
        "success_jobs": len(results.succeeded),
        "error_jobs": len(results.errors),
        "filters": dict(filters),
        "top_by_pnl": top,
        "kind": KIND,
        "rank_by": ranking.rank_by,
        "passed": len(ranking.results),
        "pareto": [one.job_id for one in ranking.front],
        "errors": [{"file": file, "error": why} for file, why in results.errors],
    }


def _as_json(one: RankedResult) -> dict[str, Any]:
    return {
        "job_id": one.job_id,
        "tag": one.tag,
        "config": one.config,
        "metrics": one.metrics,
        "status": one.status,
        "value": one.value,
    }


def _result(path: Path, name: str, content: Mapping[str, Any]) -> RankedResult:
    config = content.get("config")
    summary = content.get("config_summary")
    config = config if isinstance(config, dict) else {}
    about = summary if isinstance(summary, dict) else config
    tag = about.get("tag", config.get("tag"))
    return RankedResult(
        job_id=str(content.get("job_id", about.get("job_id", path.stem))),
        tag=None if tag is None else str(tag),
        config=config,
        metrics=content["metrics"],
        status="success",
        value=None,
        file=name,
    )


def _is_summary(content: Mapping[str, Any]) -> bool:
    return content.get("kind") == KIND or {"total_jobs", "top_by_pnl"} <= content.keys()


def _usual_figure(results: Sequence[RankedResult]) -> str:
    return next(
        (name for name in USUAL_FIGURES if any(name in one.metrics for one in results)),
        USUAL_FIGURES[0],
    )


def _expression(flag: str, text: str) -> Expression:
    try:
        return compile_expression(text)
    except ExpressionError as error:
        raise InputError(flag, text, str(error)) from error
