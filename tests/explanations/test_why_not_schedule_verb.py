"""`foresail explain pod NAME --why-not schedule` on a cluster that is served, by lists alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foresail.__main__ import main
from proofs.real_programs.requests import Api, until
from tests.explanations.clusters import pod
from tests.explanations.served import served_twin

pytestmark = [pytest.mark.twin, pytest.mark.timeout(400)]
PODS = "/api/v1/namespaces/shop/pods"
AUDIT = "audit.jsonl"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Serve three nodes, one tainted, one cordoned, and a pod that fits on none; return the audit log's folder."""
    folder = tmp_path_factory.mktemp("served")
    with served_twin(folder, "--authorization", "rbac", "--audit-log", str(folder / AUDIT)) as api:
        _furnish(api)
        yield folder


def _furnish(api: Api) -> None:
    names = sorted(node["metadata"]["name"] for node in api.items("/api/v1/nodes"))
    taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
    api.ask("PATCH", f"/api/v1/nodes/{names[0]}", {"spec": {"taints": [taint]}})
    api.ask("PATCH", f"/api/v1/nodes/{names[1]}", {"spec": {"unschedulable": True}})
    api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    api.ask("POST", PODS, pod("filler", "10"))
    until("it has a node", lambda: api.ask("GET", f"{PODS}/filler")["spec"].get("nodeName"))
    api.ask("POST", PODS, pod("new", "9"))
    api.ask("POST", PODS, pod("gated", schedulingGates=[{"name": "example.com/wait"}]))
    until("it was tried", lambda: _condition(api.ask("GET", f"{PODS}/new")))


def _condition(found: dict[str, Any]) -> bool:
    conditions = found["status"].get("conditions") or ()
    return any(one["type"] == "PodScheduled" and one.get("message") for one in conditions)


def explain(served: Path, *words: str) -> list[str]:
    """Return the verb's words, with the reader's kubeconfig."""
    kubeconfig = str(served / "reader.kubeconfig")
    return ["explain", *words, "--why-not", "schedule", "--kubeconfig", kubeconfig]


def test_each_node_its_reason_and_what_would_help(
    served: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A newcomer reads why, and which change would do; the scheduler agrees."""
    assert main(explain(served, "pod", "new")) == 0
    text = capsys.readouterr().out
    assert "none of 3 nodes takes it" in text
    for reason in ("Insufficient cpu", "node(s) were unschedulable", "had untolerated taint(s)"):
        assert reason in text
    assert "request 6 of cpu instead of 9" in text
    assert "uncordon " in text
    assert "tolerate dedicated=gpu:NoSchedule" in text
    assert "The scheduler said the same" in text


def test_as_json(served: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Everything by name, for programs."""
    assert main([*explain(served, "pod", "shop/new"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["answer"]["counts"] == {
        "Insufficient cpu": 1,
        "node(s) had untolerated taint(s)": 1,
        "node(s) were unschedulable": 1,
    }
    assert found["said"]["agrees"]
    assert len(found["changes"]) == 3


def test_a_pod_that_nobody_looks_at(served: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Gates hold one, another is on a node already."""
    assert main(explain(served, "pod", "gated")) == 0
    assert "scheduling gates hold it: example.com/wait" in capsys.readouterr().out
    assert main(explain(served, "pod", "filler")) == 0
    assert "it is on node-" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("pod", "nwe"), "NAME = nwe: there is no such pod; did you mean new?"),
        (("pod",), "NAME = (not given): name the pod, as in"),
        (("node", "node-0001"), "--why-not = schedule: ask it of one pod"),
    ],
)
def test_what_cannot_be_answered_is_one_line(
    served: Path, words: tuple[str, ...], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Field, value and remedy; exit code 2."""
    assert main(explain(served, *words)) == 2
    assert line in capsys.readouterr().err


def test_it_reads_and_writes_nothing(served: Path) -> None:
    """The audit log of the reader's account holds lists alone."""
    events = [json.loads(line) for line in (served / AUDIT).read_text("utf-8").splitlines()]
    verbs = {event["verb"] for event in events if "reader" in event["user"]["username"]}
    assert verbs == {"list"}
