"""Every permission and every refusal of every identity, tried on a real server.

A permission holds when it has its effect. A refusal holds when the server says so and nothing of it
arrives in the account of the log; where the server cannot say so (a reply subject, a header), it
holds when nothing arrives and nothing is stored.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from bus.identities import Identity
from bus.login import IMPORTED_API, Login
from bus.nats_wire import EXPECTED
from proofs.identities import attacks
from proofs.identities.attacks import CLUSTER, LOG
from proofs.identities.environment import WAIT_SECONDS, Environment, connect, flush
from schemas import subjects
from services.identities import BY_NAME, IDENTITIES

Kind = Literal["permission", "refusal"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was tried."""

    identity: str
    kind: Kind
    group: str
    what: str
    held: bool


async def all_checks(ground: Environment) -> AsyncIterator[Check]:
    """Try every request as every identity; permissions last, so that no refusal is due to an empty log."""
    for identity in IDENTITIES:
        before = await ground.state()
        for check in await refused_publishes(ground, identity):
            yield check
        for check in await refused_subscriptions(ground, identity):
            yield check
        unchanged = await ground.state() == before
        yield Check(identity.name, "refusal", "streams and consumers as before", "", unchanged)
        for check in await refused_headers(ground, identity):
            yield check
        for check in await injected_replies(ground, identity):
            yield check
        for check in await wrong_passwords(ground, identity):
            yield check
    for identity in IDENTITIES:
        async for check in permissions(ground, identity):
            yield check


async def refused_publishes(ground: Environment, identity: Identity) -> list[Check]:
    """Publish on every subject of another identity."""
    caller = ground.callers[identity.name]
    attempts = list(attacks.publishes(identity))
    ground.seen.clear()
    for attempt in attempts:
        await caller.client.publish(attempt.subject, attempt.body)
    await flush(caller.client)
    await ground.settle()
    return [
        Check(
            identity.name,
            "refusal",
            attempt.group,
            attempt.subject,
            caller.was_refused("publish", attempt.subject)
            and (attempt.subject, attempt.body) not in ground.seen,
        )
        for attempt in attempts
    ]


async def refused_subscriptions(ground: Environment, identity: Identity) -> list[Check]:
    """Listen where it must not."""
    caller = ground.callers[identity.name]
    attempted = list(attacks.subscriptions(identity))
    for subject in attempted:
        await caller.client.subscribe(subject)
    await flush(caller.client)
    return [
        Check(
            identity.name,
            "refusal",
            "listening elsewhere",
            subject,
            caller.was_refused("subscription", subject),
        )
        for subject in attempted
    ]


async def refused_headers(ground: Environment, identity: Identity) -> list[Check]:
    """Publish on its own subjects with headers that would reach further."""
    own = identity.subjects(CLUSTER)
    if not own:
        return []
    client, checks = ground.callers[identity.name].client, []
    before = await ground.state()
    for what, headers in attacks.headers():
        answer = await _ask(client, own[0], b"{}", dict(headers))
        checks.append(Check(identity.name, "refusal", "a header", what, "error" in answer))
    trace = {"Nats-Trace-Dest": f"foresail.{CLUSTER}.x"}
    ground.seen.clear()
    await client.publish(own[0], b"{}", headers={**trace, "Nats-Trace-Only": "true"})
    batch = {"Nats-Batch-Id": f"stolen-{identity.name}", "Nats-Batch-Sequence": "1"}
    await client.publish(own[0], b"{}", headers=batch)
    foreign = next(subject for subject in attacks.every_subject() if subject not in own)
    last = {**batch, "Nats-Batch-Sequence": "2", "Nats-Batch-Commit": "1"}
    await client.publish(foreign, b"{}", headers=last)
    await flush(client)
    await ground.settle()
    held = not ground.has_arrived(trace["Nats-Trace-Dest"])
    checks.append(Check(identity.name, "refusal", "a header", "a trace sent to a subject", held))
    held = await ground.state() == before
    checks.append(Check(identity.name, "refusal", "a batch with another's subject", foreign, held))
    return checks


async def injected_replies(ground: Environment, identity: Identity) -> list[Check]:
    """Name a reply subject that is not its own in every request it may make."""
    client, checks = ground.callers[identity.name].client, []
    targets = list(attacks.reply_targets(identity))
    for request, body in attacks.requests(identity):
        ground.seen.clear()
        for target in targets:
            await client.publish(request, body, reply=target)
        await flush(client)
        await ground.settle()
        arrived = {subject for subject, _ in ground.seen}
        what = f"{request.removesuffix(LOG.name)} {body.decode()}"
        for target in targets:
            held = target not in arrived
            checks.append(
                Check(identity.name, "refusal", "an injected reply", f"{what} to {target}", held)
            )
    names = (await ground.state())[0]
    held = names == [LOG.name, attacks.OTHER]
    checks.append(Check(identity.name, "refusal", "an injected reply", "streams as before", held))
    return checks


async def wrong_passwords(ground: Environment, identity: Identity) -> list[Check]:
    """Log in with no password, a wrong one, or another identity's."""
    other = next(candidate for candidate in IDENTITIES if candidate is not identity)
    tries: dict[str, Any] = {
        "no password": "",
        "a wrong one": "x" * 32,
        "another's": ground.logins[other.name].password,
    }
    checks = []
    for what, password in tries.items():
        refused = not await _accepts_login(ground.url, Login(identity.name, password))
        checks.append(Check(identity.name, "refusal", "a login", what, refused))
    return checks


async def permissions(ground: Environment, identity: Identity) -> AsyncIterator[Check]:
    """Do everything that the identity may do, and look for the effect."""
    for what, held in [result async for result in _may_publish(ground, identity)]:
        yield Check(identity.name, "permission", "publish", what, held)
    if identity.reads:
        for what, held in [result async for result in _may_read(ground, identity)]:
            yield Check(identity.name, "permission", "read", what, held)
    if identity.sends_heartbeats:
        yield Check(
            identity.name,
            "permission",
            "heartbeat",
            "is heard",
            await _heartbeats(ground, identity),
        )
    if identity.administers:
        for what, held in [result async for result in _may_administer(ground, identity)]:
            yield Check(identity.name, "permission", "administer", what, held)


async def _may_publish(ground: Environment, identity: Identity) -> AsyncIterator[tuple[str, bool]]:
    client = ground.callers[identity.name].client
    own = identity.subjects(CLUSTER)
    for subject in own:
        yield subject, "seq" in await _ask(client, subject, b"{}")
        refused = await _ask(client, subject, b"{}", {EXPECTED: "0"})
        yield f"{subject}, expectation checked", refused.get("error", {}).get("err_code") == 10071
    if len(own) > 1:
        batch = {"Nats-Batch-Id": f"own-{identity.name}"}
        for number, subject in enumerate(own[:-1], start=1):
            headers = {**batch, "Nats-Batch-Sequence": str(number)}
            await client.publish(subject, b"{}", headers=headers)
        commit = {**batch, "Nats-Batch-Sequence": str(len(own)), "Nats-Batch-Commit": "1"}
        answer = await _ask(client, own[-1], b"{}", commit)
        yield "one atomic batch of all", answer.get("count") == len(own)


async def _may_read(ground: Environment, identity: Identity) -> AsyncIterator[tuple[str, bool]]:
    client = ground.callers[identity.name].client
    info = await _ask(client, f"{IMPORTED_API}.STREAM.INFO.{LOG.name}", b"{}")
    yield "the log's state", info["config"]["name"] == LOG.name
    get = f"{IMPORTED_API}.DIRECT.GET.{LOG.name}"
    control = f"foresail.{CLUSTER}.control"
    newest = await client.request(f"{get}.{control}", timeout=WAIT_SECONDS)
    yield "the newest event of a subject", (newest.headers or {}).get("Nats-Subject") == control
    inbox = await client.subscribe(client.new_inbox())
    wish = {"seq": 1, "batch": 2, "next_by_subj": f"foresail.{CLUSTER}.>"}
    await client.publish(get, json.dumps(wish).encode(), reply=inbox.subject)
    statuses = [(await inbox.next_msg(WAIT_SECONDS)).headers or {} for _ in range(3)]
    yield "history in batches", [status.get("Status") for status in statuses] == [None, None, "204"]
    feed = await client.subscribe(subjects.live(f"foresail.{CLUSTER}.>"))
    await flush(client)
    await ground.witness.request(control, identity.name.encode(), timeout=WAIT_SECONDS)
    yield "the live feed", (await feed.next_msg(WAIT_SECONDS)).data == identity.name.encode()
    await feed.unsubscribe()


async def _heartbeats(ground: Environment, identity: Identity) -> bool:
    listener = next(identity.name for identity in IDENTITIES if identity.receives_heartbeats)
    received: asyncio.Queue[Msg] = asyncio.Queue()
    subscription = await ground.callers[listener].client.subscribe(
        subjects.health(CLUSTER, "*"), cb=received.put
    )
    await flush(ground.callers[listener].client)
    subject = subjects.health(CLUSTER, identity.name)
    await ground.callers[identity.name].client.publish(subject, b"alive")
    message = await asyncio.wait_for(received.get(), WAIT_SECONDS)
    await subscription.unsubscribe()
    return (message.subject, message.data) == (subject, b"alive")


async def _may_administer(
    ground: Environment, identity: Identity
) -> AsyncIterator[tuple[str, bool]]:
    client = ground.callers[identity.name].client
    config = {"name": "MADE", "subjects": ["made.>"]}
    for call, body in (
        ("STREAM.CREATE.MADE", config),
        ("STREAM.UPDATE.MADE", {**config, "description": "changed"}),
        (f"CONSUMER.CREATE.{LOG.name}", {"stream_name": LOG.name, "config": {}}),
        ("STREAM.DELETE.MADE", {}),
    ):
        answer = await _ask(client, f"$JS.API.{call}", json.dumps(body).encode())
        yield call.split(".")[0] + " " + call.split(".")[1], "error" not in answer


async def insider_injections(ground: Environment) -> int:
    """Return how many injected replies succeed for a user with one harmless right inside the log's
    own account: this shows that the harness detects them, and that accounts are what prevents
    them.
    """
    caller = await connect(ground.url, Login("insider", "insider", inbox_prefix="_INBOX_insider"))
    targets = [*attacks.every_subject(), attacks.OTHER_SUBJECT]
    ground.seen.clear()
    for target in targets:
        await caller.client.publish(f"$JS.API.STREAM.INFO.{LOG.name}", b"{}", reply=target)
    await flush(caller.client)
    await ground.settle()
    await caller.client.close()
    return sum(map(ground.has_arrived, targets))


async def anonymous_is_reader(ground: Environment) -> bool:
    """Say whether a client that gives no name can listen to the live feed and write nothing."""
    caller = await connect(ground.url, Login())
    feed = await caller.client.subscribe(subjects.live("foresail.>"))
    decision = BY_NAME["referee"].subjects(CLUSTER)[0]
    ground.seen.clear()
    await caller.client.publish(decision, b"{}")
    await flush(caller.client)
    await ground.witness.request(f"foresail.{CLUSTER}.control", b"{}", timeout=WAIT_SECONDS)
    message = await feed.next_msg(WAIT_SECONDS)
    await caller.client.close()
    live = subjects.live(f"foresail.{CLUSTER}.control")
    return message.subject == live and caller.was_refused("publish", decision)


async def _ask(
    client: Client, subject: str, data: bytes, headers: dict[str, str] | None = None
) -> dict[str, Any]:
    reply = await client.request(subject, data, timeout=WAIT_SECONDS, headers=headers)
    answer: dict[str, Any] = json.loads(reply.data)
    return answer


async def _accepts_login(url: str, login: Login) -> bool:
    try:
        caller = await asyncio.wait_for(connect(url, login), WAIT_SECONDS)
    except (NatsError, TimeoutError, OSError):
        return False
    await caller.client.close()
    return True


def failures(checks: list[Check]) -> Iterator[str]:
    """Yield what did not hold, in words."""
    for check in checks:
        if not check.held:
            yield f"{check.identity}: {check.kind} {check.group}: {check.what}"
