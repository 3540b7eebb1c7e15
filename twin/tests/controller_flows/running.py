"""Flows by group, and both ways to play them."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import yaml

from twin.config import TwinConfig
from twin.config.access import AccessConfig
from twin.tests.controller_flows.playing import Object, Player, World
from twin.tests.controller_flows.seeing import look
from twin.tests.controller_flows.worlds import Virtual

HERE = Path(__file__).parent
AT_ONCE = 8
ALONE = frozenset({"scheduling"})
"""Groups whose flows change nodes, or depend on what room there is: each is cleared away before the next is played."""
SERVED: dict[str, tuple[str, ...]] = {
    "accounts": ("configmaps", "serviceaccounts"),
    "garbage": ("configmaps", "secrets", "priorityclasses", "leases"),
    "mirroring": (),
    "namespaces": ("configmaps", "namespaces"),
    "quotas": ("resourcequotas",),
    "ranges": ("servicecidrs",),
}
"""Groups about controllers that the twin always has, with the kinds that are looked at besides. What the real ones
do is seen on etcd, kube-apiserver and all of kube-controller-manager, with nodes that are kept for them.
"""
BESIDES: dict[str, tuple[str, ...]] = {**SERVED, "autoscaling": ("horizontalpodautoscalers",)}
"""Kinds that a group looks at besides those that all look at."""
LIVES = frozenset({"garbage", "namespaces"})
"""Groups of which also is written down by which steps objects came and went."""
GROUPS = tuple(sorted(path.stem for path in (HERE / "flows").glob("*.yaml")))


def table(group: str) -> dict[str, Object]:
    """Return the flows of a group by name."""
    text = (HERE / "flows" / f"{group}.yaml").read_text(encoding="utf-8")
    placement = group in ALONE
    besides, served = BESIDES.get(group, ()), group in SERVED
    given = {"placement": placement, "besides": besides, "served": served, "lives": group in LIVES}
    return {flow["flow"]: {**given, **flow} for flow in yaml.safe_load(text)}


def expected(group: str) -> dict[str, Object]:
    """Return what the real controllers left, by flow."""
    found: dict[str, Object] = json.loads(expected_path(group).read_text(encoding="utf-8"))
    return found


def expected_path(group: str) -> Path:
    """Return where what the real controllers left is written down."""
    return HERE / "expected" / f"{group}.json"


def played(world: World, flow: Object, namespace: str) -> Object:
    """Play a flow in a namespace of its own; return what is to see then."""
    made = world.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    player = Player(world, namespace)
    player.play(flow["steps"])
    world.wait(flow.get("settle", 3))
    since = made["metadata"]["resourceVersion"]
    how = {name: flow[name] for name in ("placement", "besides", "lives")}
    seen = look(world, player, since, **how)
    hidden = flow.get("unseen", [])
    seen["events"] = [row for row in seen["events"] if row["reason"] not in hidden]
    if not flow.get("order", True):
        del seen["conditions in order"]
    return seen


def built_in(flow: Object) -> Object:
    """Play a flow with the twin's own controllers, in virtual time."""
    config = TwinConfig(access=AccessConfig(server_objects=True)) if flow["served"] else None
    return played(Virtual(config=config), flow, "flow")


def play_real(world: World, chosen: dict[str, Object], group: str) -> Iterator[tuple[str, Object]]:
    """Play flows with the real controllers, some at once; yield what each left, or its error."""

    def one(pair: tuple[int, str]) -> tuple[str, Object]:
        try:
            return pair[1], played(world, chosen[pair[1]], f"{group}-{pair[0]}")
        except Exception as error:  # noqa: BLE001 - said, and the other flows go on
            return pair[1], {"error": f"{type(error).__name__}: {error}"}
        finally:
            if group in ALONE:
                _clear(world, chosen[pair[1]], f"{group}-{pair[0]}")

    with ThreadPoolExecutor(1 if group in ALONE else AT_ONCE) as pool:
        for done in as_completed([pool.submit(one, pair) for pair in enumerate(sorted(chosen))]):
            yield done.result()


def _clear(world: World, flow: Object, namespace: str) -> None:
    """Do what a flow wants done after it, and wait until its namespace is gone."""
    Player(world, namespace).play(flow.get("after", []))
    world.ask("DELETE", f"/api/v1/namespaces/{namespace}")
    while any(
        one["metadata"]["name"] == namespace
        for one in world.ask("GET", "/api/v1/namespaces")["items"]
    ):
        world.wait(world.poll_seconds)


def differences(wanted: Object, seen: Object) -> list[str]:
    """Return the lines that differ."""
    pair = [json.dumps(one, indent=1, sort_keys=True).splitlines() for one in (wanted, seen)]
    lines = difflib.unified_diff(*pair, "real", "built-in", lineterm="", n=3)
    return list(lines)
