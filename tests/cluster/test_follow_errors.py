"""A list that is followed survives an error of its reader."""

from __future__ import annotations

import asyncio

import pytest

from bus.item_errors import ItemErrors
from services.kube_follow import FollowedList
from services.kube_index import ObjectIndex
from services.kube_objects import Pod
from tests.cluster.test_kube_follow import PODS, ScriptedServer, follow, names, quiet
from tests.cluster.test_kube_index import line


def test_an_error_that_nobody_foresaw_costs_the_list_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The list is lost with the error as its reason, following goes on, and the next list repairs it."""
    server = ScriptedServer()
    server.watches = [quiet(line("ADDED", "b", "8") + b"\n"), quiet()]
    apply, errors = ObjectIndex.apply, ItemErrors("collector")

    def poisoned(index: ObjectIndex[Pod], text: bytes) -> None:
        monkeypatch.setattr(ObjectIndex, "apply", apply)
        raise AttributeError(text)

    monkeypatch.setattr(ObjectIndex, "apply", poisoned)

    async def check(server: ScriptedServer, followed: FollowedList[Pod]) -> None:
        await followed.settled.wait()
        await asyncio.sleep(0.1)
        assert "AttributeError" in str(followed.failure)
        await asyncio.sleep(30.0)
        assert followed.failure is None
        assert names(followed) == ["a"]
        assert server.lists == 2

    follow(server, check, errors)
    assert {f"follow {PODS}": 1} == errors.counts
