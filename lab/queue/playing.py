"""Playing a stream of jobs on a cluster under one arm: submit, decide, sample, account for every job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from lab.learning.baselines.rules import Rule
from lab.learning.jobs import JobStream
from lab.queue.accounts import ArmResult, result_of
from lab.queue.applying import apply
from lab.queue.arms import QueueArm
from lab.queue.manifests import LOCAL_QUEUE, QueueSetup, manifests
from lab.queue.objects import QUEUE_LABEL
from lab.queue.reading import kueue_version, read_queues
from lab.queue.samples import QueueLedger, take_sample
from lab.queue.submitting import Submitter
from lab.queue.view import QueueView, chosen_now
from schemas.queue import QueueState
from services.cluster import MERGE_PATCH, ClusterRefused, Transport

DECIDE_SECONDS = 5.0
"""From one decision to the next, as the predecessors' `admit_interval`."""
SAMPLE_SECONDS = 30.0
"""From one sample to the next, as their monitor."""


class Stage(Protocol):
    """A cluster and its time."""

    @property
    def transport(self) -> Transport:
        """Its API."""
        ...

    async def sleep_until(self, cluster_seconds: float) -> None:
        """Let time pass."""
        ...


@dataclass(frozen=True, slots=True)
class QueuePlay:
    """What is played, and where in the cluster."""

    stream: JobStream
    seed: int
    length_seconds: float
    namespace: str


class NotPrepared(RuntimeError):
    """A cluster could not be given its queues; says which object, and why."""


async def prepare(stage: Stage, arm: QueueArm, play: QueuePlay) -> str | None:
    """Give a cluster what an arm needs, and return the version of its Kueue.

    Raises:
        NotPrepared: an object was refused or belongs to somebody else, or an arm that needs Kueue has none.
    """
    version = await kueue_version(stage.transport)
    if version is None and arm.queue is not None:
        raise NotPrepared(f"{arm.name}: the cluster serves no Kueue; install it there")
    quota = play.stream.quota
    setup = QueueSetup(
        (play.namespace,),
        quota.cpu_millicores,
        quota.memory_bytes,
        arm.strategy,
        version or "v1beta2",
    )
    wanted = [
        one for one in manifests(setup) if version is not None or "kueue" not in one["apiVersion"]
    ]
    for step in await apply(stage.transport, wanted, dry_run=False):
        if step.step in {"refused", "foreign"}:
            raise NotPrepared(f"{arm.name}: {step.kind} {step.name}: {step.detail}")
    return version


async def play_arm(stage: Stage, arm: QueueArm, play: QueuePlay, version: str | None) -> ArmResult:
    """Play a stream in a prepared cluster, and say what became of every job.

    Raises:
        ClusterUnavailable: no answer.
        ClusterRefused: the cluster does not let Jobs be listed or moved.
    """
    submitter = Submitter(play.stream.jobs, play.namespace, queue=arm.queue)
    ledger, state, begin = await _sample(stage, play, version, QueueLedger())
    samples = [state]
    end, tick = begin + play.length_seconds, 0
    next_sample = begin + SAMPLE_SECONDS
    now = begin
    while now < end:
        await submitter.submit(stage.transport, begin, now)
        if arm.rule is not None and now >= begin + tick * DECIDE_SECONDS:
            ledger, _, _ = await _sample(stage, play, version, ledger, machines=False)
            await admit(stage.transport, arm.rule, play, ledger, now - begin, begin)
        while begin + tick * DECIDE_SECONDS <= now:
            tick += 1
        due = [next_sample, end, submitter.due(begin)]
        if arm.rule is not None:
            due.append(begin + tick * DECIDE_SECONDS)
        now = min(due)
        await stage.sleep_until(now)
        if now >= next_sample:
            ledger, state, _ = await _sample(stage, play, version, ledger)
            samples.append(state)
            next_sample += SAMPLE_SECONDS
    ledger, state, _ = await _sample(stage, play, version, ledger)
    rows = {row.name: row for row in ledger.jobs.values()}
    samples.append(state)
    return result_of(arm.name, play.seed, play.stream.jobs, rows, samples, submitter.refused)


async def admit(
    transport: Transport,
    rule: Rule,
    play: QueuePlay,
    ledger: QueueLedger,
    now_seconds: float,
    begin: float,
) -> Sequence[str]:
    """Let a rule choose, and move whom it admits out of the queue that holds; return their names.

    A Job that is gone in the meantime is passed over. Raises ClusterUnavailable, and ClusterRefused for all else.
    """
    rows = {row.name: row for row in ledger.jobs.values()}
    view = QueueView(play.stream, rows, now_seconds, begin)
    names = []
    for job in chosen_now(view, rule):
        path = f"/apis/batch/v1/namespaces/{play.namespace}/jobs/{job.name}"
        patch = {"metadata": {"labels": {QUEUE_LABEL: LOCAL_QUEUE}}}
        try:
            await transport.request("PATCH", path, None, patch, MERGE_PATCH)
        except ClusterRefused as error:
            if error.status != 404:
                raise
        else:
            names.append(job.name)
    return names


async def _sample(
    stage: Stage,
    play: QueuePlay,
    version: str | None,
    ledger: QueueLedger,
    *,
    machines: bool = True,
) -> tuple[QueueLedger, QueueState, float]:
    reads = await read_queues(stage.transport, version, (play.namespace,), machines=machines)
    ledger, sample = take_sample(ledger, reads)
    return ledger, sample.state, reads.time_seconds
