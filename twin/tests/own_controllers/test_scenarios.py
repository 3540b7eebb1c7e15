"""The real control plane, Karpenter and Cluster Autoscaler on the twin decide as the twin's own parts do.

`python -m proofs.real_programs karpenter --minutes 15` plays the same scenarios over and over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from proofs.real_programs.cluster import Cluster
from proofs.real_programs.log_lines import complaints
from proofs.real_programs.processes import Missing
from proofs.real_programs.processes import program as find_program
from proofs.real_programs.programs import PROGRAMS, Program

World = tuple[Program, Cluster, Sequence[Path]]
pytestmark = [pytest.mark.twin, pytest.mark.slow]


def _rows(*, real: bool) -> list[object]:
    return [
        pytest.param((name, real), scenario.__name__, id=f"{name} {scenario.__name__}")
        for name, program in PROGRAMS.items()
        for scenario in (*program.scenarios, *(program.own if real else ()))
    ]


@pytest.fixture(scope="module")
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """A twin with a program beside it, or with its own part; skips where the program is not on this machine.

    The twin's own parts take minutes at speed 1 and are tested elsewhere: here the program is held against them.
    """
    name, real = request.param
    program = PROGRAMS[name]
    try:
        find_program(program.executable)
    except Missing as missing:
        pytest.skip(str(missing))
    run = (program.real if real else program.built_in)(tmp_path_factory.mktemp(name))
    try:
        cluster, logs = run.__enter__()
    except Missing as missing:
        pytest.skip(str(missing))
    try:
        yield program, cluster, logs
    finally:
        run.__exit__(None, None, None)


@pytest.mark.parametrize(
    ("world", "scenario"), _rows(real=False), indirect=["world"], scope="module"
)
def test_the_twins_own_part_decides_so(world: World, scenario: str) -> None:
    """Each scenario holds for the built-in one."""
    _play(world[0], world[1], scenario)


@pytest.mark.parametrize(
    ("world", "scenario"), _rows(real=True), indirect=["world"], scope="module"
)
def test_the_real_program_decides_so(world: World, scenario: str) -> None:
    """Each scenario holds for the program, unchanged, at speed 1 and with rights of its own."""
    program, cluster, logs = world
    _play(program, cluster, scenario)
    assert [line for log in logs for line in complaints(log, program.allowed)] == []


def _play(program: Program, cluster: Cluster, scenario: str) -> None:
    try:
        every = (*program.scenarios, *program.own)
        next(one for one in every if one.__name__ == scenario)(cluster)
    finally:
        program.clear(cluster)
