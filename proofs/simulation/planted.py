"""Five defects, planted on purpose: a proof that cannot fail proves nothing.

Each one is a change to the product's own code while it is planted, a plan of faults under which it
does harm, and the words in which the harm must be reported.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, NoReturn
from unittest.mock import patch

import bus.follow
import bus.memory_adapter
import services.executor.guards
import services.referee.service
from bus.errors import AnotherWriter
from bus.follow import Publisher
from bus.memory_adapter import Faults
from proofs.faults.log_check import check
from proofs.simulation.plan import DERIVED, FaultPlan
from proofs.simulation.world import RunResult, run
from schemas.decision import ClosedBy
from schemas.envelope import Event, NewEvent, stamp
from services.executor.guards import registered_guards

SEEDS = range(1, 13)
"""A defect must be caught by one of these."""


@dataclass(frozen=True)
class PlantedDefect:
    """One planted defect."""

    plant: Callable[[], AbstractContextManager[Any]]
    plan: FaultPlan
    told: str
    """Words of the report that must name it."""
    mode: str = "active"


@contextmanager
def ack_before_publish() -> Iterator[None]:
    """What was published counts as stored before it is."""
    publish = Publisher.publish

    async def publish_later(
        self: Publisher, new_events: Sequence[NewEvent]
    ) -> tuple[Event[Any], ...]:
        if self.producer != "executor":
            return await publish(self, new_events)
        events = [stamp(event, self.origin, self.producer, "") for event in new_events]
        _later.add(asyncio.ensure_future(_publish_late(publish(self, new_events))))
        return tuple(events)

    with patch.object(Publisher, "publish", publish_later):
        yield


LATE_SECONDS = 1.0
"""Simulated seconds until it really is published; the log is queried twice in between."""
_later: set[asyncio.Future[None]] = set()


async def _publish_late(publishing: Any) -> None:
    try:
        await asyncio.sleep(LATE_SECONDS)
        await publishing
    except BaseException:  # noqa: BLE001 - this is the planted defect: failures are not reported
        return


@contextmanager
def id_from_causes() -> Iterator[None]:
    """An event's id depends on its causes, which can differ after a restart."""

    def stamp_with_new_id(new_event: NewEvent, *context: Any) -> Event[Any]:
        event = stamp(new_event, *context)
        name = f"{event.id} {' '.join(new_event.causes)}"
        return replace(event, id=str(uuid.uuid5(uuid.NAMESPACE_OID, name)))

    with patch.object(bus.follow, "stamp", stamp_with_new_id):
        yield


@contextmanager
def acting_on_an_old_observation() -> Iterator[None]:
    """The referee rules on everything it missed, and the executor does not check how old it is."""
    guards = tuple(guard for guard in registered_guards() if guard.name != "stale_decision")

    def all_closed(cycles: Sequence[Any], *, overdue: bool) -> tuple[Any, ...]:
        del overdue
        return tuple((cycle, ClosedBy.ALL) for cycle in cycles if not cycle.missing)

    with (
        patch.object(services.executor.guards, "registered_guards", lambda: guards),
        patch.object(services.referee.service, "closings", all_closed),
    ):
        yield


@contextmanager
def retry_treated_as_failure() -> Iterator[None]:
    """A refused retry is taken for a rival although the first try was stored."""

    def refuse(messages: Sequence[Any], newest: Sequence[Any]) -> NoReturn:
        del newest
        raise AnotherWriter(messages[0].subject, "")

    with patch.object(bus.memory_adapter, "settle_refusal", refuse):
        yield


@contextmanager
def cool_down_forgotten_on_restart() -> Iterator[None]:
    """The executor begins at the end of the log instead of applying it."""
    follower = bus.follow.Follower
    restore = follower._restore

    async def forget(self: Any) -> None:
        if self._handler.name != "executor":
            await restore(self)
            return
        self._seq = (await self._bus.info()).last_seq

    with patch.object(follower, "_restore", forget):
        yield


DEFECTS: Mapping[str, PlantedDefect] = {
    "ack before publish": PlantedDefect(
        ack_before_publish,
        FaultPlan(1, hit=DERIVED, crash=0.01, jitter_seconds=0.5),
        "before its plan was stored",
    ),
    "id from causes": PlantedDefect(
        id_from_causes, FaultPlan(1, hit=DERIVED), "does not follow from what it is about"
    ),
    "acting on an old observation": PlantedDefect(
        acting_on_an_old_observation,
        FaultPlan(1, hit=DERIVED, outage="executor", outage_seconds=90.0),
        "carried out although",
    ),
    "retry treated as failure": PlantedDefect(
        retry_treated_as_failure,
        FaultPlan(1, hit=DERIVED, bus=Faults(drop_before_ack=0.1)),
        "stopped without a rival",
    ),
    "cool-down forgotten on restart": PlantedDefect(
        cool_down_forgotten_on_restart,
        FaultPlan(1, hit=("executor",), crash=0.04),
        "in its cool-down",
        mode="shadow",
    ),
}


def find_catching_seed(name: str) -> tuple[int, str] | None:
    """Return the first seed that shows a planted defect and the report that names it; None: no seed does."""
    reports = ((seed, find_report(name, seed, planted=True)) for seed in SEEDS)
    return next(((seed, report) for seed, report in reports if report), None)


def find_report(name: str, seed: int, *, planted: bool) -> str:
    """Return the report that names a defect under one plan of faults; empty when there is none.

    Args:
        name: of the defect.
        seed: of the faults.
        planted: False: run the same plan on the product as it is.
    """
    defect = DEFECTS[name]
    with defect.plant() if planted else nullcontext():
        ran = run(replace(defect.plan, seed=seed), mode=defect.mode)
    return next((text for text in _reports(ran) if defect.told in text), "")


def _reports(ran: RunResult) -> list[str]:
    return [*ran.problems, *map(str, check(ran.messages).problems)]
