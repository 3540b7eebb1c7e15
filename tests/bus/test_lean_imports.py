"""Processes start without what they never use."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
MAIN_FILES = sorted(
    path.relative_to(REPOSITORY).as_posix()
    for path in (
        *REPOSITORY.glob("services/*/__main__.py"),
        REPOSITORY / "foresail" / "twin_server.py",
        REPOSITORY / "foresail" / "untouched" / "__main__.py",
    )
)


def test_a_process_on_the_bus_loads_neither_http_client_nor_terminal() -> None:
    """The NATS client comes without aiohttp and structlog without rich, and both are still there for
    those who import them; garbage is looked for rarely.
    """
    code = (
        "import gc, sys, services.referee.__main__; "
        "assert not {'aiohttp', 'rich', 'pygments', 'attr'} & {*sys.modules}; "
        "assert gc.get_threshold() == (50_000, 10, 10); "
        "import aiohttp, rich.console; assert aiohttp.ClientSession"
    )

    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, check=False, capture_output=True, text=True
    )

    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("file", MAIN_FILES)
def test_every_process_makes_its_start_lean_first(file: str) -> None:
    """No main module imports anything before `bus.lean_start`, which would come too late then."""
    imports = [
        node
        for node in ast.parse((REPOSITORY / file).read_text(encoding="utf-8")).body
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]

    assert ["__future__", "bus.lean_start"] == [
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in imports[:2]
    ]
