"""Exported policies beside a queue: what they see, what they may do, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bus.errors import InputError
from foresail.__main__ import main
from foresail.queue.test_action import PROBE, check_queue
from inputs.clock import ManualClock
from lab.learning.comparison.learned_rule import ExportedRule, read_rule
from lab.learning.jobs import Amounts, Job
from lab.queue.deciding import Asked, Consideration, considerations, stream_of
from lab.queue.manifests import HELD_QUEUE
from lab.queue.submitting import job_manifest
from lab.queue.view import QueueView, chosen_now
from services.learned_policy.choice import LearnedPolicy
from services.learned_policy.file import policy_bytes
from tests.lab.queue.conftest import GIB, NAMESPACE, World
from tests.lab.queue.policies import liking_policy

MakeWorld = Callable[..., World]
QUOTA = Amounts(8_000, 32 * GIB)
JOB = Job("one", 0.0, Amounts(5_000, 4 * GIB), 120.0, 90.0, priority=5, kind="ml", pods=5)


async def _held(world: World, names: tuple[str, ...]) -> None:
    await world.setup()
    for name in names:
        await world.submit(job_manifest(replace(JOB, name=name), NAMESPACE, queue=HELD_QUEUE))
    await world.look(2.0)


def _considered(world: World, policy: LearnedPolicy) -> list[Consideration]:
    asked = Asked(1, world.engine.now, QUOTA, "queue")
    return list(considerations(ExportedRule(policy), world.ledger.jobs.values(), asked))


async def test_it_chooses_until_nobody_fits(make_world: MakeWorld) -> None:
    """Of two Jobs of five cores on eight it admits one, and then waits; slots and mask are told.

    Of whatever algorithm: theirs read every file as one of DQN (2.e.13).
    """
    world = make_world()
    await _held(world, ("one", "two"))
    made = _considered(world, liking_policy(best=0, masked=True))
    assert [(one.slots, one.admits) for one in made] == [(("one", "two"), "one"), (("two",), None)]
    assert made[0].choice.allowed == (True, True, *(False,) * 9)  # nothing runs: no reason to wait
    assert made[1].choice.allowed == (False,) * 10 + (True,)
    assert made[1].choice.action == 10


async def test_an_action_that_means_nothing_admits_nobody(make_world: MakeWorld) -> None:
    """Theirs admitted the first job when a prediction failed, and had no mask (2.e.9); ours does so only where nothing
    runs, and waiting would change nothing.
    """
    world = make_world()
    await _held(world, ("one", "two"))
    first, second = _considered(world, liking_policy(best=7, masked=False))
    assert (first.choice.action, first.admits) == (7, "one")
    assert (second.choice.action, second.admits) == (7, None)


async def test_as_a_rule_it_chooses_the_same(make_world: MakeWorld) -> None:
    """The arm of a benchmark and `inference` decide by one code."""
    world = make_world()
    await _held(world, ("one", "two"))
    policy = liking_policy(best=0, masked=True)
    rows = {row.name: row for row in world.ledger.jobs.values()}
    stream = stream_of(rows.values(), QUOTA, 0.0)
    view = QueueView(stream, rows, world.engine.now, 0.0)
    assert [job.name for job in chosen_now(view, ExportedRule(policy))] == ["one"]


def test_a_policy_of_another_environment_is_refused(tmp_path: Path) -> None:
    """Its numbers would mean something else."""
    path = tmp_path / "other.policy"
    path.write_bytes(policy_bytes(liking_policy(best=0, masked=True, environment="CartPole-v1")))
    with pytest.raises(InputError, match="trained in CartPole-v1"):
        read_rule(path)


def test_without_a_passed_gate_it_may_only_be_watched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Theirs explored on the live cluster (2.e.10); active mode is refused before it is asked for anything."""
    path = tmp_path / "new.policy"
    path.write_bytes(policy_bytes(liking_policy(best=0, masked=True)))
    words = ["queue", "inference", "--model", str(path), "--kubeconfig", "none", "--mode", "active"]
    assert main(words) == 2
    assert "its card holds no result of `foresail learn gate`" in capsys.readouterr().err


class _WorldClock(ManualClock):
    """A clock whose sleep lets the cluster's time pass."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    async def sleep(self, seconds: float) -> None:
        """Let time pass in both."""
        self._world.engine.advance(self._world.engine.now + seconds)
        await super().sleep(seconds)


async def test_the_check_sends_a_job_through_both_queues(make_world: MakeWorld) -> None:
    """Held, admitted, succeeded, and gone afterwards."""
    world = make_world()
    await world.setup()
    steps = await check_queue(world.transport, NAMESPACE, 60.0, _WorldClock(world))
    assert [step.passed for step in steps] == [True] * 5
    world.engine.advance(world.engine.now + 5.0)
    assert not [
        one for one in world.engine.store.list("jobs") if one["metadata"]["name"] == PROBE.name
    ]


async def test_the_check_says_what_it_did_not_see(make_world: MakeWorld) -> None:
    """Without Kueue it ends at once; without queues the Job is never admitted."""
    world = make_world(kueue=False)
    (step,) = await check_queue(world.transport, NAMESPACE, 5.0, _WorldClock(world))
    assert not step.passed
    world = make_world()
    await world.setup()
    path = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cluster"
    await world.transport.request("DELETE", path)
    steps = await check_queue(world.transport, NAMESPACE, 5.0, _WorldClock(world))
    assert (steps[-1].step, steps[-1].passed) == ("moved to the other queue it is admitted", False)
