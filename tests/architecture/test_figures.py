"""Numbers and times for people are formatted in one place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source_tree import ROOT, place, python_files, tree_of

PLACES = ("schemas/figures.py", "projections/times.py")
FLOAT_CODE = re.compile(r"[-+ ]?[0-9]*,?(\.[0-9]+)?[gGfFeE%]|.*\.[0-9]+[gGfFeE%]?$")


def own_formats(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield formatted floats and formatted times of a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FormattedValue) and isinstance(node.format_spec, ast.JoinedStr):
            parts = [one.value for one in node.format_spec.values if isinstance(one, ast.Constant)]
            if any(FLOAT_CODE.fullmatch(str(part).lstrip("<>^")) for part in parts):
                yield node
        elif isinstance(node, ast.Attribute) and node.attr == "strftime":
            yield node


def shown_files() -> list[Path]:
    """Return every file whose text people read as it is."""
    files = [
        *python_files("foresail", "projections"),
        *(path for path in python_files("services") if "dashboard" in path.parts),
    ]
    return [path for path in files if str(path.relative_to(ROOT)) not in PLACES]


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ('f"{one:.3f}"', 1), ('f"{one:g}"', 1), ('f"{one:+.4g}"', 1), ('f"{one:6.1%}"', 1),
        ('f"{one:,.0f}"', 1), ('when.strftime("%H")', 1), ('f"{one:>9} {two:<{width}}"', 0),
        ('f"{rows:,} rows"', 0), ('f"{minutes:02}"', 0),
    ],
)  # fmt: skip
def test_a_format_of_floats_is_known(source: str, count: int) -> None:
    """Widths, counts and padding are none."""
    assert len(list(own_formats(ast.parse(source)))) == count


def test_nobody_formats_numbers_alone() -> None:
    """`schemas.figures` and `projections.times` do, so that all screens agree."""
    found = [place(path, node) for path in shown_files() for node in own_formats(tree_of(path))]
    assert found == []
