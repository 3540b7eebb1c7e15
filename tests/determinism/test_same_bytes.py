"""One seed, one recording: the same bytes in other environments and on other interpreters."""

from __future__ import annotations

from pathlib import Path

import pytest
import zstandard

from proofs.determinism.comparison import first_difference
from proofs.determinism.environments import ENVIRONMENTS, Environment
from proofs.determinism.interpreters import (
    CURRENT,
    MissingInterpreter,
    other_interpreter,
    running_interpreter,
)
from proofs.determinism.runs import RunCase, record

pytestmark = pytest.mark.slow
CASE = RunCase("openb", 20, 30.0, exercise=True)
SEED = 5
NEWEST = "3.13"


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record the case once in the first environment."""
    return record(
        tmp_path_factory.mktemp("first"), CASE, SEED, running_interpreter(), ENVIRONMENTS[0]
    )


@pytest.mark.parametrize("environment", ENVIRONMENTS[1:2], ids=lambda one: one.name)
def test_the_environment_changes_no_byte(
    first: Path, environment: Environment, tmp_path: Path
) -> None:
    """Hash seed, time zone, locale and working folder are not in a recording."""
    assert None is first_difference(
        first, record(tmp_path, CASE, SEED, running_interpreter(), environment)
    )


@pytest.mark.skipif(CURRENT == NEWEST, reason="this interpreter is the newest")
def test_the_interpreter_changes_no_byte(first: Path, tmp_path: Path) -> None:
    """CPython 3.13 writes what CPython 3.11 writes."""
    newest = other_interpreter(NEWEST)
    if isinstance(newest, MissingInterpreter):
        pytest.skip(f"not tried: {newest}")

    assert None is first_difference(first, record(tmp_path, CASE, SEED, newest, ENVIRONMENTS[1]))


def test_the_first_differing_line_is_named(first: Path, tmp_path: Path) -> None:
    """The comparison can fail: another seed differs, and the line is shown."""
    with first.open("rb") as file:
        content = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
    other = tmp_path / "other.fslog"
    other.write_bytes(zstandard.compress(content.replace(b'"seed":5', b'"seed":6', 1)))
    difference = first_difference(first, other)

    assert difference is not None
    assert difference.startswith("line 1, byte ")
    assert '"seed":5' in difference
    assert '"seed":6' in difference
