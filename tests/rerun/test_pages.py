"""Pages of what-if, sweep and diff: one file each, with a picture, nothing loaded from elsewhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from foresail.__main__ import main
from foresail.decision_strip import decision_strip
from foresail.html_page import render
from foresail.sweep import _tells_something
from foresail.what_if import _with_reason
from lab.rerun.what_if import DecisionChange

HEADS = ("safety.", "replicate", "_risk", "_ratio", "reward", "rejected", "vanished")
PAGES = {
    "what-if": ("what-if", "{run}", "--set", "agents.efficiency.sleep=0.25"),
    "sweep": ("sweep", "{run}", "--param", "agents.efficiency.sleep=0.05,0.12,0.3", "--jobs", "1"),
    "diff": ("diff", "{run}", "{other}"),
}


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record the folder's run again with another seed, so that decisions part."""
    path = tmp_path_factory.mktemp("other") / "other.fslog"
    flags = "--virtual-time --for 130s --nodes 8 --seed 4 --exercise --speed 2 --interval 5 --json"
    assert 0 == main(["up", *flags.split(), "--record", str(path)])
    return path


def written(verb: str, recorded_run: Path, other: Path, tmp_path: Path) -> str:
    """Run a verb with `--html` and return its page."""
    page = tmp_path / "page.html"
    words = [word.format(run=recorded_run, other=other) for word in PAGES[verb]]
    if verb == "sweep":
        words += ["--out", str(tmp_path / "points.jsonl")]
    main([*words, "--html", str(page)])
    return page.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("verb", PAGES)
def test_a_page_has_its_picture_and_its_numbers(
    verb: str, recorded_run: Path, other: Path, tmp_path: Path
) -> None:
    """Drawn in the page itself; the result stands in it as JSON; a second run replaces it."""
    text = written(verb, recorded_run, other, tmp_path)
    assert "<svg" in text
    assert "<title>" in text.partition("<svg")[2]
    assert not re.findall(r"(?:src|href)=.[^#]", text)  # but to marks of the picture itself
    assert "default-src 'none'" in text
    result = re.search(r'<script type="application/json" id="result">(.*)</script>', text)
    assert result is not None
    assert json.loads(result[1])
    assert written(verb, recorded_run, other, tmp_path)


@pytest.mark.slow
def test_a_page_that_cannot_be_written_is_one_line(
    recorded_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Field, value and remedy."""
    page = tmp_path / "nowhere" / "page.html"
    assert main(["diff", str(recorded_run), str(recorded_run), "--html", str(page)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--html" in line
    assert "name a file that can be written" in line


def change(cycle: int, kind: str) -> DecisionChange:
    """Return a differing decision."""
    return DecisionChange(cycle, cycle, 0.0, kind, "<a>", "b", "why a", "why b")


def test_a_strip_has_a_mark_for_each_cycle_in_the_lane_of_its_kind() -> None:
    """Left to right by cycle, with both decisions in its text; no lane for what did not happen."""
    strip = decision_strip([change(5, "changed"), change(90, "vanished")], 1, 100)
    picture = render("decision_strip.html", strip=strip)
    marks = re.findall(r"<g><title>(.*?)</title> ?<path d=.M ([0-9.]+) ([0-9.]+)", picture)
    texts, xs, ys = zip(*marks, strict=True)
    assert texts == ("cycle 5, changed: &lt;a&gt; / b", "cycle 90, vanished: &lt;a&gt; / b")
    assert 100 < float(xs[0]) < float(xs[1]) < 1080
    assert float(ys[0]) < float(ys[1])
    assert "1 changed" in picture
    assert "appeared" not in picture
    assert decision_strip([], 1, 100) is None


def test_a_template_that_is_given_too_little_is_an_error() -> None:
    """A misspelt name must not become a hole in a page."""
    with pytest.raises(UndefinedError, match="strip"):
        render("decision_strip.html")


@pytest.mark.slow
def test_no_verb_waits_for_templates() -> None:
    """Importing every verb does not import jinja2: only writing a page does."""
    program = (
        "import sys; from foresail.verbs import verb_module, verbs\n"
        "for verb in verbs(): verb_module(verb)\n"
        "assert 'foresail.html_page' in sys.modules\n"
        "sys.exit('jinja2' in sys.modules or 'markupsafe' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.slow
def test_a_sweep_says_which_values_do_not_go_together(
    recorded_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line below the table, with the reason; no word of the table is cut in two."""
    out = str(tmp_path / "points.jsonl")
    words = ("--param", "agents.safety.replicate=0.7,0.9", "--jobs", "1", "--out", out)
    assert main(["sweep", str(recorded_run), *words]) == 0
    screen = capsys.readouterr().out
    (line,) = [line for line in screen.splitlines() if line.startswith("refused: ")]
    assert "agents.safety.replicate_risk_ratio = 0.7: " in line
    assert set(HEADS) <= set(screen.split())


def test_a_decision_is_not_named_twice() -> None:
    """A reason that begins with the decision stands alone."""
    assert _with_reason("A:noop", "A:noop: nothing to do") == "A:noop: nothing to do"
    assert _with_reason("A:noop", "nothing to do") == "A:noop: nothing to do"


def test_the_terminal_plots_only_what_is_more_than_a_line() -> None:
    """Where one of the two figures is the same everywhere, the table has said it all."""
    rows = [{"churn": 1, "reward": 2.0}, {"churn": 1, "reward": 3.0}]
    assert not _tells_something(rows, ("churn", "reward"))
    assert _tells_something([*rows, {"churn": 2, "reward": 3.0}], ("churn", "reward"))
