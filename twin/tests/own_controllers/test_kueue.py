"""Kueue's own controller manager on the twin: ten of the table's cases, and what its log says.

`python -m twin.tests.own_controllers` plays the whole table.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from proofs.real_programs import kueue
from proofs.real_programs.log_lines import complaints
from proofs.real_programs.processes import Missing, beside, free_port, running_twin
from proofs.real_programs.requests import Api
from twin.tests.kueue.table import CASES
from twin.tests.own_controllers.kueue_cases import (
    CHOSEN,
    RealPlay,
    RealPort,
    clear,
    make_nodes,
    prepare_nodes,
)

BY_NAME = {case["case"]: case for case in CASES}
pytestmark = [pytest.mark.twin, pytest.mark.slow]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, Path]]:
    """A twin with Kueue's program beside it; yields its administrator and the program's log."""
    try:
        beside(kueue.NAME, kueue.MANIFESTS)
    except Missing as missing:
        pytest.skip(str(missing))
    folder = tmp_path_factory.mktemp("kueue")
    ports = kueue.Ports(free_port(), free_port(), free_port())
    with running_twin(folder, "--nodes", "1") as api:
        kueue.install(api, ports)
        make_nodes(api)
        with kueue.running_kueue(api, folder / "program", ports) as log:
            yield api, log


@pytest.mark.parametrize("name", CHOSEN)
def test_a_case_by_kueues_own_controller(world: tuple[Api, Path], name: str) -> None:
    """It decides as the built-in one does."""
    api, _ = world
    try:
        prepare_nodes(api, BY_NAME[name])
        RealPlay(BY_NAME[name], RealPort(api))
    finally:
        clear(api)


def test_its_log_holds_no_error_of_the_server(world: tuple[Api, Path]) -> None:
    """Nothing that it asks for is missing."""
    assert complaints(world[1], kueue.ALLOWED) == []
