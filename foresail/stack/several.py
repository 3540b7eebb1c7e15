"""A stack of several clusters: one nats-server, and for each cluster its own identities, stream and processes.

What ends one cluster does not end the others (docs/adr/0032-several-clusters-share-a-server-and-nothing-else.md).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bus.cancellation import cancel_and_wait
from bus.clock import Clock, SystemClock
from bus.cluster_list import cluster_folder, write_clusters
from bus.errors import ConfigError, ForesailError, InputError
from foresail import stopping
from foresail.named_clusters import clusters_by_name
from foresail.output import console, print_error
from foresail.settings import StackSettings
from foresail.stack.bringing_up import RunningStack, Say, bring_up
from foresail.stack.common_server import CommonServer, start_common
from foresail.stack.disk_space import restart_when_disk_has_room
from foresail.stack.keeper import Keeper
from foresail.stack.preflight import check_alone, check_before_start
from foresail.stack.printing import BackgroundPrinter
from foresail.stack.real import run_to_end, stopped_by_signal
from foresail.stack.real_cluster import check_cluster, early_note
from foresail.stack.showing import line_printer
from foresail.stack.state_folder import StateFolder
from schemas.cluster_standing import ClusterStanding

STANDING_SECONDS = 1.0
"""How often it is looked whether `clusters.json` is out of date."""
MOST_PORT = 65_535


@dataclass
class Member:
    """One cluster of the stack."""

    name: str
    settings: StackSettings
    state: StateFolder
    stack: RunningStack | None = None
    """None before it is brought up."""
    cleanup: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)
    ended: str = ""
    """Why it ended before the others; empty while it runs and when it ended in order."""
    over: bool = False

    def standing(self) -> ClusterStanding:
        """Return how it stands, in what fits a line."""
        if self.stack is None:
            return ClusterStanding(running=False)
        overview = self.stack.watch.overview
        observed, outage = overview.observation, overview.outage
        operating = overview.run.operating
        lost = "" if outage is None else outage.text()
        return ClusterStanding(
            dashboard_url=self.stack.dashboard_url,
            mode=operating.mode or self.stack.plant.mode,
            cycle=-1 if observed is None else observed.cycle,
            hold=operating.hold_text() if operating.hold else "",
            trouble=self.ended or lost,
            running=not self.over,
        )


def run_several_stacks(settings: StackSettings, *, quiet: bool) -> dict[str, Any]:
    """Run all clusters until told to stop; return the summary of each under `clusters`.

    Raises:
        InputError: something given does not work; nothing is left running.
    """
    return stopping.run(_run(settings, quiet=quiet))


def members_of(settings: StackSettings) -> tuple[Member, ...]:
    """Return the clusters that settings name, each with settings, state folder and dashboard port of its own.

    Raises:
        ConfigError: two have the same name, or the ports of their pages would be too large.
    """
    files = clusters_by_name(settings.run.kubeconfigs)
    root, first = Path(settings.run.state_folder), settings.dashboard.port
    if first and first + len(files) - 1 > MOST_PORT:
        remedy = f"each of the {len(files)} clusters has a page of its own, on this port and the next ones"
        raise ConfigError("--dashboard-port", first, remedy)
    members = []
    for number, (name, path) in enumerate(files.items()):
        folder = cluster_folder(root, name)
        own = {"cluster": name, "kubeconfig": path, "kubeconfigs": (), "state_folder": str(folder)}
        page = {
            "port": first + number if first else 0,
            "clusters_folder": str(root.resolve()),
        }
        update = {
            "run": settings.run.model_copy(update=own),
            "dashboard": settings.dashboard.model_copy(update=page),
        }
        members.append(Member(name, settings.model_copy(update=update), StateFolder(folder)))
    return tuple(members)


async def _run(settings: StackSettings, *, quiet: bool) -> dict[str, Any]:
    clock, members = SystemClock(), members_of(settings)
    root = Path(settings.run.state_folder)
    check_alone(root)
    for member in members:
        check_before_start(member.settings)
    await _check_clusters(members)
    _print_early_notes(members, quiet=quiet)

    def say(text: str) -> None:
        if not quiet:
            console().print(text, markup=False)

    async with contextlib.AsyncExitStack() as cleanup:
        state = StateFolder(root)
        for place in (state, *(member.state for member in members)):
            place.lock()
            cleanup.callback(place.unlock)
            place.note_death()
        state.forget_stack()
        keeper = Keeper(clock, patience_seconds=settings.run.frozen_seconds)
        cleanup.push_async_callback(keeper.stop)
        places = {member.name: (member.settings, member.state) for member in members}
        common = await start_common(settings, places, state, keeper)
        _keep_server(common, clock, say, cleanup)
        say(common.durability)
        for member in members:
            await cleanup.enter_async_context(member.cleanup)
            member.stack = await bring_up(
                member.settings, member.state, clock, member.cleanup, _prefixed(say, member), common
            )
        standings = asyncio.create_task(_keep_standings(root, members, clock), name="standings")
        try:
            return await _run_members(members, keeper, quiet=quiet)
        finally:
            await cancel_and_wait(standings)
            _store_standings(root, members)


def _prefixed(say: Say, member: Member) -> Say:
    return lambda text: say(f"{member.name}: {text}")


async def _check_clusters(members: Sequence[Member]) -> None:
    """Read every cluster once, all at the same time.

    Raises:
        ConfigError: of the first that cannot be used.
    """

    async def check(member: Member) -> None:
        try:
            await check_cluster(member.settings)
        except ConfigError as error:
            named = f"{member.name}={error.value}" if error.field == "--kubeconfig" else error.value
            where = "" if error.field == "--kubeconfig" else f"cluster {member.name}: "
            raise ConfigError(error.field, named, f"{where}{error.remedy}") from error

    checks = (check(member) for member in members)
    for problem in await asyncio.gather(*checks, return_exceptions=True):
        if problem is not None:
            raise problem


def _print_early_notes(members: Sequence[Member], *, quiet: bool) -> None:
    """Print once what all of them say: they have the same settings."""
    for note in {early_note(member.settings): None for member in members}:
        if quiet:
            print_error(note)
        else:
            console().print(note, markup=False)


def _keep_server(
    common: CommonServer, clock: Clock, say: Say, cleanup: contextlib.AsyncExitStack
) -> None:
    """Keep the server running and its disk in view until `cleanup`."""

    def on_change(name: str, what: str) -> None:
        if what != "started":
            say(f"{name} {what}")

    common.keeper.keep(on_change, on_change)
    if common.server is not None:
        watch = restart_when_disk_has_room(common.server, clock, on_change)
        cleanup.callback(asyncio.create_task(watch, name="disk-space").cancel)


async def _run_members(members: Sequence[Member], keeper: Keeper, *, quiet: bool) -> dict[str, Any]:
    """Run every cluster to its end; return the summaries.

    Raises:
        InputError: the server was given up, or every cluster ended before its time.
    """
    summaries: dict[str, Any] = {}
    with contextlib.ExitStack() as cleanup:
        printer = None if quiet else BackgroundPrinter()
        failing: set[asyncio.Task[Any]] = {
            asyncio.create_task(keeper.wait_failure(), name="given-up")
        }
        if printer is not None:
            cleanup.callback(printer.close)
            failing.add(asyncio.create_task(printer.wait_broken(), name="printer"))
        running: list[asyncio.Task[None]] = []
        try:
            with stopped_by_signal() as stop:
                running += [
                    asyncio.create_task(_run_member(one, stop, printer, summaries), name=one.name)
                    for one in members
                ]
                everyone = asyncio.gather(*running)
                signalled = asyncio.create_task(stop.wait(), name="signal")
                failing.add(signalled)
                done, _ = await asyncio.wait(
                    {*failing, everyone}, return_when=asyncio.FIRST_COMPLETED
                )
                for task in failing:
                    if task in done:
                        task.result()
            await everyone
        finally:
            await cancel_and_wait(*failing, *running)
    ends = [member.ended for member in members]
    if all(ends):
        raise InputError("--kubeconfig", members[0].name, ends[0])
    return {"clusters": summaries, "status": _status_of(summaries)}


def _status_of(summaries: Mapping[str, Any]) -> str:
    kinds = {summary["status"] for summary in summaries.values()}
    return "interrupted" if "interrupted" in kinds else "complete"


async def _run_member(
    member: Member,
    stop: asyncio.Event,
    printer: BackgroundPrinter | None,
    summaries: dict[str, Any],
) -> None:
    """Run one cluster to its end; what goes wrong there ends it alone."""
    stack = member.stack
    assert stack is not None
    if printer is not None:
        stack.watch.listeners.append(line_printer(_prefixed(printer.print, member)))
    try:
        summaries[member.name] = await run_to_end(stack, _wait_forever(), stop)
    except ForesailError as error:
        member.ended = str(error)
        summaries[member.name] = {"status": "failed", "ended": member.ended}
        print_error(f"{member.name} ended: {error}")
    finally:
        member.over = True
        await member.cleanup.aclose()


async def _wait_forever() -> None:
    await asyncio.Event().wait()


async def _keep_standings(root: Path, members: Sequence[Member], clock: Clock) -> None:
    """Keep `clusters.json` up to date until cancelled."""
    before: dict[str, ClusterStanding] = {}
    while True:
        now = {member.name: member.standing() for member in members}
        if now != before:
            _store_standings(root, members)
            before = now
        await clock.sleep(STANDING_SECONDS)


def _store_standings(root: Path, members: Sequence[Member]) -> None:
    with contextlib.suppress(OSError):  # a full disk must not end the stack
        write_clusters(root, {member.name: member.standing() for member in members})
