"""Kueue on the twin does what its documentation says, case by case."""

from __future__ import annotations

import pytest

from twin.kueue.configuration import configuration_of
from twin.tests.kueue.playing import Play
from twin.tests.kueue.ports import InProcessPort, build_engine, served
from twin.tests.kueue.table import CASES, Object

NAMES = [case["case"] for case in CASES]


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_case_in_process(case: Object) -> None:
    """Every case of the table holds."""
    engine = build_engine(case.get("nodes", {}), configuration_of(case.get("configuration", {})))
    Play(case, InProcessPort(engine))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_case_by_the_official_client(case: Object) -> None:
    """Every case holds over HTTP, with Kueue's objects as custom objects of the official client."""
    engine = build_engine(case.get("nodes", {}), configuration_of(case.get("configuration", {})))
    with served(engine) as port:
        Play(case, port)
