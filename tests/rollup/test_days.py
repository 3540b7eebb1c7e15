"""Days that are summed up say what the whole log says, at whatever moment the process that does it ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bus.events import event_of
from bus.nats_adapter import NatsBus
from bus.nats_server import NatsServer
from bus.port import Message
from bus.recording import open_recording
from bus.streams import StreamDeclaration
from foresail.__main__ import main
from foresail.report import as_json
from foresail.settings import resolve
from foresail.stack.log_server import carry_days
from foresail.stack.virtual import run_virtual_stack
from projections.activity import Activity
from projections.activity_days import OTHERS, Days, activity_of, day_event, merge
from schemas.envelope import Event
from schemas.outcome import OutcomeVerification
from schemas.rollup import RollupDay, days_cluster
from services.rollup.service import stored_days

CLUSTER = "twin"


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the recording of a run over midnight in which much is decided, refused and verified."""
    path = tmp_path_factory.mktemp("run") / "run.fslog"
    given: dict[str, Any] = {
        "run.virtual_time": True,
        "run.for_seconds": 300.0,
        "run.nodes": 6,
        "run.exercise": True,
        "run.start_time": "2026-01-01T23:57:00Z",
        "run.speed": 1.0,
        "run.record": str(path),
    }
    run_virtual_stack(resolve(None, {}, given), quiet=True)
    return path


@pytest.fixture(scope="module")
def events(run_file: Path) -> list[tuple[int, Event[Any]]]:
    """Return the events of that run that a report counts."""
    reads = ("decision", "outcome", "reaction")
    return [
        (message.seq, event_of(message))
        for message in open_recording(run_file)
        if message.subject.split(".")[2] in reads
    ]


def plain(events: list[tuple[int, Event[Any]]]) -> dict[str, Any]:
    """Return what a report of the events says."""
    activity = Activity()
    for _, event in events:
        activity.add(event)
    return rounded(activity)


def rounded(activity: Activity) -> dict[str, Any]:
    """Return a report's figures; sums of fractions to the digits that an event keeps."""
    found: dict[str, Any] = json.loads(
        json.dumps(as_json(activity)), parse_float=lambda text: round(float(text), 4)
    )
    return found


def as_stored(days: Days, incarnation: str = "i1") -> list[RollupDay]:
    """Return the days as they come back from the log."""
    return [
        RollupDay.read(
            day_event(
                one, day, cluster=CLUSTER, incarnation=incarnation, last_seq=days.last_seqs[day]
            )
            .model_dump_json()
            .encode()
        )
        for day, one in sorted(days.days.items())
    ]


def total(stored: list[RollupDay]) -> dict[str, Any]:
    """Return what a report of stored days says."""
    activity = Activity()
    for data in stored:
        merge(activity, activity_of(data))
    return rounded(activity)


def test_days_together_say_what_the_log_says(events: list[tuple[int, Event[Any]]]) -> None:
    """Two days, stored and read back, sum up to the report of the whole, executions over midnight included."""
    days = Days()
    for seq, event in events:
        days.add(event, seq)
    stored = as_stored(days)

    assert [one.day for one in stored] == ["2026-01-01", "2026-01-02"]
    assert all(one.cycles for one in stored)
    expected = plain(events)
    assert sum(row["verified"] for row in expected["actions"].values()) > 0
    assert total(stored) == expected


def test_what_was_done_before_midnight_is_verified_after_it(
    events: list[tuple[int, Event[Any]]],
) -> None:
    """The day after knows what the day before began: the sums count the verification under its action."""
    first = next(seq for seq, event in events if isinstance(event.data, OutcomeVerification))
    over_midnight = [
        (seq, replace(event, time=f"2026-01-0{1 + (seq >= first)}T12:00:00.000000Z"))
        for seq, event in events
    ]
    days = Days()
    for seq, event in over_midnight:
        days.add(event, seq)
    expected = plain(over_midnight)
    assert sum(row["verified"] + row["worse"] for row in expected["actions"].values()) > 0
    assert total(as_stored(days)) == expected


@pytest.mark.parametrize("share", [0.1, 0.35, 0.5, 0.62, 0.9])
def test_it_goes_on_from_what_is_stored(events: list[tuple[int, Event[Any]]], share: float) -> None:
    """Stored at some moment, read back and given the whole log again, days count nothing twice and miss nothing."""
    before, again = Days(), Days()
    for seq, event in events[: int(share * len(events))]:
        before.add(event, seq)
    for data in as_stored(before):
        again.restore(data, "i1")
    for seq, event in events:
        again.add(event, seq)
    assert total(as_stored(again)) == plain(events)


def test_another_start_of_the_day_is_added(events: list[tuple[int, Event[Any]]]) -> None:
    """Its positions begin anew: the day holds both."""
    first, second = Days(), Days()
    for seq, event in events:
        first.add(event, seq)
    for data in as_stored(first, "i1"):
        second.restore(data, "i2")
    for seq, event in events:
        second.add(event, seq)
    once, twice = plain(events), total(as_stored(second, "i2"))
    assert twice["days"]["2026-01-01"]["cycles"] == 2 * once["days"]["2026-01-01"]["cycles"]
    assert {label: row["decided"] for label, row in twice["actions"].items()} == {
        label: 2 * row["decided"] for label, row in once["actions"].items()
    }


def test_a_day_names_the_objects_that_were_written_most() -> None:
    """Of ten thousand objects an event names two thousand and counts the rest; it stays below a message's limit."""
    activity = Activity(first_time=0.0, last_time=1.0)
    for number in range(10_000):
        activity.touched.setdefault("pods", Counter())[
            f"a-namespace-of-some-length/a-pod-of-some-workload-{number:05d}"
        ] = 2 if number < 500 else 1
    data = day_event(activity, "2026-01-01", cluster="c", incarnation="i", last_seq=1)
    (touched,) = data.touched
    assert len(data.model_dump_json()) < 1024**2 / 2
    assert (len(touched.names), touched.writes[0], touched.others) == (2000, 2, 8000)
    back = activity_of(data).touched["pods"]
    assert back.total() == 10_500
    assert back[OTHERS] == 8000


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[NatsServer]:
    """Return a server that runs."""
    one = NatsServer(tmp_path / "nats")
    await one.start()
    yield one
    await one.stop()


async def start_rollup(url: str, output: Path) -> asyncio.subprocess.Process:
    """Start the process that sums up days, as `foresail up` does."""
    environment = {
        "FORESAIL_CLUSTER": CLUSTER,
        "FORESAIL_INCARNATION": "i1",
        "FORESAIL_STREAM": StreamDeclaration.of(CLUSTER, "i1").name,
        "FORESAIL_NATS_URL": url,
        "FORESAIL_SETTINGS": json.dumps({"update_seconds": 0.3}),
    }
    with output.open("ab") as log:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "services.rollup"),
            env={**os.environ, **environment},
            stdout=log,
            stderr=log,
        )


async def sum_up_with_a_kill(url: str, bus: NatsBus, run_file: Path, output: Path) -> list[str]:
    """Store a run and have it summed up by a process that is killed in the middle; return the days' subjects."""
    days = StreamDeclaration.of_days(CLUSTER).name
    days_bus = await NatsBus.connect(url, cluster=days_cluster(CLUSTER), stream=days)
    messages = [Message(one.subject, one.headers, one.data) for one in open_recording(run_file)]

    async def counted(last_seq: int) -> None:
        async with asyncio.timeout(120):
            while True:
                stored = await stored_days(days_bus, CLUSTER)
                if max([one.last_seq for one in stored] or [0]) >= last_seq:
                    return
                await asyncio.sleep(0.1)

    try:
        half = len(messages) // 2
        for message in messages[:half]:
            await bus.publish([message])
        process = await start_rollup(url, output)
        await counted(half - 60)
        process.kill()
        await process.wait()
        for message in messages[half:]:
            await bus.publish([message])
        process = await start_rollup(url, output)
        await counted(len(messages) - 60)
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
        return sorted([one.subject async for one in days_bus.history(["foresail.days-twin.>"])])
    finally:
        await days_bus.close()


@pytest.mark.nats
@pytest.mark.timeout(300)
async def test_a_report_reaches_behind_the_log(
    server: NatsServer, run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The process is killed in the middle; afterwards the log gives up its beginning: the report still holds all."""
    main_log, url = StreamDeclaration.of(CLUSTER, "i1"), server.url
    for declaration in (main_log, StreamDeclaration.of_days(CLUSTER)):
        await NatsBus.declare(url, declaration)
    bus = await NatsBus.connect(url, cluster=CLUSTER, stream=main_log.name)
    try:
        subjects = await sum_up_with_a_kill(url, bus, run_file, tmp_path / "rollup.log")
        await NatsBus.declare(url, StreamDeclaration.of(CLUSTER, "i1", max_bytes=200_000))
        info = await bus.info()
        assert info.first_seq > info.last_seq // 3
    finally:
        await bus.close()
    assert subjects == [
        "foresail.days-twin.rollup.day.2026-01-01",
        "foresail.days-twin.rollup.day.2026-01-02",
    ]
    remote = ("--nats-url", url, "--cluster", CLUSTER, "--incarnation", "i1")
    reports = []
    for arguments in (remote, ("--recording", str(run_file))):
        capsys.readouterr()
        assert await asyncio.to_thread(main, ["report", "--json", *arguments]) == 0
        text = capsys.readouterr().out
        reports.append(json.loads(text, parse_float=lambda one: round(float(one), 4)))
    assert reports[0] == reports[1]


@pytest.mark.nats
async def test_days_go_over_to_the_next_start(tmp_path: Path) -> None:
    """Each start has a server folder of its own; the newest roll-ups before it come along, whole."""
    days = StreamDeclaration.of_days(CLUSTER)
    for number in (1, 2, 10):
        folder = tmp_path / f"i{number}"
        folder.mkdir()
        if number != 1:
            carry_days(CLUSTER, folder)
        accounts = (
            'accounts { "MAIN" { jetstream: enabled, users: [ {user: a, password: b} ] } }\n'
            "no_auth_user: a\n"
        )
        server = NatsServer(folder / "nats", accounts=accounts)
        url = await server.start()
        await NatsBus.declare(url, days)
        bus = await NatsBus.connect(url, cluster=days_cluster(CLUSTER), stream=days.name)
        subject = f"foresail.days-twin.rollup.day.2026-01-{number:02d}"
        await bus.publish([Message(subject, {"Nats-Msg-Id": subject, "ce-id": subject}, b"{}")])
        found = [one.subject[-2:] async for one in bus.history(["foresail.days-twin.>"])]
        await bus.close()
        await server.stop()
    assert found == ["01", "02", "10"]
