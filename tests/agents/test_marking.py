"""Agent B marks the machines that go next, so that they empty by themselves while others have room."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import MigrateAction, PowerStateAction
from schemas.occupancy import Occupancy
from schemas.proposal import ProposalStatus
from tests.agents.value_world import ValueWorld

ON: dict[str, Any] = {"right_size": True, "machines_rented": True, "untouched_ratio": 0.0}
PODS = (20, 12, 16, 3)
"""By machine, each of 8 cores and 32 GiB."""


def world(requested: float = 0.75, value: dict[str, Any] = ON, **seen: Any) -> ValueWorld:
    """Return four machines of which the same share is requested."""
    ratios = {"cpu_requested_ratio": requested, "memory_requested_ratio": requested}
    nodes = {f"m-{row}": {"pods": pods, **ratios} for row, pods in enumerate(PODS)}
    return ValueWorld("efficiency", nodes=nodes, occupancy=Occupancy(nodes=(), **seen), value=value)


def marked(played: ValueWorld) -> list[str]:
    """Return the machines of which one step says that they should get no new pods."""
    proposal = played.play()
    if proposal.status is not ProposalStatus.PROPOSED:
        return []
    actions = (proposal.action, *(one.action for one in proposal.further))
    return [one.target.name for one in actions if isinstance(one, MigrateAction) and one.pods == ()]


def test_the_machine_with_the_fewest_pods_gets_no_new_ones() -> None:
    """Half of what it runs is expected to end: so much has to have room on the others, and what is free is lost."""
    assert marked(world(0.75)) == ["m-3"]
    assert sorted(marked(world(0.1))) == ["m-1", "m-3"]
    assert marked(world(0.9)) == []


@pytest.mark.parametrize(
    "switched",
    [{"right_size": False}, {"machines_rented": False}, {"marks": False}],
)
def test_nothing_is_marked_where_nobody_gives_machines_back(switched: dict[str, Any]) -> None:
    """Requests are not fitted, nobody rents machines, or it is switched off."""
    assert marked(world(value={**ON, **switched})) == []


def test_a_mark_stays_where_it_is_while_the_machine_is_to_go() -> None:
    """A few pods more change nothing; a machine that is not to go any more is given back after ten minutes."""
    assert marked(world(marked=("m-3",))) == []
    played = world(marked=("m-1",))
    assert marked(played) == ["m-3"]
    proposal = played.play(45)
    actions = [proposal.action, *(one.action for one in proposal.further)]
    back = [one.target.name for one in actions if isinstance(one, PowerStateAction)]
    assert back == ["m-1"]
