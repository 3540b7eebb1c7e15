"""Results are filtered and ranked, and nothing but results is counted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bus.errors import InputError
from foresail.__main__ import main
from lab.sessions.aggregate import Wanted, rank, read_results


def write(folder: Path, name: str, metrics: dict[str, Any] | None = None, **more: Any) -> None:
    """Write a result."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    status = "error" if metrics is None else "success"
    content = {"status": status, "config": {"x": name}, "metrics": metrics or {}, **more}
    path.write_text(json.dumps(content))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Return a folder of five results, one of them an error, and of files that are none."""
    folder = tmp_path / "results"
    write(folder, "a.json", {"realized_pnl_usd": 5.0, "max_drawdown_pct": 20.0, "total_trades": 9})
    write(
        folder, "deep/b.json", {"realized_pnl_usd": 9.0, "max_drawdown_pct": 0, "total_trades": 3}
    )
    write(folder, "c.json", {"realized_pnl_usd": 0.0, "total_trades": 30}, job_id="own")
    write(folder, "d.json", {"realized_pnl_usd": -2.0, "max_drawdown_pct": 1.0, "total_trades": 0})
    write(folder, "e.json")
    (folder / "notes.json").write_text('{"hello": 1}')
    (folder / "broken.json").write_text("{")
    return folder


def ids(folder: Path, **wanted: Any) -> list[str]:
    """Return the ranked ids."""
    return [one.job_id for one in rank(read_results(folder), Wanted(**wanted)).results]


def test_the_best_come_first_and_errors_are_counted(results: Path) -> None:
    """Six results, two of them errors; what has no status is no result."""
    read = read_results(results)

    assert (read.total, len(read.succeeded), len(read.errors)) == (6, 4, 2)
    assert ids(results) == ["b", "a", "own", "d"]
    assert ids(results, direction="minimize", rank_by="total_trades") == ["d", "b", "a", "own"]


def test_filters_keep_what_they_should(results: Path) -> None:
    """A result without a drawdown lost 100 %, and 0 is a drawdown."""
    assert ids(results, max_drawdown_pct=15.0) == ["b", "d"]
    assert ids(results, min_trades=5) == ["a", "own"]
    assert ids(results, where=("realized_pnl_usd >= 0", "config.x != 'a.json'")) == ["b", "own"]


def test_the_front_holds_what_nothing_beats(results: Path) -> None:
    """More profit with more trades: b earns most, own trades most, a lies between."""
    goals = (("realized_pnl_usd", "maximize"), ("total_trades", "maximize"))
    front = rank(read_results(results), Wanted(goals=goals)).front  # type: ignore[arg-type]

    assert sorted(one.job_id for one in front) == ["a", "b", "own"]


def test_its_own_summaries_are_never_results(results: Path) -> None:
    """Written into the folder of the results twice, and once in the predecessors' form, they change no count."""
    words = ["session", "aggregate", "--results-dir", str(results), "--output-json"]
    for _ in range(2):
        assert main([*words, str(results / "summary.json")]) == 0
    assert main([*words, str(results / "other.json")]) == 0
    (results / "theirs.json").write_text('{"total_jobs": 1, "top_by_pnl": [], "status": "success"}')

    summary = json.loads((results / "other.json").read_text())
    assert (summary["total_jobs"], read_results(results).total) == (6, 6)
    assert [one["job_id"] for one in summary["top_by_pnl"]] == ["b", "a", "own", "d"]
    assert list(summary)[:5] == [
        "total_jobs", "success_jobs", "error_jobs", "filters", "top_by_pnl",
    ]  # fmt: skip


def test_no_folder_and_no_expression_are_input_errors(results: Path) -> None:
    """Exit code 2 each; nothing left after the filters is 4."""
    words = ["session", "aggregate", "--results-dir", str(results)]

    assert main(["session", "aggregate", "--results-dir", str(results / "none")]) == 2
    assert main([*words, "--where", "1 +"]) == 2
    assert main([*words, "--pareto", "x"]) == 2
    assert main([*words, "--min-trades", "99"]) == 4
    with pytest.raises(InputError, match="rank-by"):
        ids(results, rank_by=")")


def test_the_page_needs_nothing_but_itself(results: Path, tmp_path: Path) -> None:
    """Its plots and their program stand in it, with every result's name; nothing is loaded from elsewhere."""
    page = tmp_path / "page.html"
    pareto = ["--pareto", "realized_pnl_usd:max,total_trades:max"]

    assert (
        main(["session", "aggregate", "--results-dir", str(results), "--html", str(page), *pareto])
        == 0
    )

    text = page.read_text()
    assert {"Parallel coordinates", "Slices", "Pareto front"} <= set(
        re.findall(r"<h2>(.*?)</h2>", text)
    )
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", text)
    assert "own" in text
