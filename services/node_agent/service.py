"""The node agent's shell: look at the Node and the machine, write what is due, read back, and say so.

Level-triggered: each look compares what is wanted with what is there, so a change that was missed, a restart and an
outage of the API server are all the same. What limits need to end does not need the API server: their end is in the
annotation, and time goes on by this machine's clock.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import structlog

from bus.cancellation import cancel_and_wait
from bus.clock import Clock
from bus.errors import NotGivenBack
from bus.plain_process import Readiness
from schemas.config import CODE_VERSION
from schemas.node_limits import CONDITION, AgentReport, LimitReport
from services.access_reviews import require_rights
from services.kube_follow import WatchTransport
from services.node_agent.cluster import NodeVoice, OwnNode
from services.node_agent.host import Host
from services.node_agent.kept import Kept, of_this_boot
from services.node_agent.machine import Machine
from services.node_agent.reports import NodeEvent, changes_told, limit_reports
from services.node_agent.settings import NodeAgentSettings
from services.node_agent.steps import plan_step, settle
from services.node_agent.wishes import Wish, next_end, read_wishes
from services.rights import Right

NAME = "node-agent"
SAY_AGAIN_SECONDS = 5.0
"""After a condition that the server did not take."""
FAREWELL_SECONDS = 5.0
"""For the last words, once everything is given back."""


async def run(
    settings: NodeAgentSettings,
    node: str,
    transport: WatchTransport,
    clock: Clock,
    stop: asyncio.Event,
    readiness: Readiness,
    rights: tuple[Right, ...] = (),
) -> None:
    """Hold the limits of a node until told to stop, then give everything back.

    What an agent before this one left is given back first, whether or not the API server answers.

    Raises:
        ConfigError: a folder of the settings cannot be used, or one of `rights` is missing.
        ClusterUnavailable: the API server does not answer what is asked about rights.
        AnotherProcess: another agent of this machine lives.
        NotGivenBack: the kernel did not take back all that was changed.
    """
    with Host(settings) as host:
        agent = NodeAgent(settings, node, transport, clock, host)
        agent.give_back_left()
        await require_rights(NAME, transport, rights)
        following = asyncio.create_task(agent.own.follower.run(), name="follow")
        try:
            await agent.hold(stop, readiness)
        finally:
            readiness.state = "stopping"
            await cancel_and_wait(following)
            await agent.end()


class NodeAgent:
    """One agent; its methods are called one after the other."""

    def __init__(
        self,
        settings: NodeAgentSettings,
        node: str,
        transport: WatchTransport,
        clock: Clock,
        host: Host,
    ) -> None:
        """Hold limits of `node` on the machine behind `host`."""
        self._settings = settings
        self._clock = clock
        self._host = host
        self._log = structlog.get_logger(NAME)
        self._voice = NodeVoice(node, transport)
        self.own = OwnNode(node, transport, clock)
        self._kept = Kept(boot="")
        self._reports: tuple[LimitReport, ...] = ()
        self._said: AgentReport | None = None
        self._said_at = float("-inf")
        self._untold: list[NodeEvent] = []

    def give_back_left(self) -> None:
        """Give back what an agent left that could not end orderly, before anything is asked of anybody."""
        found, damaged = self._host.read_kept()
        if damaged:
            self._log.error("what was changed before cannot be read", error=damaged)
            self._untold.append(NodeEvent("LimitsUnknown", f"set aside: {damaged}", warning=True))
        self._kept = of_this_boot(found, self._host.read_machine().boot)
        left = len(self._kept.changes)
        self._apply(())
        if left:
            note = (
                f"an agent that was ended in between had left {left} changes; they are given back"
            )
            self._untold.append(NodeEvent("LimitsGivenBack", note))
            self._log.info("given back", changes=left, left=len(self._kept.changes))

    async def hold(self, stop: asyncio.Event, readiness: Readiness) -> None:
        """Look again and again until told to stop."""
        while not stop.is_set():
            self.own.follower.changed.clear()
            wishes = await self.look()
            readiness.detail = {"limits": str(len(self._kept.changes))}
            if self.own.now_seconds is not None:
                readiness.state = "live"
            await self._wait(stop, wishes)

    async def look(self) -> tuple[Wish, ...]:
        """Do what is due now, and return what is wanted."""
        now, node = self.own.now_seconds, self.own.node
        if now is None:
            return ()
        machine = self._host.read_machine()
        wishes = read_wishes(
            self.own.annotations,
            machine,
            self._settings,
            now_seconds=now,
            allocatable_cores=self.own.allocatable_cores,
        )
        machine, reports = self._apply(wishes)
        self._untold += changes_told(self._reports, reports, machine)
        self._reports = reports
        if node is not None:
            report = AgentReport(
                version=CODE_VERSION,
                can=machine.can,
                heartbeat_seconds=self._settings.heartbeat_seconds,
                limits=reports,
            )
            await self._say(report, now)
        return wishes

    def _apply(self, wishes: tuple[Wish, ...]) -> tuple[Machine, tuple[LimitReport, ...]]:
        """Make the machine what is wanted; return it as it was read back, and what became of each limit."""
        machine = self._host.read_machine()
        step = plan_step(self._kept, wishes, machine)
        if step.before != self._kept:
            self._host.save_kept(step.before)
        failed = self._host.write(step.writes)
        if step.writes:
            machine = self._host.read_machine()
        stands = settle(self._kept, step, failed, machine)
        if stands != step.before:
            self._host.save_kept(stands)
        self._kept = stands
        for error in failed.values():
            self._log.error("not written", error=error)
        return machine, limit_reports(step.wishes, machine, failed)

    async def _say(self, report: AgentReport, now: float) -> None:
        """Say what has changed, and that we live."""
        node, waited = self.own.node, self._clock.monotonic() - self._said_at
        assert node is not None
        lost = self._said is None or node.condition(CONDITION) is None
        due = waited >= (SAY_AGAIN_SECONDS if lost else self._settings.heartbeat_seconds)
        if report != self._said or due:
            if self._said is None and not due:
                return
            self._said_at = self._clock.monotonic()
            taken = await self._voice.say_condition(report, node, now)
            self._said = report if taken else None
        told, self._untold = self._untold, []
        await self._voice.tell(told, node.metadata.uid, now)

    async def _wait(self, stop: asyncio.Event, wishes: tuple[Wish, ...]) -> None:
        """Wait for a change, the end of a limit, the next check, or the end."""
        seconds, now = self._settings.check_seconds, self.own.now_seconds
        end = next_end(wishes)
        if end is not None and now is not None:
            seconds = min(seconds, max(0.0, end - now) + 0.01)
        waiting = [asyncio.create_task(one.wait()) for one in (stop, self.own.follower.changed)]
        try:
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel_and_wait(*waiting)

    async def end(self) -> None:
        """Give everything back, then take the condition away.

        Raises:
            NotGivenBack: the kernel did not take all of it.
        """
        machine, _ = self._apply(())
        left = [one for one in self._kept.changes if one.knob in machine.values()]
        told = [*self._untold, *changes_told(self._reports, (), machine)]
        node, now = self.own.node, self.own.now_seconds
        if node is not None and now is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(FAREWELL_SECONDS):
                    await self._voice.tell(told, node.metadata.uid, now)
                    await self._voice.remove_condition()
        if left:
            raise NotGivenBack(", ".join(f"{one.knob} was {one.former}" for one in left))
        self._log.info("ended", given_back=len(self._reports))
