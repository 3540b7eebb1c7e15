"""A program goes on with its work when it is killed, when another one takes over, and when the twin is restarted.

`python -m proofs.real_programs NAME --disturb` does it to each of the programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from proofs.real_programs.cluster import Cluster
from proofs.real_programs.disturbances import (
    CAUSED,
    DISTURBANCES,
    DISTURBED,
    Disturbed,
)
from proofs.real_programs.log_lines import complaints
from proofs.real_programs.processes import Missing
from proofs.real_programs.processes import program as find_program

World = tuple[Disturbed, Cluster, Sequence[Path]]
pytestmark = [pytest.mark.twin, pytest.mark.slow]


@pytest.fixture(scope="module", params=["cluster-autoscaler"])
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """A twin with a program beside it."""
    disturbed = DISTURBED[request.param]
    run = disturbed.run(tmp_path_factory.mktemp(request.param))
    try:
        find_program(disturbed.executable)
        cluster, logs = run.__enter__()
    except Missing as missing:
        pytest.skip(str(missing))
    try:
        yield disturbed, cluster, logs
    finally:
        run.__exit__(None, None, None)


@pytest.mark.parametrize("disturb", DISTURBANCES, ids=lambda one: str(one.__name__))
def test_the_work_is_done_all_the_same(world: World, disturb: Callable[..., None]) -> None:
    """The scenario holds, and the program complains about nothing but a server that was away."""
    disturbed, cluster, logs = world
    try:
        disturb(cluster, disturbed.scenario, disturbed.leases)
    finally:
        disturbed.clear(cluster)
    allowed = {**disturbed.allowed, **CAUSED}
    assert [line for log in logs for line in complaints(log, allowed)] == []
