"""What cannot be done is said before anybody decides on it, and again when it changes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from foresail.__main__ import main
from schemas.actions import ActionKind
from schemas.capabilities import MissingCapability, OutcomeCapabilities
from schemas.control import Command
from schemas.outcome import Mode
from services.cluster import JSON, ApiResponse, ClusterRefused, Json, Method, Transport
from services.executor.ledger.handler import evolve
from services.executor.reading.capabilities import read_missing_capabilities
from services.executor.settings import ExecutorSettings
from services.official_client import OfficialClientTransport
from services.rights.reviews import REVIEWS
from tests.builders import cycle_time, make_control, stamp_event
from tests.executor.plant import Plant, on

NODE_KINDS = {"dvfs", "power_state"}


class Limited:
    """The simulated cluster, to which some resources are unknown, or not allowed."""

    def __init__(self, inner: Transport, *, unknown: str = "", forbidden: str = "") -> None:
        """Answer for everything else as `inner` does."""
        self.inner = inner
        self.unknown = unknown
        self.forbidden = forbidden
        self.reviews: list[dict[str, str]] = []

    async def request(
        self,
        method: Method,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = JSON,
    ) -> ApiResponse:
        """Answer one request."""
        answer = await self.inner.request(method, path, query, body, content_type)
        content: Any = json.loads(answer.body)
        if path == REVIEWS:
            asked = content["spec"]["resourceAttributes"]
            self.reviews.append(asked)
            name = "/".join(filter(None, (asked["resource"], asked.get("subresource"))))
            content["status"]["allowed"] = name != self.forbidden
        elif content.get("kind") == "APIResourceList":
            content["resources"] = [
                one for one in content["resources"] if one["name"] != self.unknown
            ]
        return ApiResponse(answer.status, json.dumps(content).encode(), answer.cluster_time_seconds)

    async def close(self) -> None:
        """Close the cluster's transport."""
        await self.inner.close()


def said(plant: Plant) -> list[OutcomeCapabilities]:
    """Return what was said about means."""
    return [
        event.data for event in plant.all_events() if isinstance(event.data, OutcomeCapabilities)
    ]


def kinds(missing: tuple[MissingCapability, ...]) -> set[str]:
    """Return the kinds that cannot be done."""
    return {str(one.kind) for one in missing}


async def test_where_everything_can_be_done_nothing_is_said() -> None:
    """The simulated cluster serves all means, and its executor has every right."""
    plant = Plant()
    plant.see(1)
    await plant.act()
    assert said(plant) == []


@pytest.mark.parametrize(
    ("unknown", "expected"),
    [("pods/eviction", {"migrate"}), ("jobs", {"admission"}), ("pods/resize", {"resize"})],
)
async def test_what_is_not_served_cannot_be_done(unknown: str, expected: set[str]) -> None:
    """Where no resize is served throttle and memory_balloon have their taint; requests of a workload stay."""
    limited = Limited(Plant().transport, unknown=unknown)
    missing = await read_missing_capabilities(limited, ExecutorSettings(), Mode.ACTIVE)
    assert kinds(missing) == expected
    assert all(one.why == "not_served" for one in missing)


@pytest.mark.parametrize(
    ("forbidden", "expected"),
    [("deployments", {"replicate"}), ("nodes", NODE_KINDS), ("pods/eviction", {"migrate"})],
)
async def test_what_is_not_allowed_cannot_be_done(forbidden: str, expected: set[str]) -> None:
    """An access review says no; in shadow mode, where every write is a dry run, nobody asks."""
    limited = Limited(Plant().transport, forbidden=forbidden)
    missing = await read_missing_capabilities(limited, ExecutorSettings(), Mode.ACTIVE)
    assert kinds(missing) == expected
    assert all(one.why == "forbidden" for one in missing)
    limited.reviews.clear()
    assert await read_missing_capabilities(limited, ExecutorSettings(), Mode.SHADOW) == ()
    assert limited.reviews == []


async def test_rights_are_asked_for_in_each_named_namespace() -> None:
    """One of them is enough; a node belongs to none, and needs its label."""
    limited = Limited(Plant().transport, forbidden="pods/eviction")
    settings = ExecutorSettings(namespaces=("shop", "batch"))
    missing = await read_missing_capabilities(limited, settings, Mode.ACTIVE)
    asked = [one["namespace"] for one in limited.reviews if one["resource"] == "pods"]
    assert {"batch", "shop"} == set(asked)
    assert {one.why for one in missing if str(one.kind) in NODE_KINDS} == {"no_node_named"}
    named = settings.model_copy(update={"writable_nodes": "pool=shop"})
    assert kinds(await read_missing_capabilities(limited, named, Mode.ACTIVE)) == {"migrate"}


async def test_a_change_is_said_once_and_survives_a_restart() -> None:
    """Asked again after ten minutes or with another mode; what stands already is not said again."""
    limited = Limited(Plant().transport, forbidden="pods/eviction")
    plant = on(limited)
    for cycle in (1, 2, 3):
        plant.see(cycle)
        await plant.act()
    (first,) = said(plant)
    assert (first.cycle, kinds(first.missing)) == (1, {"migrate"})
    assert first.text == "cannot be done here: migrate (create pods/eviction: forbidden)"

    plant.restart()
    plant.see(4)
    await plant.act()
    assert len(said(plant)) == 1

    limited.forbidden = ""
    late = 1
    while cycle_time(late) < cycle_time(4) + 600.0:
        late += 1
    plant.see(late)
    await plant.act()
    assert [kinds(one.missing) for one in said(plant)] == [{"migrate"}, set()]
    assert plant.state.missing_means == ()


async def test_another_mode_is_asked_about_at_once() -> None:
    """Rights matter from the moment on at which writes are real."""
    limited = Limited(Plant().transport, forbidden="nodes")
    plant = on(limited, Mode.SHADOW)
    plant.see(1)
    await plant.act()
    assert said(plant) == []
    plant.state = evolve(plant.state, stamp_event(make_control(Command.MODE, value="active")))
    plant.see(2)
    await plant.act()
    assert kinds(said(plant)[-1].missing) == NODE_KINDS


async def test_a_server_that_does_not_say_is_believed_to_serve() -> None:
    """What cannot be asked is found out by the write itself, which is refused then."""

    class Mute(Limited):
        async def request(self, method: Method, path: str, *rest: Any) -> ApiResponse:
            if path == REVIEWS or path in {"/api/v1", "/apis/apps/v1", "/apis/batch/v1"}:
                raise ClusterRefused(403, "Forbidden", "no")
            return await self.inner.request(method, path, *rest)

    mute = Mute(Plant().transport)
    assert await read_missing_capabilities(mute, ExecutorSettings(), Mode.ACTIVE) == ()


@pytest.fixture
def kubeconfigs(tmp_path: Path) -> Iterator[Path]:
    """Start the embedded cluster as a process; return the folder of its kubeconfigs."""
    options = ("--nodes", "1", "--workload", "idle", "--kubeconfig-dir", str(tmp_path))
    command = [sys.executable, "-m", "twin", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            json.loads(process.stdout.readline())
            yield tmp_path
        finally:
            process.terminate()


@pytest.mark.twin
def test_doctor_names_what_cannot_be_done(
    kubeconfigs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Over HTTP: whoever may only read can do nothing, the executor all but writing nodes that nobody named."""

    def found(name: str) -> dict[str, Any]:
        given = ["doctor", "--kubeconfig", str(kubeconfigs / f"{name}.kubeconfig")]
        main([*given, "--namespaces", "shop", "--json"])
        findings = json.loads(capsys.readouterr().out)
        return next(one for one in findings if one["check"] == "means of actions")

    reader = found("reader")
    assert not reader["ok"]
    assert all(f"{kind} (" in reader["found"] for kind in ActionKind if kind is not ActionKind.NOOP)
    assert "replicate (patch deployments: forbidden)" in reader["found"]
    executor = found("executor")
    assert "power_state (patch nodes: no node named)" in executor["found"]
    assert "replicate" not in executor["found"]
    assert "writable_nodes" in executor["remedy"]


@pytest.mark.twin
async def test_over_http_reviews_are_answered_by_the_server(kubeconfigs: Path) -> None:
    """The executor's own identity may do everything where no namespace is named."""
    transport = OfficialClientTransport(kubeconfigs / "executor.kubeconfig")
    assert await read_missing_capabilities(transport, ExecutorSettings(), Mode.ACTIVE) == ()
    await transport.close()


@pytest.mark.parametrize(
    ("given", "said_of_it"),
    [
        (["--namespaces", "shop"], "name their cluster, too: --kubeconfig FILE"),
        (["--kubeconfig", "x", "--namespaces", "shop,"], "give exact names, such as shop,batch"),
    ],
)
def test_names_without_a_cluster_are_refused(
    given: list[str], said_of_it: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line with field, value and remedy, and exit code 2."""
    assert main(["doctor", *given]) == 2
    assert said_of_it in capsys.readouterr().err
