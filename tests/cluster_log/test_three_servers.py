"""A log kept by three real servers, small; `make prove PARTS=cluster` does it at full size."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from bus.port import StoredMessage
from bus.streams import StreamDeclaration
from foresail.settings import resolve
from proofs import cluster
from proofs.cluster.network import Network, may_network
from proofs.cluster.traffic import SUBJECTS, Acknowledged, message
from proofs.cluster.verdict import broken_promises
from schemas.envelope import MESSAGE_ID

needs_namespaces = pytest.mark.skipif(
    not may_network(), reason="network namespaces need root and ip"
)
Log = list[StoredMessage]
Acks = list[Acknowledged]
Case = Callable[[Log, Acks, Log], tuple[Log, Acks, Log]]


@pytest.mark.slow
@pytest.mark.nats
@pytest.mark.parametrize(
    "kind", ["killed", pytest.param("cut off", marks=needs_namespaces)], ids=["killed", "cut-off"]
)
def test_nothing_acknowledged_is_lost(kind: str) -> None:
    """Two servers, one after the other, are killed or cut off and come back: everything that was
    acknowledged is stored once, where it was acknowledged, and the stale writer is refused each time.
    """
    result = cluster.session(kind, 2, seed=2)

    assert [] == result["problems"]
    assert 2 == len(result["faults"]) == result["rivals"]
    assert result["acknowledged"] > 80


CONNECT = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 9), timeout=1)
except ConnectionRefusedError:
    sys.exit(0)  # somebody is there to refuse
except OSError:
    sys.exit(1)
"""


def reaches(network: Network, member: str, other: str) -> bool:
    """Say whether one member's packets reach another."""
    command = [
        *network.command_prefix(member),
        sys.executable,
        "-c",
        CONNECT,
        network.address(other),
    ]
    return subprocess.run(command, check=False).returncode == 0


def namespaces() -> str:
    """Return the machine's network namespaces."""
    return subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout


@needs_namespaces
def test_what_is_cut_off_is_cut_off() -> None:
    """A member is cut off from one other, or from everybody, and reaches them again afterwards."""
    with Network.create(3) as network:
        before = reaches(network, "n1", "n2")
        network.cut_between("n1", ["n2"])
        apart = (reaches(network, "n1", "n2"), reaches(network, "client", "n1"))
        network.reconnect("n1", ["n2"])
        network.unplug("n1")
        alone = reaches(network, "client", "n1")
        network.plug("n1")
        after = (reaches(network, "n1", "n2"), reaches(network, "client", "n1"))

    assert (True, (False, True), False, (True, True)) == (before, apart, alone, after)


@needs_namespaces
def test_namespaces_are_removed_even_after_a_failure() -> None:
    """What goes wrong inside leaves nothing behind."""
    seen: list[str] = []

    def fail() -> None:
        with Network.create(3) as network:
            seen.extend((network.name, namespaces()))
            raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        fail()

    assert seen[0] in seen[1]
    assert seen[0] not in namespaces()


def a_log() -> tuple[Log, Acks, Log]:
    """Return a small log as it should be: what is stored, acknowledged and read."""
    names = ("before", "0", "1", "2")
    sent = [message(subject, name) for name in names for subject in SUBJECTS]
    log = [
        StoredMessage(seq, seq, message.subject, dict(message.headers), message.data)
        for seq, message in enumerate(sent, start=1)
    ]
    return (
        log,
        [(message.subject, message.headers[MESSAGE_ID], message.seq) for message in log],
        list(log),
    )


def renumber(log: Sequence[StoredMessage]) -> Log:
    """Return messages at contiguous positions."""
    return [replace(one, seq=seq) for seq, one in enumerate(log, start=1)]


def put(log: Log, subject: str, name: str) -> Log:
    """Return the log with one more message at its end."""
    one = message(subject, name)
    return [*log, StoredMessage(len(log) + 1, 1, subject, dict(one.headers), one.data)]


CASES: dict[str, Case] = {
    "not where they were": lambda log, acks, seen: (log[:-1], acks, seen[:-1]),
    "more than once": lambda log, acks, seen: (put(log, SUBJECTS[0], "2"), acks, seen),
    "holes": lambda log, acks, seen: ([*log[:4], *log[5:]], [*acks[:4], *acks[5:]], seen[:4]),
    "not what its one writer": lambda log, acks, seen: (put(log, SUBJECTS[0], "rival"), acks, seen),
    "the reader saw": lambda log, acks, seen: (log, acks, [*seen[:3], *seen[4:]]),
}


@pytest.mark.parametrize("problem", CASES)
def test_the_verdict_notices(problem: str) -> None:
    """A lost, doubled, moved or foreign event, a hole and a wrong reader are each found; a good log
    passes.
    """
    assert [] == broken_promises(*a_log())
    assert any(problem in line for line in broken_promises(*CASES[problem](*a_log())))


def test_replicas_are_a_setting_of_the_log() -> None:
    """Three replicas reach the server's configuration; the embedded server cannot have them."""
    declared = StreamDeclaration.of("c", "i1", replicas=3).config()

    assert 3 == declared["num_replicas"]
    assert 1 == StreamDeclaration.of("c", "i1").config()["num_replicas"]
    given = {"nats.replicas": 3, "nats.url": "nats://a:4222,nats://b:4222"}
    assert 3 == resolve(None, {}, given).nats.replicas
    with pytest.raises(Exception, match="replicas above 1 need url"):
        resolve(None, {}, {"nats.replicas": 3})
