"""The lists of planted defects fit today's code, and the proof that runs them can fail."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from proofs.planted import DEFECTS, REPOSITORY
from proofs.planted.defect import Defect, copy_tree, try_defect


@pytest.mark.parametrize("defect", DEFECTS, ids=[defect.name for defect in DEFECTS])
def test_a_defect_can_still_be_planted(defect: Defect) -> None:
    """The text to change stands exactly once in its file, and the named test is there."""
    content = (REPOSITORY / defect.file).read_text(encoding="utf-8")
    file, _, test = defect.test.partition("::")

    assert content.count(defect.before) == 1
    assert defect.after != defect.before
    assert f"def {test.partition('[')[0].split('::')[-1]}(" in (REPOSITORY / file).read_text(
        encoding="utf-8"
    )


def test_every_named_case_exists() -> None:
    """A test that is named with its parameters is one that pytest collects under that id."""
    named = {defect.test for defect in DEFECTS if "[" in defect.test}
    files = sorted({test.partition("::")[0] for test in named})
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-p",
        "no:cacheprovider",
        *files,
    ]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)

    assert named
    assert set() == named - set(done.stdout.splitlines())


def test_names_are_unique() -> None:
    """Every defect has a name of its own."""
    assert len({defect.name for defect in DEFECTS}) == len(DEFECTS)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the repository."""
    target = tmp_path_factory.mktemp("tree")
    copy_tree(REPOSITORY, target)
    return target


def test_a_defect_is_noticed_by_its_test_alone(tree: Path) -> None:
    """A planted defect fails its test; a harmless change, or a test that looks elsewhere, counts as missed."""
    tie = DEFECTS[0]
    harmless = replace(tie, after=f"# as before\n    {tie.before}")
    elsewhere = replace(tie, test="tests/referee/test_ruling.py::test_every_rule_has_its_own_name")

    assert try_defect(tree, tie).noticed
    assert not try_defect(tree, harmless).noticed
    assert not try_defect(tree, elsewhere).noticed


def test_a_test_that_does_not_exist_notices_nothing(tree: Path) -> None:
    """A name that pytest cannot find is reported, not counted."""
    tried = try_defect(tree, replace(DEFECTS[0], test="tests/referee/test_ruling.py::test_nothing"))

    assert not tried.noticed
    assert "4" in tried.detail


def test_a_list_out_of_date_is_reported(tree: Path) -> None:
    """Text that does not stand in the file is said so."""
    tried = try_defect(tree, replace(DEFECTS[0], before="no such text"))

    assert not tried.noticed
    assert "stands 0 times" in tried.detail
