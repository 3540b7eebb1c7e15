"""`foresail explain node NAME --why-not consolidate` beside the simulated cluster's own Karpenter."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foresail.__main__ import main
from proofs.real_programs.requests import Api, until
from tests.explanations.served import served_twin

pytestmark = [pytest.mark.twin, pytest.mark.timeout(300)]
DEPLOYMENTS = "/apis/apps/v1/namespaces/shop/deployments"
AUDIT = "audit.jsonl"
PROTECTED = {"karpenter.sh/do-not-disrupt": "true"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str, str]]:
    """Serve a cordoned node and one of Karpenter's with a protected and a budgeted pod; return both names."""
    folder = tmp_path_factory.mktemp("served")
    options = ("--provisioner", "karpenter", "--speed", "10", "--authorization", "rbac")
    with served_twin(folder, *options, "--audit-log", str(folder / AUDIT), nodes=1) as api:
        (own,) = (node["metadata"]["name"] for node in api.items("/api/v1/nodes"))
        api.ask("PATCH", f"/api/v1/nodes/{own}", {"spec": {"unschedulable": True}})
        api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
        _deploy(api, "kept", PROTECTED)
        _deploy(api, "few", {})
        selector = {"matchLabels": {"app": "few"}}
        budget = {"metadata": {"name": "all"}, "spec": {"minAvailable": 1, "selector": selector}}
        api.ask("POST", "/apis/policy/v1/namespaces/shop/poddisruptionbudgets", budget)
        until("both pods run", lambda: _running(api) == 2, 120.0)
        until("Karpenter says what keeps it", lambda: _blocked(api), 120.0)
        rented = next(
            node["metadata"]["name"]
            for node in api.items("/api/v1/nodes")
            if node["metadata"]["name"] != own
        )
        yield folder, rented, own


def _deploy(api: Api, name: str, annotations: dict[str, str]) -> None:
    labels = {"app": name}
    container = {"name": "c", "image": "a:1", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"labels": labels, "annotations": annotations},
        "spec": {"containers": [container]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    api.ask("POST", DEPLOYMENTS, {"metadata": {"name": name}, "spec": spec})


def _running(api: Api) -> int:
    pods = api.items("/api/v1/namespaces/shop/pods")
    return sum(pod["status"].get("phase") == "Running" for pod in pods)


def _blocked(api: Api) -> bool:
    events = api.items("/api/v1/namespaces/default/events")
    return any("annotation" in event["message"] for event in events)


def explain(folder: Path, *words: str) -> list[str]:
    """Return the verb's words, with the reader's kubeconfig."""
    kubeconfig = str(folder / "reader.kubeconfig")
    return ["explain", *words, "--why-not", "consolidate", "--kubeconfig", kubeconfig]


def test_each_pod_that_keeps_it_by_its_rule(
    served: tuple[Path, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Karpenter stops at the first and says so; the answer names both, and agrees with what it said."""
    folder, rented, _ = served
    found: dict[str, Any] = {}
    for _ in range(60):  # until the budget's controller has looked at its pod
        assert main([*explain(folder, "node", rented), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        if found["said"] and found["said"][0]["agrees"] and len(found["keepers"]) == 2:
            break
        time.sleep(0.5)
    assert [keeper["rule"] for keeper in found["keepers"]] == [
        "disruption budget",
        "do-not-disrupt",
    ]
    assert (found["autoscaler"], found["pool"], found["pods"]) == ("Karpenter", "default", 2)
    assert len(found["homeless"]) == 2  # the other node is cordoned
    assert main(explain(folder, "node", rented)) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "2 pods would have to move; 2 things keep it" in text
    assert "disruption budget shop/all allows no eviction" in text
    assert "2 pods have no place on the other nodes" in text
    assert "that is one of these" in text


def test_a_node_that_is_not_karpenter_s(
    served: tuple[Path, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """It is judged by Cluster Autoscaler's rules; an empty one is kept by nothing that can be read."""
    folder, _, own = served
    assert main(explain(folder, "node", own)) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "judged by Cluster Autoscaler's rules; 0 pods would have to move" in text
    assert "not known: whether it runs here at all" in text


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("node", "nobody"), "NAME = nobody: there is no such node"),
        (("pod", "kept"), "--why-not = consolidate: ask it of one node"),
    ],
)
def test_what_cannot_be_answered_is_one_line(
    served: tuple[Path, str, str],
    words: tuple[str, ...],
    line: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Field, value and remedy; exit code 2."""
    assert main(explain(served[0], *words)) == 2
    assert line in capsys.readouterr().err


def test_it_reads_and_writes_nothing(served: tuple[Path, str, str]) -> None:
    """The audit log of the reader's account holds lists alone."""
    lines = (served[0] / AUDIT).read_text("utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    assert {one["verb"] for one in events if "reader" in one["user"]["username"]} == {"list"}
