"""Where a replay is played: on a server of its own, or beside a running stack without touching it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import aclosing
from pathlib import Path

import httpx
import pytest

from bus.clock import SystemClock
from bus.errors import JetStreamMissing, NotPermitted, StreamMissing
from bus.logins import new_logins, store_logins
from bus.nats_adapter import NatsBus
from bus.nats_conf import accounts_conf
from bus.nats_server import NatsServer
from bus.port import Message
from bus.recording import open_recording
from bus.streams import StreamDeclaration
from foresail.__main__ import main
from foresail.log_source import connect
from foresail.replay.player import Player
from foresail.replay.stage import ReplayTarget, _declare, _Server, open_stage
from foresail.replay_place import FOLDER, replay_beside, replay_position
from foresail.stack.state_folder import StackFile, StateFolder
from services.identities import IDENTITIES

pytestmark = pytest.mark.nats
DECISION = "foresail.{}.decision"


def test_a_replay_needs_no_stack(
    run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The verb plays a whole file on a server of its own; afterwards other verbs read that log."""
    state = str(tmp_path / "state")
    given = ["replay", str(run_file), "--speed", "max", "--no-stay", "--no-dashboard", "--json"]
    assert 0 == main([*given, "--state", state])
    content = json.loads(capsys.readouterr().out)
    assert 0 == main(["explain", "last", "--state", f"{state}/replay", "--json"])
    explained = json.loads(capsys.readouterr().out)

    assert content["complete"]
    assert "replay-run" == content["cluster"]
    assert len(list(open_recording(run_file))) == content["messages"]
    assert explained


@pytest.mark.parametrize(("reloaded", "calls"), [(True, 3), (False, 1)])
async def test_a_replay_waits_for_a_server_that_takes_other_accounts(
    reloaded: bool, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a moment it is without JetStream; one that was not touched and has none is an error at once."""
    tries: list[str] = []

    async def remove(url: str, *_: object, **__: object) -> None:
        tries.append(url)
        if len(tries) < 3:
            raise JetStreamMissing("no JetStream yet")

    async def declare(*_: object, **__: object) -> None:
        tries.append("declared")

    monkeypatch.setattr(NatsBus, "remove", remove)
    monkeypatch.setattr(NatsBus, "declare", declare)
    logins = new_logins(IDENTITIES)
    server = _Server("nats://127.0.0.1:1", logins, "a server", beside=True, reloaded=reloaded)
    declaration = StreamDeclaration.of("replay-run", FOLDER, max_age_seconds=0.0)
    if reloaded:
        await _declare(server, declaration, SystemClock())
        assert "declared" == tries.pop()
    else:
        with pytest.raises(JetStreamMissing):
            await _declare(server, declaration, SystemClock())
    assert calls == len(tries)


async def test_a_replay_says_how_far_it_is_and_how_it_ends(run_file: Path, tmp_path: Path) -> None:
    """In words on the terminal, in `status`, and on its page; paused at first, then at its end."""
    given = ["replay", str(run_file), "--pause", "--speed", "max", "--state", str(tmp_path)]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "foresail", *given,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        first = [(await process.stdout.readline()).decode() for _ in range(5)]
        assert "until q or Ctrl-C" in next(line for line in first if line.startswith("end:"))
        url = next(line.split()[1] for line in first if line.startswith("dashboard:"))
        assert "of run.fslog: seq 0 of" in await _status(tmp_path)
        assert "paused" in await _status(tmp_path)
        beside = replay_beside(StateFolder(tmp_path))
        assert beside is not None
        assert "a replay of run.fslog runs beside it" in beside["text"]

        process.stdin.write(b"p")
        await process.stdin.drain()
        assert "at its end" in (await process.stdout.readline()).decode()
        assert "at its end" in await _status(tmp_path)
        async with httpx.AsyncClient(base_url=url) as client:
            head = (await client.get("/api/state")).json()["sections"]["head"]
        assert head["replay"].endswith("at its end")
        process.stdin.write(b"q")
        await process.stdin.drain()
        output = (await process.communicate())[0].decode()
        assert "messages replayed, to its end" in output
        assert 0 == process.returncode
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _status(folder: Path) -> str:
    """Return what `status` says of the replay."""
    state = StateFolder(folder / FOLDER)
    stack = state.read()
    async with connect(stack, state) as bus:
        found = await replay_position(bus, stack)
    assert found is not None
    return str(found["text"])


async def test_the_dashboard_shows_a_replay(run_file: Path, tmp_path: Path) -> None:
    """The dashboard over a replay shows its newest cycle, as over a live cluster."""
    clock = SystemClock()
    async with open_stage(ReplayTarget(tmp_path, "x", "virtual"), clock) as stage:
        await Player(stage.bus, "replay-x", clock, speed=None).play(open_recording(run_file), 0)
        async with httpx.AsyncClient(base_url=stage.stack.dashboard_url) as client:
            while (state := (await client.get("/api/state")).json())["seq"] < 500:
                await asyncio.sleep(0.02)
    assert "replay-x" in json.dumps(state["sections"])


async def test_beside_a_stack_nothing_is_disturbed(run_file: Path, tmp_path: Path) -> None:
    """On the stack's server the replay gets a log of its own: connections stay, nobody else
    publishes there, the replayer nowhere else, and at the end the log is gone.
    """
    logins, stream = new_logins(IDENTITIES), StreamDeclaration.of("live", "i1")
    state = StateFolder(tmp_path)
    state.lock()
    folder = state.incarnation(state.new_incarnation())
    store_logins(logins, folder)
    server = NatsServer(folder / "nats", accounts=accounts_conf("live", stream.name, logins))
    url = await server.start()
    await NatsBus.declare(url, stream, login=logins["bootstrap"])
    state.write(StackFile("live", "i1", stream.name, url, embedded=True, pid=os.getpid()))

    async def connect(identity: str, cluster: str = "live") -> NatsBus:
        name = stream.name if cluster == "live" else "FORESAIL_replay-x_replay"
        return await NatsBus.connect(url, cluster=cluster, stream=name, login=logins[identity])

    referee, reader = await connect("referee"), await connect("reader")
    clock = SystemClock()
    async with open_stage(
        ReplayTarget(tmp_path, "x", "virtual", dashboard_port=None), clock
    ) as stage:
        await Player(stage.bus, "replay-x", clock, speed=None).play(open_recording(run_file), 0)
        async with aclosing(reader.read([DECISION.format("live")])) as live:
            await referee.publish([Message(DECISION.format("live"), {"Nats-Msg-Id": "1"}, b"{}")])
            assert 1 == (await anext(live)).seq
        looker = await connect("reader", "replay-x")
        assert (await looker.info()).last_seq == (await stage.bus.info()).last_seq > 500
        await looker.close()
        tries = [
            bus.publish([Message(DECISION.format(cluster), {"Nats-Msg-Id": "2"}, b"{}")])
            for bus, cluster in ((referee, "replay-x"), (stage.bus, "live"))
        ]
        refused = await asyncio.gather(*tries, return_exceptions=True)
        assert [NotPermitted, NotPermitted] == [type(one) for one in refused]
    assert 0 == referee.link().losses == reader.link().losses
    bootstrap = NatsBus.connect(
        url, cluster="x", stream="FORESAIL_replay-x_replay", login=logins["bootstrap"]
    )
    with pytest.raises(StreamMissing):
        await bootstrap
    for bus in (referee, reader):
        await bus.close()
    state.unlock()
    await server.stop()
