"""Numbers on the page: the same as in the terminal, run by node (the page's own module, no copy)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from projections.figures import number, number_beside
from tests.patience import HANGS_SECONDS

MODULE = Path(__file__).parents[2] / "web" / "src" / "lib" / "format.js"
NODE = shutil.which("node")
VALUES = (
    0, 1e-9, -1e-9, 5e-5, -5e-5, 0.00034, 0.0123, 0.5, 0.8301, 1, 1.005, 2.5, 9.999, 11.8722, 62.45,
    99.7, 100, 123.456, -123.456, 999.9, 12_345.6, 1_234_567.891, 1e15,
)  # fmt: skip
PAIRS = ((0.8301, 0.83), (0.83, 0.8301), (0.62, 0.6), (1, 1), (0.123456, 0.123457))
NO_VALUE = "\N{EN DASH}"
ODD = re.compile(r"\d[eE][-+]?\d|NaN|Infinity|\d\.\d{4,}\d* (s|%|W|kW)")

pytestmark = pytest.mark.skipif(NODE is None, reason="needs node")


def _evaluate(expression: str) -> list[str]:
    """Return what an expression over the page's functions `f` gives."""
    script = f"import * as f from {json.dumps(MODULE.as_uri())}; console.log(JSON.stringify({expression}))"
    assert NODE is not None
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", script],
        capture_output=True,
        text=True,
        timeout=HANGS_SECONDS,
        check=True,
    )
    texts: list[str] = json.loads(done.stdout)
    return texts


def test_a_number_reads_as_in_the_terminal() -> None:
    """Page and terminal write every number alike: three digits, no exponent, no `0` for what is not."""
    shown = _evaluate(f"{json.dumps(VALUES)}.map((value) => f.number(value))")

    assert [number(value) for value in VALUES] == shown


def test_a_number_can_be_told_from_its_threshold() -> None:
    """`risk 0.8301 >= 0.83` never reads as `0.83 >= 0.83`."""
    shown = _evaluate(f"{json.dumps(PAIRS)}.map(([value, other]) => f.numberBeside(value, other))")

    assert [number_beside(value, other) for value, other in PAIRS] == shown


def test_an_age_of_days_is_told_in_days() -> None:
    """Nobody reads 7,992 hours."""
    assert _evaluate("[90, 5400, 100000, 28770000].map(f.age)") == [
        "90 s",
        "90 min",
        "28 h",
        "333 d",
    ]


@pytest.mark.parametrize("name", ["number", "signed", "percent", "age", "watts"])
def test_no_text_of_the_page_has_an_odd_number(name: str) -> None:
    """No exponent, no NaN and no tail of decimals, whatever a log holds; nothing is called missing."""
    shown = _evaluate(f"[...{json.dumps(VALUES)}, 1e21, NaN, null].map((value) => f.{name}(value))")

    assert [] == [text for text in shown if ODD.search(text)]
    assert {shown[-1], shown[-2]} <= {"missing", NO_VALUE}
