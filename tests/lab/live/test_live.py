"""Two clusters beside each other: the same load at the same moment, and what is taken away shows as cost."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bus.clock import LoopClock
from bus.recording import open_recording
from foresail.live_page import live_page
from lab.live.figures import ROWS
from lab.live.history import read_history
from lab.live.markdown import comparison_markdown
from lab.live.scorecards import CARDS, difference_rows, scorecards
from lab.live.windows import Comparison
from services.cluster import JSON, ApiResponse, ClusterRefused, Json, Method, Transport
from tests.lab.live.two_clusters import DEPLOYMENTS, NAMESPACE, PLAN, TwoClusters


@pytest.fixture(scope="module")
def equal(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Comparison]:
    """Two clusters that nobody looks after, and what their logs say."""
    folder = tmp_path_factory.mktemp("equal")
    played = TwoClusters(folder)
    comparison = played.play()
    assert played.left == [0, 0]
    return folder, comparison


def test_equal_clusters_differ_by_exactly_nothing(equal: tuple[Path, Comparison]) -> None:
    """The null test: each difference is 0, and each scorecard says matched."""
    _, comparison = equal
    assert [(one.phase, one.pods) for one in comparison.windows] == [
        ("light-dvfs", 4),
        ("admission-queue", 12),
    ]
    assert len(difference_rows(comparison)) == 11
    lines = [line for card in scorecards(comparison) for line in card.lines]
    assert all(line.difference.value == 0.0 for line in (*difference_rows(comparison), *lines))
    assert {card.name: card.verdict for card in scorecards(comparison)} == dict.fromkeys(
        CARDS, "matched"
    )
    assert "safety: matched" in comparison_markdown(comparison)


def test_the_page_holds_the_whole_comparison(equal: tuple[Path, Comparison]) -> None:
    """Eleven difference rows, four scorecards and each window; it loads nothing, and holds the figures as JSON."""
    _, comparison = equal
    page = live_page(comparison)
    tables = dict(re.findall(r'<section id="([a-z]+-\d+)">(.*?)</section>', page, re.DOTALL))
    assert [one for one in tables if one.startswith("scorecard")] == [
        f"scorecard-{n}" for n in range(4)
    ]
    assert tables["difference-0"].count("<tr>") == 1 + len(ROWS) == 12
    for place, (card, lines) in enumerate(CARDS.items()):
        assert f"{card[0].upper()}{card[1:]}: matched" in tables[f"scorecard-{place}"]
        assert all(
            f"<td>{name.replace('_', ' ')}</td>" in tables[f"scorecard-{place}"] for name in lines
        )
    for window in comparison.windows:
        assert f"{window.phase}: {window.pods} pods" in tables[f"window-{window.sequence}"]
    stored = page.split('<script type="application/json" id="result">')[1].split("</script>")[0]
    assert json.loads(stored)["names"] == list(comparison.names)
    assert len(json.loads(stored)["windows"]) == 2
    assert not re.search(r"""(src|href)\s*=|url\(|@import""", page)


def test_what_clusters_are_called_cannot_enter_the_page(equal: tuple[Path, Comparison]) -> None:
    """Names come from the command line and from logs of others, so they are escaped everywhere."""
    _, comparison = equal
    page = live_page(replace(comparison, names=("<img src=x>", "b")))
    assert "<img" not in page
    assert "&lt;img" in page


def test_both_logs_hold_the_same_load_at_the_same_moment(equal: tuple[Path, Comparison]) -> None:
    """Each cluster has a sealed log of its own, whose stimuli name the same load."""
    folder, comparison = equal
    paths = sorted(folder.glob("*.fslog"))
    logs = [read_history(path) for path in paths]
    texts = [[mark.data.text.split(", written")[0] for mark in log.stimuli] for log in logs]
    assert texts[0] == texts[1]
    assert "load " in texts[0][0]
    assert [one.skew_seconds for one in comparison.windows] == [0.0, 0.0]
    for path in paths:
        recording = open_recording(path)
        kinds = {message.headers["ce-type"] for message in recording}
        assert recording.sealed
        assert {
            "foresail.snapshot.nodes.v1",
            "foresail.observation.v1",
            "foresail.stimulus.v1",
        } <= kinds


def test_taking_demand_away_is_a_cost(tmp_path: Path) -> None:
    """A cluster whose controller scales the load to 0 uses less, and its admission card shows what it took away."""

    async def scale_to_nothing(transport: Transport, clock: LoopClock) -> None:
        await clock.sleep(30.0)
        path = f"{DEPLOYMENTS}/comparison-1"
        body = {"spec": {"replicas": 0}}
        await transport.request("PATCH", path, {}, body, "application/merge-patch+json")

    plan = replace(PLAN, phases=(1,))
    (window,) = TwoClusters(tmp_path, plan, meddler=scale_to_nothing).play().windows
    kept, taken = (side.card for side in window.sides)
    assert (kept["removed_replica_seconds"], taken["removed_replica_seconds"]) == (0.0, 4 * 20.0)
    assert taken["served_ratio"] < kept["served_ratio"]
    assert taken["watts"] < kept["watts"]


class _Between:
    """Stands before a cluster: notes what is written, and refuses what it is told to."""

    def __init__(self, transport: Transport, refuses: str = "") -> None:
        self.transport = transport
        self.refuses = refuses
        self.writes: list[str] = []

    async def request(
        self, method: Method, path: str, query: Mapping[str, str] | None = None, body: Json | None = None,
        content_type: str = JSON,
    ) -> ApiResponse:  # fmt: skip
        if method != "GET":
            name = body["metadata"]["name"] if isinstance(body, dict) and "metadata" in body else ""
            self.writes.append(f"{method} {path} {name}".strip())
        if self.refuses and f"{method} {path}" == self.refuses:
            raise ClusterRefused(403, "Forbidden", "no quota")
        return await self.transport.request(method, path, query, body, content_type)

    async def close(self) -> None:
        await self.transport.close()


def test_nothing_is_written_outside_the_named_namespace(tmp_path: Path) -> None:
    """The namespace itself, and Deployments in it: created and deleted, and no other write."""
    seen: list[_Between] = []

    def watch(transport: Transport) -> Any:
        seen.append(_Between(transport))
        return seen[0]

    TwoClusters(tmp_path, replace(PLAN, phases=(1,)), wrap=watch).play()
    assert set(seen[0].writes) == {
        f"POST /api/v1/namespaces {NAMESPACE}",
        f"POST {DEPLOYMENTS} comparison-1",
        f"DELETE {DEPLOYMENTS}/comparison-1",
    }


def test_a_load_that_one_cluster_refuses_neither_keeps(tmp_path: Path) -> None:
    """It is taken away from the other at once, and nothing is compared."""
    played = TwoClusters(
        tmp_path, replace(PLAN, phases=(1,)), wrap=lambda one: _Between(one, f"POST {DEPLOYMENTS}")
    )
    comparison = played.play()
    assert played.left == [0, 0]
    assert not comparison.windows
    (skipped,) = comparison.skipped
    assert (skipped.status, "b: 403 Forbidden: no quota" in skipped.text) == ("failed", True)
    looks = read_history(tmp_path / "1-a.fslog").samples
    assert {look.figures["stimulus_wanted"] for look in looks} == {0.0}


def test_a_comparison_that_is_stopped_leaves_nothing_behind(tmp_path: Path) -> None:
    """Stopped in the middle of a stimulus: the load is removed, the logs are sealed, the half window does not count."""
    played = TwoClusters(tmp_path, cancel_after_seconds=35.0)
    comparison = played.play()
    assert played.left == [0, 0]
    assert (comparison.windows, comparison.damage) == ((), ())
    assert "Stimuli" not in comparison_markdown(comparison)


def test_no_room_in_one_cluster_skips_the_stimulus_in_both(tmp_path: Path) -> None:
    """A cordoned cluster gets no load, and so the other gets none."""

    class Cordoned(_Between):
        async def request(self, *arguments: Any, **named: Any) -> ApiResponse:
            answer = await super().request(*arguments, **named)
            if arguments[:2] == ("GET", "/api/v1/nodes"):
                body = answer.body.replace(b'"spec":{', b'"spec":{"unschedulable":true,')
                return ApiResponse(answer.status, body, answer.cluster_time_seconds)
            return answer

    comparison = TwoClusters(tmp_path, replace(PLAN, phases=(3,)), wrap=Cordoned).play()
    (skipped,) = comparison.skipped
    assert (skipped.status, skipped.text) == ("skipped", "no node of b takes pods")
