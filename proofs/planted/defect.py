"""A planted defect: one careless change to the product, and the test that must notice it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TEST_SECONDS = 900.0
"""A named test that takes longer has not noticed anything."""
TESTS_FAILED = 1
"""pytest's exit code for failed tests; other codes mean collection errors or bad usage."""


@dataclass(frozen=True, slots=True)
class Defect:
    """One small change for the worse."""

    name: str
    """What goes wrong, in a few words."""
    file: str
    """The file to change, relative to the repository."""
    before: str
    """Text that occurs exactly once in the file."""
    after: str
    """What it becomes."""
    test: str
    """pytest's id of the test that must fail, relative to the repository."""


class NotPlantable(Exception):
    """The text to change does not occur exactly once in its file: the list of defects is out of date."""


@dataclass(frozen=True, slots=True)
class DefectResult:
    """The result of one defect."""

    defect: Defect
    noticed: bool
    detail: str
    """The first line of the failure, or why it was not noticed."""


def copy_tree(source: Path, target: Path) -> None:
    """Copy every file that git tracks, or would track, from `source` to `target`."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=source, check=True, capture_output=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (source / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, target / name)


@contextmanager
def planting(tree: Path, defect: Defect) -> Iterator[None]:
    """Change the file inside the block.

    Raises:
        NotPlantable: the text does not occur exactly once in the file.
    """
    file = tree / defect.file
    original = file.read_text(encoding="utf-8")
    times = original.count(defect.before)
    if times != 1:
        raise NotPlantable(
            f"{defect.name}: the text stands {times} times in {defect.file}, not once"
        )
    file.write_text(original.replace(defect.before, defect.after), encoding="utf-8")
    try:
        yield
    finally:
        file.write_text(original, encoding="utf-8")


def run_tests(tree: Path, tests: Sequence[str], seconds: float = TEST_SECONDS) -> tuple[int, str]:
    """Run tests of a copied tree; return pytest's exit code and what it printed."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "--tb=line",
        *tests,
    ]
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ran = subprocess.run(  # noqa: PLW1510 - its exit code is the finding
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return -1, f"took longer than {seconds:g} s"
    return ran.returncode, ran.stdout + ran.stderr


def try_defect(tree: Path, defect: Defect) -> DefectResult:
    """Plant one defect in a copied tree and run the test that must notice it."""
    try:
        with planting(tree, defect):
            code, output = run_tests(tree, [defect.test])
    except NotPlantable as error:
        return DefectResult(defect, False, str(error))
    failed = [line for line in output.splitlines() if line.startswith("FAILED ")]
    if code == TESTS_FAILED and failed:
        return DefectResult(defect, True, failed[0].removeprefix("FAILED "))
    return DefectResult(
        defect, False, f"pytest ended with {code}: {output.strip().splitlines()[-1:]}"
    )
