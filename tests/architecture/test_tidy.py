"""The style rules that no linter knows, held over every tracked file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache

from tests.architecture.source_tree import (
    PACKAGES,
    ROOT,
    nodes_of,
    place,
    python_files,
    tracked_files,
    tree_of,
)

FILE_LINES = 400
FUNCTION_LINES = 60
MAIN_LINES = 40
BLOB_BYTES = 1_000_000
VAGUE_NAMES = {"common", "core", "helpers", "manager", "utils"}
MODULE_RANDOM = {"choice", "choices", "gauss", "randint", "random", "sample", "seed", "shuffle"}
CLOCKS = {
    ("time", "time"),
    ("time", "time_ns"),
    ("time", "monotonic"),
    ("datetime", "now"),
    ("datetime", "utcnow"),
    ("date", "today"),
    ("uuid", "uuid4"),
}
CLOCK_FILES = {
    "inputs/clock.py",  # the clock itself
    "bus/nats_adapter.py",  # a batch needs an id that the server has never seen
    "foresail/control.py",  # two equal commands of one operator are two commands
}
BOUNDARIES = {
    "bus/process.py",  # the last frame of a process
    "twin/api/router.py",  # one request
    "twin/clock.py",  # one step of the simulation
    "twin/controllers/loop.py",  # one object
}
"""Where an error of any kind ends one item, is told, and lets the others go on."""
LOOPS = {
    "bus/follow.py",
    "bus/process.py",
    "foresail/stack/supervisor.py",
    "foresail/stack/watch.py",
    "services/collector/following.py",
    "services/collector/service.py",
    "services/dashboard/app.py",
    "services/dashboard/hub.py",
    "services/dashboard/past.py",
    "services/executor/service.py",
    "services/inference/service.py",
    "services/kube_follow.py",
    "services/tracing/service.py",
}
"""Loops whose items end at `bus/item_errors.py`; ADR 0031 has what each does after an error."""
# Each word is split so that this file does not find itself.
MACHINE_PATHS = re.compile(
    r"(?<![\w.$}/])/(?:wo" r"rk|ro" r"ot|op" r"t/pypi|op" r"t/wheels|tmp/no" r"tes)\b"
)
REGISTRY_HOSTS = re.compile(
    r"py" r"pi\.org|python" r"hosted\.org|registry\.npm" r"js|deb\.deb" r"ian\.org|arti" r"factory",
    re.IGNORECASE,
)
UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
TEXT_SUFFIXES = {
    ".cfg", ".css", ".html", ".ini", ".js", ".json", ".lock", ".md", ".mjs", ".py", ".sh", ".svg",
    ".toml", ".ts", ".txt", ".yaml", ".yml", "",
}  # fmt: skip
CHANGE_KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}

type_of_function = (ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def _texts() -> dict[str, str]:
    """Return the content of every tracked text file."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in tracked_files()
        if path.suffix in TEXT_SUFFIXES
    }


def _matching(pattern: re.Pattern[str]) -> list[str]:
    """Return the lines that hold a pattern; only files that hold it somewhere are looked at line by line."""
    return [
        f"{file}:{number}: {line.strip()[:90]}"
        for file, text in _texts().items()
        if pattern.search(text)
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]


def test_no_python_file_is_too_long() -> None:
    """Every Python file can be read in one sitting: at most 400 lines."""
    lengths = {
        place(path): len(path.read_text(encoding="utf-8").splitlines())
        for path in python_files(*PACKAGES, "tests", "benchmarks", "examples")
    }

    assert {} == {file: lines for file, lines in lengths.items() if lines > FILE_LINES}


def test_no_function_is_too_long() -> None:
    """Every function fits on one screen: at most 60 lines."""
    actual = [
        f"{place(path, node)} {node.name}: {length} lines"
        for path in python_files(*PACKAGES, "tests", "benchmarks", "examples")
        for node in nodes_of(path)
        if isinstance(node, type_of_function)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES
    ]

    assert [] == actual


def test_wiring_stays_short() -> None:
    """A service's `__main__` holds wiring only: at most 40 lines."""
    actual = [
        place(path)
        for path in python_files("services")
        if path.name == "__main__.py"
        and len(path.read_text(encoding="utf-8").splitlines()) > MAIN_LINES
    ]

    assert [] == actual


def test_no_module_has_a_name_that_says_nothing() -> None:
    """Files and folders are named after what they hold, never core, utils or the like."""
    actual = [
        place(path)
        for path in python_files(*PACKAGES, "tests", "benchmarks")
        if VAGUE_NAMES & {path.stem, *path.relative_to(ROOT).parts[:-1]}
    ]

    assert [] == actual


def test_every_module_says_what_it_is_for() -> None:
    """Every module opens with a docstring."""
    actual = [
        place(path)
        for path in python_files(*PACKAGES, "tests", "benchmarks")
        if not ast.get_docstring(tree_of(path))
    ]

    assert [] == actual


def test_every_test_states_its_promise() -> None:
    """Every test function has a docstring: the sentence that it proves."""
    actual = [
        f"{place(path, node)} {node.name}"
        for path in python_files("tests")
        if path.name.startswith("test_")
        for node in nodes_of(path)
        if isinstance(node, type_of_function)
        and node.name.startswith("test_")
        and not ast.get_docstring(node)
    ]

    assert [] == actual


def test_only_boundaries_between_items_catch_everything() -> None:
    """Only few named files swallow every exception; elsewhere such a handler must raise again."""
    actual = [
        place(path, node)
        for path in python_files(*PACKAGES)
        if path.relative_to(ROOT).as_posix() not in BOUNDARIES
        for node in nodes_of(path)
        if isinstance(node, ast.ExceptHandler) and _catches_everything(node)
    ]

    assert [] == actual


def test_only_loops_have_boundaries_between_items() -> None:
    """Who opens a boundary is named here; elsewhere an error goes on to the loop that has one."""
    actual = {
        path.relative_to(ROOT).as_posix()
        for path in python_files(*PACKAGES)
        for node in nodes_of(path)
        if isinstance(node, ast.withitem)
        and isinstance(node.context_expr, ast.Call)
        and isinstance(node.context_expr.func, ast.Attribute)
        and node.context_expr.func.attr == "item"
    }

    assert actual == LOOPS


def test_every_process_counts_its_errors() -> None:
    """Each service is given where errors of single items end; without it the first one would end the process."""
    mains = [*ROOT.glob("services/*/__main__.py"), ROOT / "foresail/untouched/__main__.py"]
    given = re.compile(r"errors=context\.errors|run_(cluster|handler)_process\(")
    actual = [place(path) for path in mains if not given.search(path.read_text(encoding="utf-8"))]

    assert [] == actual
    assert "handler.item = context.errors.item" in (
        ROOT / "services/inference/__main__.py"
    ).read_text(encoding="utf-8")
    for shared in ("services/cluster_process.py", "bus/process.py"):
        assert "errors=context.errors" in (ROOT / shared).read_text(encoding="utf-8")


def _catches_everything(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    if isinstance(last, ast.Raise) and last.exc is None:
        return False
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        isinstance(kind, ast.Name) and kind.id in {"Exception", "BaseException"} for kind in kinds
    )


def test_time_chance_and_ids_are_inputs() -> None:
    """Few named files read a clock or make ids, and none draws without a seed."""
    actual = [
        f"{place(path, node)} {ast.unparse(node)}"
        for path in python_files(*PACKAGES)
        if path.relative_to(ROOT).as_posix() not in CLOCK_FILES
        for node in _banned_calls(nodes_of(path))
    ]

    assert [] == actual


def test_a_banned_call_is_seen() -> None:
    """The module's function is banned; a seeded generator that is called the same is not."""
    drawing = "import random\nrandom.random()"
    given = "from random import Random\ndef draw(random: Random): return random.random()"

    assert 1 == len(list(_banned_calls([*ast.walk(ast.parse(drawing))])))
    assert [] == list(_banned_calls([*ast.walk(ast.parse(given))]))


def _banned_calls(nodes: Sequence[ast.AST]) -> Iterator[ast.Attribute]:
    imported = {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module, name = node.value.id, node.attr
            drawn = module == "random" and name in MODULE_RANDOM
            if module in imported and (drawn or (module, name) in CLOCKS):
                yield node


def test_no_file_names_a_place_on_one_machine() -> None:
    """No tracked file holds an absolute path of the machine it was written on."""
    assert [] == _matching(MACHINE_PATHS)


def test_no_file_names_a_package_registry() -> None:
    """No tracked file names a registry's host: installs use whatever the machine is set up for."""
    assert [] == _matching(REGISTRY_HOSTS)


def test_nothing_is_left_unfinished() -> None:
    """What is missing stands in docs/limits or an issue, never as a note in the code."""
    assert [] == [line for line in _matching(UNFINISHED) if not line.startswith("LICENSE")]


def test_no_file_is_large() -> None:
    """The repository holds no file over one megabyte: traces and recordings stay outside."""
    sizes = {place(path): path.stat().st_size for path in tracked_files()}

    assert {} == {file: size for file, size in sizes.items() if size > BLOB_BYTES}


def test_the_changelog_keeps_its_form() -> None:
    """CHANGELOG.md follows Keep a Changelog: dated versions and known kinds of change."""
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    versions = [line for line in lines if line.startswith("## ")]
    kinds = {line[4:] for line in lines if line.startswith("### ")}

    assert "# Changelog" == lines[0]
    assert "## [Unreleased]" == versions[0]
    assert all(
        re.fullmatch(r"## \[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}", line) for line in versions[1:]
    )
    assert kinds <= CHANGE_KINDS
