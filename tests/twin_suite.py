"""Whether the twin's suite has to run: `python -m tests.twin_suite` exits with 0 when it is green for today's files.

The suite is half of all tests and asks a part that seldom changes. So `make test-twin` keeps the hash of
everything that it depends on when it has passed, and CI runs it when that hash is another one.
"""

from __future__ import annotations

import ast
import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "twin" / "tests" / "last_green.sha256"
ALWAYS = ("conftest.py", "requirements-dev.lock")
"""What every test rests on, beside what is imported."""
FOLLOWED = ("twin", "inputs", "tests", "proofs", "benchmarks")
"""Whose files count when something of the suite imports them: the twin's house and the workshop, not Foresail, which
the twin does not know.
"""


def suite_files(root: Path = ROOT) -> list[Path]:
    """Return all that git tracks of the twin, and what any of it imports in the end of house and workshop."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "twin"], cwd=root, capture_output=True, check=True, text=True
    )
    found = {root / name for name in (*listed.stdout.split("\0"), *ALWAYS) if name}
    found = {path for path in found if path.is_file() and path != root / KEPT.relative_to(ROOT)}
    waiting = [path for path in found if path.suffix == ".py"]
    while waiting:
        new = _imported_files(waiting.pop(), root) - found
        found |= new
        waiting += new
    return sorted(found)


def _imported_files(path: Path, root: Path) -> set[Path]:
    """Return the files in the tree that one file imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    followed = [name for name in names if name.partition(".")[0] in FOLLOWED]
    bases = [root.joinpath(*name.split(".")) for name in followed]
    places = [place for base in bases for place in (base.with_suffix(".py"), base / "__init__.py")]
    return {place for place in places if place.is_file()}


def suite_hash(root: Path = ROOT) -> str:
    """Return the SHA-256 over names and contents of all files that the suite depends on."""
    whole = hashlib.sha256()
    for path in suite_files(root):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        whole.update(f"{path.relative_to(root).as_posix()} {content}\n".encode())
    return whole.hexdigest()


def main(arguments: list[str]) -> int:
    """Compare with the kept hash, or keep today's with `--keep`."""
    today = suite_hash()
    if arguments == ["--keep"]:
        KEPT.write_text(f"{today}\n", encoding="utf-8")
        return 0
    kept = KEPT.read_text(encoding="utf-8").strip() if KEPT.exists() else "none"
    same = kept == today
    sys.stdout.write(f"twin's suite: {'green for these files' if same else 'to be run'}, {today}\n")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
