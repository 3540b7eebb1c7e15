"""An operator of kopf works on the embedded cluster unchanged."""

from __future__ import annotations

from typing import Any

import pytest

from twin.tests.clients.conftest import Run

EXPECTED: dict[str, tuple[str, dict[str, Any]]] = {
    "kopf_program.py": (
        "kopf==1.45.2",
        {"created": 1, "held": 1, "deleted": 1, "reported": 1},
    ),
}


@pytest.mark.twin
@pytest.mark.slow
@pytest.mark.parametrize("program", sorted(EXPECTED))
def test_other_programs_work(run_program: Run, program: str) -> None:
    """Lists, watches, writes, waits, finalizers and events do what these programs expect."""
    package, expected = EXPECTED[program]
    seen = run_program(program, package)
    assert {name: seen[name] for name in expected} == expected
    assert seen.get("pods", 1) > 0
