"""The twin's own controllers leave what kube-controller-manager 1.36.2 left: statuses, conditions, pods, KubeEvents.

`expected/` holds what the real programs left of each flow, on the twin as their kubelet or on a real API server;
`__main__.py` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from proofs.real_programs.processes import Missing
from twin.tests.controller_flows.playing import Object
from twin.tests.controller_flows.running import (
    GROUPS,
    SERVED,
    built_in,
    differences,
    expected,
    play_real,
    table,
)
from twin.tests.controller_flows.worlds import Real, reference

ROWS = [
    pytest.param(flow, expected(group)[name], id=f"{group}: {name}")
    for group in GROUPS
    for name, flow in table(group).items()
]


@pytest.mark.parametrize(("flow", "wanted"), ROWS)
def test_the_built_in_controllers_leave_the_same(flow: Object, wanted: Object) -> None:
    """Each flow ends as it does with the real programs, in virtual time."""
    assert differences(wanted, built_in(flow)) == []


@pytest.fixture(scope="module")
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Real]:
    """Where the real controllers are at work: on a twin or a real server; skips where they are not on this machine."""
    try:
        with reference(tmp_path_factory.mktemp("flows"), served=request.param) as found:
            yield found
    except Missing as missing:
        pytest.skip(str(missing))


@pytest.mark.twin
@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "group"),
    [(group in SERVED, group) for group in sorted(GROUPS, key=SERVED.__contains__)],
    indirect=["world"],
)
def test_the_real_programs_still_leave_it(world: Real, group: str) -> None:
    """What is written down is what they leave."""
    wanted = expected(group)
    found = {
        name: differences(wanted[name], one) for name, one in play_real(world, table(group), group)
    }
    assert {name: lines for name, lines in found.items() if lines} == {}
