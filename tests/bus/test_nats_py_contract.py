"""What `LightClient` relies on inside nats-py, which promises none of it.

A new nats-py enters by raising the cap in pyproject.toml; then these tests say what it changed.
"""

from __future__ import annotations

import ast
import inspect
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from nats.aio.client import Client
from nats.aio.subscription import Subscription
from packaging.requirements import Requirement

from bus.nats_client import LightClient
from bus.nats_connection import connect_client
from bus.nats_server import NatsServer
from tests.patience import HANGS_SECONDS

ROOT = Path(__file__).parents[2]


def _own_names() -> set[str]:
    """Return the private attributes that LightClient's own `__init__` makes."""
    begin = next(
        node
        for node in _class_tree().body
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    )
    return {
        node.attr
        for node in ast.walk(begin)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }


def _class_tree() -> ast.ClassDef:
    tree = ast.parse(inspect.getsource(LightClient))
    assert isinstance(tree.body[0], ast.ClassDef)
    return tree.body[0]


def _private_names_used() -> set[str]:
    """Return the private attributes of `self` and `super()` that LightClient's source names."""
    return {
        node.attr
        for node in ast.walk(_class_tree())
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
    }


OVERRIDDEN = sorted(
    name
    for name in vars(LightClient)
    if name.startswith("_") and not name.startswith("__") and callable(getattr(LightClient, name))
)


def test_the_cap_lets_no_untried_version_in() -> None:
    """Releases behind the pinned minor version are refused until somebody has raised the cap."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    nats = next(
        wanted for wanted in map(Requirement, project["dependencies"]) if wanted.name == "nats-py"
    )
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pinned = next(
        line.split("==")[1].split()[0] for line in lock.splitlines() if line.startswith("nats-py==")
    )
    major, minor = (int(number) for number in pinned.split(".")[:2])

    assert nats.specifier.contains(pinned)
    assert not nats.specifier.contains(f"{major}.{minor + 1}.0")
    assert not nats.specifier.contains(f"{major + 1}.0.0")


def test_every_private_name_that_is_used_exists() -> None:
    """No private attribute of the library is missing from a fresh client."""
    used = _private_names_used() - _own_names()

    assert {"_sid", "_subs", "_pending", "_pending_data_size", "_server_pool"} <= used
    assert [] == sorted(name for name in used if not hasattr(Client(), name))


@pytest.mark.parametrize("name", OVERRIDDEN)
def test_an_overridden_method_has_the_librarys_parameters(name: str) -> None:
    """An override is called as the library calls its own: same names, same order, same kind."""
    theirs, ours = getattr(Client, name), getattr(LightClient, name)

    assert list(inspect.signature(theirs).parameters) == list(inspect.signature(ours).parameters)
    assert inspect.iscoroutinefunction(theirs) == inspect.iscoroutinefunction(ours)


def test_every_override_is_held_to_the_contract() -> None:
    """The list above is not empty by mistake."""
    assert ["_parse_header_lines", "_process_err", "_process_msg"] == OVERRIDDEN


def test_what_waits_is_a_list_of_bytes_and_its_size() -> None:
    """`forget_unsent` puts an empty list and 0 where the library keeps just that."""
    client = Client()

    assert client._pending == []
    assert client._pending_data_size == 0


@pytest_asyncio.fixture
async def client(tmp_path: Path) -> AsyncIterator[LightClient]:
    """Return a client of a nats-server of its own."""
    server = NatsServer(tmp_path)
    connected = await connect_client(await server.start(), name="contract", retry=False)
    try:
        yield connected
    finally:
        await connected.close()
        await server.stop()


@pytest.mark.nats
async def test_what_is_forgotten_before_it_is_sent_never_arrives(client: LightClient) -> None:
    """A publish waits in memory until the next turn of the loop, and can be dropped there."""
    subscription = await client.subscribe("a")
    await client.flush()
    await client.publish("a", b"dropped")
    client.forget_unsent()
    await client.publish("a", b"sent")

    message = await subscription.next_msg(timeout=HANGS_SECONDS)

    assert message.data == b"sent"


@pytest.mark.nats
async def test_a_feed_gets_each_message_in_the_readers_turn(client: LightClient) -> None:
    """The number given to a feed is the one that the library gives to its subscription."""
    arrived: list[tuple[bytes, bytes, bytes]] = []
    before = client._sid

    subscription = await client.feed("a.>", lambda *message: arrived.append(message))
    plain = await client.subscribe("a.b")
    await client.publish("a.b", b"data", headers={"ce-id": "1"})
    await plain.next_msg(timeout=HANGS_SECONDS)

    assert isinstance(subscription, Subscription)
    assert client._sid == before + 2
    ((subject, headers, data),) = arrived
    assert (subject, data) == (b"a.b", b"data")
    assert LightClient.parse_headers(headers) == {"ce-id": "1"}


@pytest.mark.nats
async def test_a_feed_ends_with_its_subscription(client: LightClient) -> None:
    """After unsubscribing the library forgets the number, and the feed hears nothing more."""
    arrived: list[bytes] = []
    subscription = await client.feed("a", lambda _subject, _headers, data: arrived.append(data))
    plain = await client.subscribe("a")

    await subscription.unsubscribe()
    await client.publish("a", b"data")
    await plain.next_msg(timeout=HANGS_SECONDS)

    assert arrived == []
