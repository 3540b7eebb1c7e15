"""Answers on pods, workloads, autoscalers and nodes, from recordings of virtual runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bus.errors import InputError
from foresail.__main__ import main
from foresail.explain_object import full_name
from projections.objects.names import ObjectKind, ObjectNames
from tests.timeline.scripted import play_incident

Explain = Callable[..., str]


@pytest.fixture
def explain(capsys: pytest.CaptureFixture[str]) -> Explain:
    """Run `foresail explain` over a recording; lines are joined, however the terminal broke them."""

    def run(recording: Path, *arguments: str, code: int = 0) -> str:
        capsys.readouterr()
        assert main(["explain", *arguments, "--recording", str(recording)]) == code
        printed = capsys.readouterr()
        return " ".join((printed.out if code == 0 else printed.err).split())

    return run


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a recording that ends while pods wait for a node."""
    part = tmp_path_factory.mktemp("part") / "waiting.fslog"
    whole = play_incident("unschedulable-burst").recording
    assert main(["recording", "cut", "--cycle", "..38", str(whole), str(part)]) == 0
    return part


def entries(text: str) -> list[dict[str, Any]]:
    """Return the entries of a JSON answer."""
    found: list[dict[str, Any]] = json.loads(text)["entries"]
    return found


def test_a_pending_pod_says_since_when_and_why(explain: Explain, waiting: Path) -> None:
    """The class, the scheduler's own words, how long it waits and what it requests are there."""
    text = explain(waiting, "pod", "render-1-10")
    assert "it is pending since 00:05:00 (80 s so far): insufficient_cpu" in text
    assert "The scheduler says: 0/3 nodes are available: 1 node(s) were unschedulable" in text
    assert "belongs to default/Job/render-1-10" in text
    assert "requests 2 cores, 1 GiB" in text


def test_a_pending_pod_names_the_node_that_we_put_to_sleep(explain: Explain, waiting: Path) -> None:
    """A node with room that is asleep is named with the cycle whose decision did it."""
    text = explain(waiting, "pod", "default/render-1-10")
    assert "by requests no usable node of 3 has room for it" in text
    assert "farm-1 has room but is cordoned, power state sleep (by our decision of cycle 1)" in text


def test_a_pod_that_got_its_node_says_how_long_it_waited(explain: Explain) -> None:
    """What is over is not called pending; the wait and its class stay."""
    text = explain(play_incident("unschedulable-burst").recording, "pod", "render-1-10")
    assert "it is not pending: pod default/render-1-10 became ready on farm-3" in text
    assert "It waited 93 s for its node." in text
    assert "waited for insufficient_cpu from 00:05:00 on, for 93 s" in text


def test_a_workload_names_its_pending_pods(explain: Explain, waiting: Path) -> None:
    """The Job that owns a waiting pod shows it with the scheduler's words."""
    text = explain(waiting, "workload", "render-1-10")
    assert "it runs up to 1 pod at once; 0 succeeded, 0 failed" in text
    assert "pod default/render-1-10 is pending: 0/3 nodes are available" in text


def test_an_autoscaler_says_when_it_scaled_and_how_long_its_pods_took(explain: Explain) -> None:
    """Each increase has its moment and the time until its pods were ready."""
    text = explain(play_incident("hpa-lag").recording, "hpa", "web")
    assert "it last scaled default/Deployment/web from 4 to 6 at 00:10:45" in text
    assert "6 of 6 pods are ready; " in text
    assert "between 2 and " in text
    assert "the 4 pods asked for at 00:10:30 became ready within 2 min 50 s" in text


def test_a_node_asleep_names_the_execution_and_its_decision(explain: Explain) -> None:
    """What we did to a node is linked with the cycle that decided it, and why."""
    text = explain(play_incident("node-failure").recording, "node", "rack-1")
    assert "power state sleep instead of on since 00:00:10, by our AgentB:power_state:sleep" in text
    assert "cycle 1 decided: AgentB:power_state:sleep on rack-1: demand 0 < 0.12" in text
    assert "why: foresail explain 1 " in text


def test_a_node_that_nothing_holds_back_says_so(explain: Explain) -> None:
    """A node that was down and is back is not called avoided; its history shows both moments."""
    text = explain(play_incident("node-failure").recording, "node", "rack-2")
    assert "nothing in the log makes the scheduler avoid it" in text
    assert "node rack-2 is not ready any more" in text
    assert "node rack-2 is ready again (370 s after not ready)" in text


def test_what_repeats_itself_is_one_entry(explain: Explain) -> None:
    """Refusals cycle after cycle for one reason are counted, not listed."""
    text = explain(play_incident("node-failure").recording, "node", "rack-2", "--json")
    refused = [
        entry["text"] for entry in entries(text) if "not executed (cool_down)" in entry["text"]
    ]
    assert len(refused) == 3
    assert refused[0].endswith("10 more times until 00:07:40")


def test_json_holds_the_answer_with_positions(explain: Explain) -> None:
    """Every change, reaction and execution names its event; decisions name their cycles."""
    content = json.loads(
        explain(play_incident("node-failure").recording, "node", "rack-1", "--json")
    )
    assert (content["kind"], content["name"], content["decisions"]) == ("node", "rack-1", [1])
    assert all(entry["seq"] > 0 for entry in content["entries"])
    assert [entry["time_seconds"] for entry in content["entries"]] == sorted(
        entry["time_seconds"] for entry in content["entries"]
    )


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (("node", "rak-1"), "this log knows no such node; did you mean rack-1"),
        (("pod", "default/nothing-like-it-at-all"), "this log knows no such pod"),
        (("hpa", "web"), "show one once it has changed something"),
        (("pood", "x"), "KIND = pood: did you mean pod?"),
        (("node",), "NAME = (not given): name the node"),
    ],
)
def test_a_name_that_is_not_there_is_one_line(
    explain: Explain, arguments: tuple[str, ...], remedy: str
) -> None:
    """Exit code 2, one line, with the near name where there is one."""
    assert remedy in explain(play_incident("node-failure").recording, *arguments, code=2)


def test_a_name_that_several_have_asks_which() -> None:
    """A short name of several objects is refused with the full names of all of them."""
    names = ObjectNames()
    names.names[ObjectKind.POD] = {"shop/web", "test/web"}
    with pytest.raises(InputError, match="say which pod: shop/web, test/web"):
        full_name(names, ObjectKind.POD, "web", "")
