"""Holds the Lease by which one executor alone acts on a cluster, and knows at each moment whether it does.

A plan is written only while `lead()` says so. The clock that counts is this machine's monotonic one, from before the
newest renewal was sent, so a process that was stopped for a while finds its time over before it does anything.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol, runtime_checkable

import structlog

from bus.cancellation import cancel_and_wait
from bus.clock import Clock
from bus.errors import Temporary
from schemas.leadership import LeadState, OutcomeLeadership
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.executor.lease import (
    DEADLINE_SHARE,
    GROUP,
    NAME,
    RENEW_SHARE,
    WAIT_SHARE,
    Candidate,
    Lead,
    LeaseRecord,
    held_spec,
    lease_path,
    read_record,
    released_spec,
    stack_of,
)
from services.kube_objects import FIELD_MANAGER

LEASE_LOST = "LeaseLost"
"""The reason of a write that was not sent."""
EXEMPT = (f"/apis/{GROUP}/", "/apis/authorization.k8s.io/")
"""API groups whose requests are no writes to the cluster's objects: the Lease itself, and questions about rights."""
RELEASE_TRIES = 2
LEASE_LABELS = {"app.kubernetes.io/part-of": "foresail"}


class LeadershipLost(Temporary):
    """Another replica of this stack leads: this process must end, and begin again as one that waits."""


@runtime_checkable
class GatedTransport(Protocol):
    """A transport that asks a gate right before it sends a write, also after it has waited for its turn."""

    def gate_writes(self, gate: Callable[[str], float]) -> None:
        """Ask `gate` with the path of each write that is no dry run; it returns the seconds that it may take.

        The gate raises ClusterRefused where the write must not be sent.
        """
        ...


class Leadership:
    """One executor's part in the election."""

    def __init__(
        self,
        transport: Transport,
        clock: Clock,
        candidate: Candidate,
        *,
        namespace: str,
        duration_seconds: float,
    ) -> None:
        """Stand for the Lease of a namespace once `want` was called."""
        self._transport, self._clock, self.candidate = transport, clock, candidate
        self._namespace, self._duration = namespace, duration_seconds
        self.lease = f"{namespace}/{NAME}"
        self._log = structlog.get_logger("executor")
        self._wanted = asyncio.Event()
        self._changed = asyncio.Event()
        self._content: dict[str, Any] = {}
        self._record = LeaseRecord()
        self._seen_seconds = 0.0
        """Monotonic time at which the record was seen to have changed."""
        self._renewed_seconds: float | None = None
        """Monotonic time right before the newest renewal that succeeded was sent; None: never."""
        self._unanswered = False
        """Whether a write was sent that the server may have taken without our knowing."""
        self._trouble = ""
        self._may_not = False
        self._said = ""
        self._count = 0
        self._has_led = False

    # ---- how it stands

    def want(self) -> None:
        """Begin to stand for it."""
        self._wanted.set()

    @property
    def wanted(self) -> bool:
        """Whether it stands for the Lease."""
        return self._wanted.is_set()

    @property
    def has_led(self) -> bool:
        """Whether it ever held the Lease."""
        return self._has_led

    def lead(self) -> Lead | None:
        """Return how it stands now; None while that is not known, or the Lease not wanted."""
        record, mine = self._record, self._record.holder == self.candidate.identity
        if mine and self._left_seconds(DEADLINE_SHARE) > 0.0:
            return Lead(LeadState.LEADING, record=record)
        if mine:
            limit = self._duration * DEADLINE_SHARE
            why = f": {self._trouble}" if self._trouble else ""
            text = f"Lease {self.lease} was not renewed for {limit:g} s{why}"
            return Lead(LeadState.SUSPENDED, text, record)
        if self._may_not:
            return Lead(LeadState.REFUSED, self._trouble, record)
        if record.holder:
            other = stack_of(record.holder) != self.candidate.stack
            whose = "another stack acts on this cluster" if other else "another replica leads"
            text = f"{whose}: Lease {self.lease}, {record.held_text()}"
            return Lead(LeadState.REFUSED, text, record)
        return None

    @property
    def stands_by(self) -> bool:
        """Whether another replica of the same stack, which shares our log, leads or may lead."""
        holder = self._record.holder
        if holder == self.candidate.identity or self._may_not:
            return False
        return not holder or stack_of(holder) == self.candidate.stack

    def write_seconds(self, path: str) -> float:
        """Return how long a write may take: it has to be over before others may take the Lease.

        Raises:
            ClusterRefused: this executor does not lead, so nothing may be sent.
        """
        if path.startswith(EXEMPT):
            return float("inf")
        lead = self.lead()
        if lead is None or not lead.leading:
            text = "the Lease is not held yet" if lead is None else lead.text
            raise ClusterRefused(0, LEASE_LOST, text)
        return self._left_seconds(1.0)

    def mark(self, cycle: int, cluster_time_seconds: float) -> OutcomeLeadership:
        """Return the next event about how it stands."""
        lead = self.lead() or Lead(LeadState.REFUSED, self._trouble or "the Lease is not held yet")
        record = lead.record
        self._count += 1
        leading = f"leads by Lease {self.lease}, term {record.transitions}"
        return OutcomeLeadership(
            cycle=cycle,
            cluster_time_seconds=cluster_time_seconds,
            state=lead.state,
            lease=self.lease,
            executor=self.candidate.identity,
            number=self._count,
            term=record.transitions,
            holder=record.holder,
            held_since_seconds=record.acquired_seconds,
            reason=lead.reason,
            text=leading if lead.leading else lead.text,
        )

    def _left_seconds(self, share: float) -> float:
        if self._renewed_seconds is None:
            return 0.0
        return self._renewed_seconds + share * self._duration - self._clock.monotonic()

    # ---- the election

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        """Take part within the context; the Lease is released at its end."""
        task = asyncio.create_task(self._run(), name="lease")
        try:
            yield task
        finally:
            await cancel_and_wait(task)
            with suppress(ClusterUnavailable, ClusterRefused, LeadershipLost, TimeoutError):
                await asyncio.wait_for(self._release(), self._duration * RENEW_SHARE)

    async def settled(self, election: asyncio.Task[None], on_wait: Callable[[], None]) -> None:
        """Wait until this executor leads, or is refused for good reason; replicas wait here for their turn.

        Raises:
            LeadershipLost: the election ended.
        """
        while self.wanted and not self._is_settled():
            on_wait()
            self._changed.clear()
            change = asyncio.create_task(self._changed.wait())
            try:
                await asyncio.wait({change, election}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                await cancel_and_wait(change)
            if election.done():
                election.result()

    def _is_settled(self) -> bool:
        lead = self.lead()
        return lead is not None and (lead.leading or not self.stands_by)

    async def _run(self) -> None:
        await self._wanted.wait()
        while True:
            try:
                await asyncio.wait_for(self._step(), self._duration * RENEW_SHARE)
                self._trouble = ""
            except ClusterRefused as error:
                self._note_refusal(error)
            except ClusterUnavailable as error:
                self._trouble = str(error)
            except TimeoutError:
                self._trouble = "the API server did not answer in time"
            self._changed.set()
            self._say()
            lead = self.lead()
            leads = lead is not None and lead.state is not LeadState.REFUSED
            await self._clock.sleep(self._duration * (RENEW_SHARE if leads else WAIT_SHARE))

    async def _step(self) -> None:
        """Renew what is ours by what we know of it; else look, and take what is free."""
        if self._record.holder == self.candidate.identity and not self._trouble:
            return await self._take()
        await self._look()
        record, now = self._record, self._clock.monotonic()
        held = record.holder and record.holder != self.candidate.identity
        if not held or now >= self._seen_seconds + record.duration_seconds:
            await self._take()
        return None

    async def _look(self) -> None:
        """Read the Lease.

        Raises:
            LeadershipLost: another replica has taken it over.
        """
        try:
            answer = await self._transport.request("GET", lease_path(self._namespace, NAME))
        except ClusterRefused as error:
            if error.status != 404:
                raise
            self._note({}, LeaseRecord())
            return
        content = json.loads(answer.body)
        self._note(content, read_record(content))

    def _note(self, content: dict[str, Any], record: LeaseRecord) -> None:
        lost = self._has_led and record.holder != self.candidate.identity
        if record != self._record:
            self._record, self._seen_seconds = record, self._clock.monotonic()
        self._content, self._may_not = content, False
        if lost and record.holder and stack_of(record.holder) == self.candidate.stack:
            raise LeadershipLost(f"Lease {self.lease}: {record.held_text()}")

    async def _take(self) -> None:
        """Write the Lease as ours, if nobody has written it since it was seen."""
        sent = self._clock.monotonic()
        spec = held_spec(self._record, self.candidate, self._duration, self._clock.wall_ns() / 1e9)
        try:
            content = await self._write(spec)
        except ClusterRefused as error:
            if error.status not in {404, 409}:
                raise
            self._trouble = error.message  # somebody was faster: look again before the next try
            await self._look()
            return
        self._note(content, read_record(content))
        self._renewed_seconds, self._has_led = sent, True

    async def _write(self, spec: dict[str, Any]) -> dict[str, Any]:
        query = {"fieldManager": FIELD_MANAGER}
        self._unanswered = True
        if not self._record.version:
            metadata = {"name": NAME, "namespace": self._namespace, "labels": LEASE_LABELS}
            body = {
                "apiVersion": f"{GROUP}/v1",
                "kind": "Lease",
                "metadata": metadata,
                "spec": spec,
            }
            answer = await self._transport.request("POST", lease_path(self._namespace), query, body)
        else:
            whole = {**self._content, "spec": {**self._content.get("spec", {}), **spec}}
            path = lease_path(self._namespace, NAME)
            answer = await self._transport.request("PUT", path, query, whole)
        self._unanswered = False
        content: dict[str, Any] = json.loads(answer.body)
        return content

    async def _release(self) -> None:
        """Let go of what is ours, also where a renewal was cut off that the server has taken."""
        self._renewed_seconds = None
        for _ in range(RELEASE_TRIES):
            if self._unanswered:
                await self._look()
            if self._record.holder != self.candidate.identity:
                return
            try:
                await self._write(released_spec(self._record, self._clock.wall_ns() / 1e9))
            except ClusterRefused as error:
                if error.status != 409:
                    raise
            else:
                return

    def _note_refusal(self, error: ClusterRefused) -> None:
        self._trouble = f"Lease {self.lease} may not be had: {error}"
        if error.status in {403, 404}:
            self._may_not = self._record.holder != self.candidate.identity
            self._trouble += (
                "; `foresail rbac` prints the rights, executor.lease_namespace names its place"
            )

    def _say(self) -> None:
        """Write one log line for each change."""
        lead = self.lead()
        said = self._trouble if lead is None else lead.text or f"leads by Lease {self.lease}"
        if said == self._said:
            return
        self._said = said
        if lead is not None and lead.leading:
            self._log.info("leads", lease=self.lease, term=lead.record.transitions)
        else:
            self._log.warning("does not lead", lease=self.lease, why=said)
