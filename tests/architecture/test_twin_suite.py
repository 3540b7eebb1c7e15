"""When CI runs the twin's suite: after a change of anything that it rests on, and only then."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.twin_suite import suite_hash

FILES = {
    "conftest.py": "",
    "requirements-dev.lock": "pytest==9.0\n",
    "inputs/__init__.py": "",
    "inputs/errors.py": "import inputs.words, services.referee\n",
    "inputs/words.py": "",
    "services/referee.py": "",
    "twin/engine.py": "from inputs import errors\n",
    "twin/tests/test_engine.py": "from twin.engine import errors\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a small repository with a twin."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "counts"),
    [
        ("twin/engine.py", True),
        ("twin/tests/test_engine.py", True),
        ("inputs/words.py", True),
        ("conftest.py", True),
        ("requirements-dev.lock", True),
        ("services/referee.py", False),
        ("twin/tests/last_green.sha256", False),
    ],
)
def test_what_the_suite_rests_on_changes_its_hash(changed: str, counts: bool, tree: Path) -> None:
    """A file of the twin, or one that it imports in the end, counts; the kept hash and others do not."""
    before = suite_hash(tree)
    with (tree / changed).open("a", encoding="utf-8") as file:
        file.write("\n# changed\n")
    subprocess.run(["git", "add", "."], cwd=tree, check=True)

    assert counts == (before != suite_hash(tree))
