"""The cases of each provisioner, and what plays them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.twin.provisioners.case_runner import CaseRun, read_cases


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that takes `case` one run for each row of its module's table."""
    if "case" in metafunc.fixturenames:
        _, cases = read_cases(metafunc.module.TABLE)
        metafunc.parametrize("case", cases, ids=[case["name"] for case in cases])


@pytest.fixture
def play(request: pytest.FixtureRequest) -> Any:
    """Play a case with the provisioner of the module: play(case)."""

    def played(case: dict[str, Any]) -> CaseRun:
        machines, _ = read_cases(request.module.TABLE)
        run = CaseRun(request.module.PROVISIONER, machines, case)
        run.play()
        return run

    return played
