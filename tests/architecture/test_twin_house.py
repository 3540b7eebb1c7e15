"""The twin's house: others come in by its port, and it rests on nothing of Foresail.

import-linter holds both for the packages; here is the rest of the tree, tests included.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source_tree import PACKAGES, ROOT, nodes_of, place, tracked_files

FORESAIL = tuple(name for name in PACKAGES if name not in ("inputs", "twin"))
WORKSHOP = (
    "benchmarks.twin_",
    "proofs.determinism",
    "proofs.real_programs",
    "tests.fuzz.mutation",
    "tests.patience",
    "tests.real_api_server",
)
"""What of this repository's workshop the twin's tests use: real programs, patience, benchmarks of the twin."""
INSIDE = {
    "benchmarks/twin_": "they measure parts of the twin",
    "docs/make_twin.py": "it writes down the twin's defaults",
    "proofs/fuzzing/twin_entries.py": "it feeds the twin's readers",
    "tests/collector/test_work_metrics.py": "it reads what the twin's exporters write",
    "tests/executor/api_server.py": "its API server patches as the twin does",
    "tests/executor/test_taints.py": "patches are applied as the twin does",
    "tests/lab/sessions/kubelet.py": "its containers are started as the twin starts its own",
    "tests/fuzz/test_hostile_files.py": "it lowers a limit of the twin's reader",
}
"""Who may know the inside of the twin, and why."""


def _names(path: Path) -> Iterator[tuple[ast.AST, str]]:
    """Yield all that a file imports, by full name."""
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node, f"{node.module}.{alias.name}") for alias in node.names)


def _is_in(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in packages)


def _files(*, of_twin: bool) -> list[tuple[Path, str]]:
    found = [(path, path.relative_to(ROOT).as_posix()) for path in tracked_files()]
    return [
        (path, name)
        for path, name in found
        if name.endswith(".py") and name.startswith("twin/") == of_twin
    ]


def _comes_in_elsewhere(importer: str, name: str) -> bool:
    """Say whether a file outside the twin imports it by another way than its port."""
    if not _is_in(name, ("twin",)) or name.startswith("twin.port."):
        return False
    if importer.startswith("tests/") and name.startswith("twin.tests."):
        return False  # how to ask a twin is the same question in both suites
    return not importer.startswith(tuple(INSIDE))


def _rests_on_foresail(name: str) -> bool:
    """Say whether a name is of Foresail, or of its workshop and not listed."""
    if _is_in(name, ("benchmarks", "deploy", "docs", "proofs", "tests")):
        return not name.startswith(WORKSHOP)
    return _is_in(name, FORESAIL)


def test_others_come_in_by_the_port() -> None:
    """Outside the twin, everybody imports `twin.port` alone, but for those named with a reason."""
    wrong = [
        f"{place(path, node)}: {name}"
        for path, importer in _files(of_twin=False)
        for node, name in _names(path)
        if _comes_in_elsewhere(importer, name)
    ]

    assert [] == wrong


def test_the_twin_and_its_tests_rest_on_nothing_of_foresail() -> None:
    """The twin imports no package of Foresail; its tests use what is listed of the workshop."""
    wrong = [
        f"{place(path, node)}: {name}"
        for path, _ in _files(of_twin=True)
        for node, name in _names(path)
        if _rests_on_foresail(name)
    ]

    assert [] == wrong


def test_nobody_is_named_without_need() -> None:
    """Who does not look inside the twin any more leaves the list, and so does what its tests use no longer."""
    used = {
        importer
        for path, importer in _files(of_twin=False)
        for _, name in _names(path)
        if _is_in(name, ("twin",)) and not name.startswith(("twin.port.", "twin.tests."))
    }
    of_workshop = {name for path, _ in _files(of_twin=True) for _, name in _names(path)}

    assert [] == [one for one in INSIDE if not any(path.startswith(one) for path in used)]
    assert [] == [one for one in WORKSHOP if not any(name.startswith(one) for name in of_workshop)]


@pytest.mark.parametrize(
    ("importer", "name", "wrong"),
    [
        ("foresail/up.py", "twin.engine.Engine", True),
        ("tests/lab/test_worth.py", "twin.records", True),
        ("foresail/up.py", "twin.tests.contract.faces.Face", True),
        ("tests/safety/world.py", "twin.tests.contract.faces.Face", False),
        ("foresail/up.py", "twin.port.engine.Engine", False),
        ("foresail/up.py", "foresail.twin.place.FOLDER", False),
        ("benchmarks/twin_serving.py", "twin.chance.Chance", False),
    ],
)
def test_a_way_around_the_port_is_seen(importer: str, name: str, wrong: bool) -> None:
    """The check can fail: it tells the port from the inside."""
    assert wrong == _comes_in_elsewhere(importer, name)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("bus.clock.SystemClock", True),
        ("tests.builders.observation", True),
        ("tests.patience.HANGS_SECONDS", False),
        ("inputs.clock.Clock", False),
        ("business.case", False),
    ],
)
def test_a_rest_on_foresail_is_seen(name: str, wrong: bool) -> None:
    """The check can fail: it tells Foresail from what the twin may use."""
    assert wrong == _rests_on_foresail(name)
