"""The files under test in this folder: what git tracks, or would track, in this checkout."""

from __future__ import annotations

import ast
import gc
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "inputs",
    "schemas",
    "projections",
    "bus",
    "features",
    "services",
    "twin",
    "lab",
    "foresail",
)


@cache
def tracked_files() -> tuple[Path, ...]:
    """Return every file that git tracks; without git, every file outside hidden folders."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False, text=True
    )
    if listed.returncode == 0 and listed.stdout:
        names = [name for name in listed.stdout.split("\0") if name]
        return tuple(path for name in names if (path := ROOT / name).is_file())
    return tuple(
        path
        for path in sorted(ROOT.rglob("*"))
        if path.is_file() and not _passed_over(path.relative_to(ROOT))
    )


def _passed_over(path: Path) -> bool:
    return any(part.startswith(".") or part == "node_modules" for part in path.parts)


def python_files(*folders: str) -> list[Path]:
    """Return the tracked Python files of some top-level folders; the twin's tests count as tests."""
    return [
        path
        for path in tracked_files()
        if path.suffix == ".py" and _room(path.relative_to(ROOT).parts) in folders
    ]


def _room(parts: tuple[str, ...]) -> str:
    return "tests" if parts[:2] == ("twin", "tests") else parts[0]


@cache
def tree_of(path: Path) -> ast.Module:
    """Return a file's syntax tree.

    Kept out of the garbage collector's sight: all trees together are millions of objects that stay to the
    end, and looking through them takes four times as long as parsing.
    """
    gc.disable()
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    finally:
        gc.enable()
    gc.freeze()
    return tree


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return every node of a file's syntax tree: walking all trees takes longer than parsing them."""
    return tuple(ast.walk(tree_of(path)))


def place(path: Path, node: ast.AST | None = None) -> str:
    """Return `file:line`, relative to the repository."""
    line = getattr(node, "lineno", 1)
    return f"{path.relative_to(ROOT).as_posix()}:{line}"
