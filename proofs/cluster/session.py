"""One session: writers and a reader of the product over a cluster whose servers are broken one by one.

    python -m proofs.cluster.session --kind killed --faults 5 --seed 1

runs on loopback; `python -m proofs cluster` runs it in namespaces.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from bus.errors import BusUnavailable, ForesailError
from bus.nats_adapter import NatsBus
from bus.nats_connection import api_call, connect_client
from bus.streams import StreamDeclaration
from proofs.cluster.network import Network
from proofs.cluster.servers import NAMES, Servers, server_locations
from proofs.cluster.traffic import CLUSTER, Traffic
from proofs.cluster.verdict import SessionFindings, judge
from proofs.faults import silence_bus_log
from proofs.faults.waiting import wait_until

DECLARATION = StreamDeclaration.of(CLUSTER, "i1", max_bytes=256 * 1024**2, replicas=3)
READY_SECONDS = 900.0
RECOVERY_SECONDS = 900.0
SHORT_SECONDS, LONG_SECONDS = (0.2, 2.0), (5.0, 14.0)
"""A server is away for less than an election takes, or for longer than a leader holds out alone."""
SETTLED_EVENTS = 40
"""Events acknowledged after a fault before the next one."""
KINDS = ("killed", "cut off")


class Session:
    """Breaks one server after the other; `run` does all of it."""

    def __init__(self, folder: Path, network: Network | None, seed: int) -> None:
        """Keep the servers' stores in `folder`."""
        self._network = network
        self._servers = Servers(folder, server_locations(network))
        self._rng = random.Random(seed)
        self.found = SessionFindings()

    async def run(self, kind: str, faults: int) -> SessionFindings:
        """Break `faults` servers, one at a time; return the state of the log afterwards."""
        try:
            for name in NAMES:
                await self._servers.start(name)
            await self._declare()
            traffic = await Traffic.begin(self._servers.urls, DECLARATION.name)
            try:
                for number in range(faults):
                    if not await self._break_one(kind, number, traffic):
                        break
                await traffic.stop()
                await judge(traffic, self.found)
            finally:
                await traffic.close()
        except ForesailError as error:
            self.found.problems.append(f"{type(error).__name__}: {error}")
        finally:
            await self._servers.stop()
        return self.found

    async def _declare(self) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while True:
            try:
                await NatsBus.declare(self._servers.urls, DECLARATION)
            except ForesailError:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.5)
            else:
                return

    async def _break_one(self, kind: str, number: int, traffic: Traffic) -> bool:
        """Break one server and repair it; False when the log did not continue."""
        leader = await self._leader()
        followers = [name for name in NAMES if name != leader]
        role = self._rng.choice(("leader", "follower"))
        victim = leader if role == "leader" else self._rng.choice(followers)
        span = self._rng.choice((SHORT_SECONDS, LONG_SECONDS))
        seconds = self._rng.uniform(*span)
        how = await (self._kill if kind == "killed" else self._cut_off)(victim, seconds)
        self.found.faults.append(f"{number + 1}: {role} {victim} {how} for {seconds:.1f} s")
        await traffic.publish_as_rival()
        await traffic.reread()
        before = traffic.acknowledged
        went_on = await wait_until(
            lambda: traffic.acknowledged >= before + SETTLED_EVENTS or traffic.failure,
            RECOVERY_SECONDS,
        )
        whole = went_on and not traffic.failure and await self._wait_until_replicated()
        if not whole:
            why = traffic.failure or ("no replica caught up" if went_on else "nothing is stored")
            self.found.problems.append(f"after fault {self.found.faults[-1]}: {why}")
        return whole

    async def _kill(self, victim: str, seconds: float) -> str:
        await self._servers.kill(victim)
        await asyncio.sleep(seconds)
        await self._servers.start(victim)
        return "killed"

    async def _cut_off(self, victim: str, seconds: float) -> str:
        network = self._network
        assert network is not None, "cutting off needs namespaces"
        if self._rng.random() < 0.5:
            network.unplug(victim)
            await asyncio.sleep(seconds)
            network.plug(victim)
            return "cut off from everybody"
        others = [name for name in NAMES if name != victim]
        network.cut_between(victim, others)
        await asyncio.sleep(seconds)
        network.reconnect(victim, others)
        return "cut off from the other servers"

    async def _wait_until_replicated(self) -> bool:
        """Wait until every replica has caught up with the leader."""
        deadline = time.monotonic() + RECOVERY_SECONDS
        while time.monotonic() < deadline:
            cluster = await self._replica_state()
            replicas = cluster.get("replicas") or []
            current = [
                replica
                for replica in replicas
                if replica.get("current") and not replica.get("offline")
            ]
            if cluster.get("leader") and len(current) == len(NAMES) - 1:
                return True
            await asyncio.sleep(0.25)
        return False

    async def _leader(self) -> str:
        deadline = time.monotonic() + RECOVERY_SECONDS
        while time.monotonic() < deadline:
            leader = (await self._replica_state()).get("leader", "")
            if leader:
                return str(leader)
            await asyncio.sleep(0.25)
        raise BusUnavailable("the log has no leader")

    async def _replica_state(self) -> dict[str, object]:
        """Return the leader's report on its replicas; empty without an answer."""
        try:
            client = await connect_client(self._servers.urls, name="proof", retry=False)
        except ForesailError:
            return {}
        try:
            answer = await api_call(client, f"STREAM.INFO.{DECLARATION.name}", {})
        except ForesailError:
            return {}
        finally:
            await client.close()
        replicas: dict[str, object] = answer.get("cluster") or {}
        return replicas


def main(arguments: Sequence[str]) -> int:
    """Run one session; say what was done and what was wrong."""
    parser = argparse.ArgumentParser(prog="python -m proofs.cluster.session", description=__doc__)
    parser.add_argument("--kind", choices=KINDS, default=KINDS[0])
    parser.add_argument("--faults", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where servers keep their stores")
    parser.add_argument("--network", help="namespaces that `python -m proofs cluster` has made")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args(arguments)
    if options.kind == "cut off" and not options.network:
        sys.stderr.write(
            "error: --kind = 'cut off': run `python -m proofs cluster`, it makes namespaces\n"
        )
        return 2
    silence_bus_log()
    network = Network.from_names(options.network, len(NAMES)) if options.network else None
    with TemporaryDirectory(prefix="foresail-r3-", ignore_cleanup_errors=True) as temporary:
        session = Session(options.folder or Path(temporary), network, options.seed)
        found = asyncio.run(session.run(options.kind, options.faults))
    if options.json:
        sys.stdout.write(json.dumps(asdict(found)) + "\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in (*found.faults, *found.problems))
        sys.stdout.write(f"{found.acknowledged} acknowledged, {found.read} read live\n")
    return 1 if found.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
