"""Targets that are left untouched on purpose: which, for how long, and what the proposal says of them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from lab.rerun.settings import agent_settings
from schemas.actions import ActionKind, Target, TargetKind
from schemas.proposal import ProposalStatus
from schemas.reasons import Reason
from services.agents.memory import Memory
from services.agents.settings import AgentSettings
from services.agents.untouched_targets import is_drawn, may_be_left
from services.agents.value_settings import ValueSettings
from tests.agents.value_world import ScriptedService, ValueWorld
from tests.builders import make_action, make_config

EPOCH = 3_600.0


def workload(name: str) -> Target:
    """Return a Deployment as a target."""
    return Target(kind=TargetKind.WORKLOAD, name=f"shop/Deployment/{name}")


def violating(services: int, **value: Any) -> ValueWorld:
    """Return a world in which so many Services violate their objective, and have for some cycles."""
    drawn = {"untouched_epoch_seconds": EPOCH, "most_wishes": 20, **value}
    names = {f"web-{number}": ScriptedService(rate=90.0, wanted=4) for number in range(services)}
    nodes = {f"n{number}": {} for number in range(40)}
    return ValueWorld("safety", names, nodes, value=drawn, totals={"pods_running": 400})


def test_the_share_that_is_left_is_the_ratio() -> None:
    """Of many targets and epochs about as many as it says, and a target's epochs have nothing to do with each other."""
    names, epochs, ratio = range(200), range(50), 0.05
    left = {
        (name, epoch)
        for name in names
        for epoch in epochs
        if is_drawn(7, workload(str(name)), epoch, ratio)
    }
    assert len(left) / 10_000 == pytest.approx(ratio, abs=4 * (ratio * (1 - ratio) / 10_000) ** 0.5)
    both = sum((name, epoch + 1) in left for name, epoch in left)
    assert both / len(left) < 0.1
    other = {(n, e) for n in names for e in epochs if is_drawn(8, workload(str(n)), e, ratio)}
    assert len(left & other) / len(left) < 0.1


def test_what_is_left_is_recorded_with_its_propensity_and_not_proposed() -> None:
    """Wanted, with the effect that it would have had; the others are proposed as ever, and named as eligible."""
    world = violating(12, untouched_ratio=0.4)
    proposal = world.play(3)
    draw = proposal.untouched
    assert draw is not None
    assert (draw.ratio, draw.seed, draw.ends_seconds % EPOCH) == (0.4, 7, 0.0)
    left = {one.action.target.name for one in draw.left}
    proposed = {proposal.action.target.name, *(one.action.target.name for one in proposal.further)}
    assert left
    assert proposed == set(draw.eligible)
    assert not left & proposed
    assert len(left | proposed) == 12
    assert all(one.effect.net > 0.0 for one in draw.left)
    names = (name.rpartition("/")[2] for name in left | proposed)
    drawn = {name for name in names if is_drawn(7, workload(name), draw.epoch, 0.4)}
    assert {workload(name).name for name in drawn} == left


def test_nothing_is_proposed_where_all_that_gains_is_left() -> None:
    """A noop that says why, which no rule of the referee mistakes for having nothing to do."""
    names = (f"web-{number}" for number in range(99))
    epoch = int(1_767_225_600 // EPOCH)
    name = next(name for name in names if is_drawn(7, workload(name), epoch, 0.2))
    world = ValueWorld(
        "safety",
        {name: ScriptedService(rate=90.0)},
        {f"n{number}": {} for number in range(40)},
        value={"untouched_ratio": 0.2},
    )
    proposal = world.play(3)
    assert (proposal.status, proposal.reason) == (ProposalStatus.NOOP, Reason.LEFT_UNTOUCHED)
    assert proposal.untouched is not None
    assert [one.action.target for one in proposal.untouched.left] == [workload(name)]


def test_at_a_ratio_of_none_nothing_is_drawn() -> None:
    """The event then says nothing of it, as before there were draws."""
    proposal = violating(8, untouched_ratio=0.0).play(3)
    assert proposal.status is ProposalStatus.PROPOSED
    assert proposal.untouched is None


def test_what_gives_back_is_never_left() -> None:
    """Waking a machine, admitting Jobs, and fewer replicas than there are end something of ours."""
    world = violating(1)
    world.play(3)
    memory = world.state.memory
    assert memory is not None

    def may(kind: ActionKind, target: str = "n1", **parameters: Any) -> bool:
        return may_be_left(make_action(kind=kind, target=target, **parameters), memory)

    web = workload("web-0").name
    assert may(ActionKind.REPLICATE, web, replicas=5)
    assert not may(ActionKind.REPLICATE, web, replicas=3)
    assert may(ActionKind.POWER_STATE, power_state="sleep")
    assert not may(ActionKind.POWER_STATE, power_state="on")
    assert not may_be_left(make_action(kind=ActionKind.ADMISSION, admission="admit"), Memory())


def test_an_epoch_is_longer_than_what_is_looked_at() -> None:
    """Within a shorter one no effect could be seen; without a draw it does not matter."""
    with pytest.raises(ValidationError, match="use more than the longest horizon"):
        ValueSettings(untouched_epoch_seconds=1_800.0)
    assert ValueSettings(untouched_epoch_seconds=60.0, untouched_ratio=0.0).untouched_ratio == 0.0


def test_recordings_from_before_there_were_draws_are_judged_without() -> None:
    """What was announced holds, prices too; what was not known then is not done."""
    announced = AgentSettings.model_validate({"profile": "foresail", "value": {"core_hour": 0.5}})
    today = announced.announcement("safety")
    older = {**today, "value": {k: v for k, v in today["value"].items() if "untouched" not in k}}
    for settings, ratio in ((today, 0.05), (older, 0.0)):
        again = agent_settings("safety", make_config("agent-safety", **settings), {})
        assert (again.value.untouched_ratio, again.value.core_hour) == (ratio, 0.5)
