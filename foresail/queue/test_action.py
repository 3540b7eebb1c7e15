"""`foresail queue test`: one small Job through a prepared cluster's queue, every step checked, all taken away again."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from rich.table import Table

from bus.clock import Clock, SystemClock
from bus.exit_codes import ExitCode
from foresail import stopping
from foresail.flags import seconds
from foresail.output import console, print_json
from foresail.queue.cluster import add_cluster, connected, named_namespaces
from lab.learning.jobs import Amounts, Job
from lab.queue.manifests import HELD_QUEUE, LOCAL_QUEUE
from lab.queue.objects import QUEUE_LABEL
from lab.queue.reading import kueue_version, read_queues
from lab.queue.samples import QueueLedger, take_sample
from lab.queue.submitting import Submitter
from schemas.queue import QueueJob
from services.cluster import MERGE_PATCH, Transport

EXAMPLES = (
    ("queue test --kubeconfig FILE", "after `queue setup --apply`: does a Job pass the queue?"),
)
PROBE = Job("foresail-queue-test", 0.0, Amounts(10, 16 * 2**20), 60.0, 5.0, priority=1)
LOOK_SECONDS = 1.0
Condition = Callable[[QueueJob | None], bool]


@dataclass(frozen=True, slots=True)
class CheckedStep:
    """A step, and whether it was seen in time."""

    step: str
    passed: bool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    add_cluster(parser, "the test's Job goes into the first (default: %(default)s)")
    parser.add_argument("--timeout", type=seconds, default=120.0, metavar="DURATION",
                        help="of each step (default: 2m)")  # fmt: skip


def run(arguments: argparse.Namespace) -> ExitCode:
    """Check; exit with 1 when a step was not seen.

    Raises:
        InputError: a namespace cannot be used.
        ConfigError: the cluster cannot be reached.
    """
    namespace = named_namespaces(arguments.namespaces)[0]
    steps = stopping.run(_test(arguments, namespace))
    passed = all(step.passed for step in steps)
    if arguments.json:
        print_json({"passed": passed, "steps": {one.step: one.passed for one in steps}})
    else:
        table = Table(box=None, show_header=False)
        for one in steps:
            table.add_row("ok" if one.passed else "not seen", one.step)
        console().print(table)
    return ExitCode.GOOD if passed else ExitCode.DIFFERS


async def _test(arguments: argparse.Namespace, namespace: str) -> list[CheckedStep]:
    async with connected(arguments) as transport:
        return await check_queue(transport, namespace, arguments.timeout, SystemClock())


async def check_queue(
    transport: Transport, namespace: str, timeout_seconds: float, clock: Clock
) -> list[CheckedStep]:
    """Send a Job through the queue that holds and then the other one; stop at the first step that is not seen.

    Raises:
        ClusterUnavailable: no answer.
        ClusterRefused: the cluster does not let Jobs be listed or moved.
    """
    version = await kueue_version(transport)
    if version is None:
        return [CheckedStep("the cluster serves Kueue", passed=False)]
    steps = [CheckedStep("the cluster serves Kueue", passed=True)]
    submitter = Submitter((PROBE,), namespace, queue=HELD_QUEUE)
    await submitter.submit(transport, 0.0, 0.0)
    steps.append(CheckedStep("a Job is taken", passed=not submitter.refused))
    watch = _ProbeWatch(transport, version, namespace, timeout_seconds, clock)
    waits: tuple[tuple[str, Condition], ...] = (
        ("it waits in the queue that holds", lambda row: _is(row, "Suspended", "kueue")),
        ("moved to the other queue it is admitted", _admitted),
        ("it succeeds", lambda row: _is(row, "Succeeded", "kueue")),
    )
    try:
        for place, (text, condition) in enumerate(waits):
            if not steps[-1].passed:
                break
            if place == 1:
                path = f"/apis/batch/v1/namespaces/{namespace}/jobs/{PROBE.name}"
                patch = {"metadata": {"labels": {QUEUE_LABEL: LOCAL_QUEUE}}}
                await transport.request("PATCH", path, None, patch, MERGE_PATCH)
            steps.append(CheckedStep(text, passed=await watch.sees(condition)))
    finally:
        await submitter.remove(transport)
    return steps


class _ProbeWatch:
    """Looks at the test's Job until it is as it should be."""

    def __init__(
        self,
        transport: Transport,
        version: str,
        namespace: str,
        timeout_seconds: float,
        clock: Clock,
    ) -> None:
        self._transport, self._version, self._namespace = transport, version, namespace
        self._timeout_seconds, self._clock = timeout_seconds, clock
        self._ledger = QueueLedger()

    async def sees(self, condition: Condition) -> bool:
        """Look each second; whether it came in time."""
        until = self._clock.monotonic() + self._timeout_seconds
        while True:
            reads = await read_queues(
                self._transport, self._version, (self._namespace,), machines=False
            )
            self._ledger, _ = take_sample(self._ledger, reads)
            rows = self._ledger.jobs.values()
            if condition(next((row for row in rows if row.name == PROBE.name), None)):
                return True
            if self._clock.monotonic() >= until:
                return False
            await self._clock.sleep(LOOK_SECONDS)


def _is(row: QueueJob | None, status: str, scheduler: str) -> bool:
    return row is not None and (row.status, row.scheduler) == (status, scheduler)


def _admitted(row: QueueJob | None) -> bool:
    return row is not None and row.admission_time_seconds is not None
