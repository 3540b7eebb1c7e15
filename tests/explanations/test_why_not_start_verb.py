"""`foresail explain pod|workload NAME --why-not start` on a cluster that is served, by lists alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foresail.__main__ import main
from proofs.real_programs.requests import Api, until
from tests.explanations.served import served_twin

pytestmark = [pytest.mark.twin, pytest.mark.timeout(300)]
INSIDE = "/api/v1/namespaces/shop"
DEPLOYMENTS = "/apis/apps/v1/namespaces/shop/deployments"
AUDIT = "audit.jsonl"
MISSING = {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "a"}}}
CLAIM = {"name": "d", "persistentVolumeClaim": {"claimName": "data"}}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Serve workloads that each wait for something of their own; return the audit log's folder."""
    folder = tmp_path_factory.mktemp("served")
    with served_twin(folder, "--authorization", "rbac", "--audit-log", str(folder / AUDIT)) as api:
        _furnish(api)
        yield folder


def _furnish(api: Api) -> None:
    api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    limits = {"spec": {"hard": {"pods": "4"}}}
    api.ask("POST", f"{INSIDE}/resourcequotas", {"metadata": {"name": "compute"}, **limits})
    _deploy(api, "good", 1)
    _deploy(api, "unset", 1, container={"env": [MISSING]})
    _deploy(api, "unbound", 1, pod={"volumes": [CLAIM]})
    until("three pods", lambda: len(api.items(f"{INSIDE}/pods")) == 3)
    _deploy(api, "many", 3)
    _deploy(api, "held", 1, spec={"paused": True})
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "a:1"}]}}
    spec = {"suspend": True, "template": template}
    jobs = "/apis/batch/v1/namespaces/shop/jobs"
    api.ask("POST", jobs, {"metadata": {"name": "later"}, "spec": spec})
    until("good is ready", lambda: _ready(api, "good") == 1, 120.0)
    until("a pod was refused", lambda: _refused(api), 120.0)
    until("a kubelet says what is missing", lambda: _says(api, "unset"), 120.0)


def _deploy(
    api: Api,
    name: str,
    replicas: int,
    *,
    container: dict[str, Any] | None = None,
    pod: dict[str, Any] | None = None,
    spec: dict[str, Any] | None = None,
) -> None:
    labels = {"app": name}
    containers = [{"name": "c", "image": "a:1", **(container or {})}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers, **(pod or {})}}
    body = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    api.ask("POST", DEPLOYMENTS, {"metadata": {"name": name}, "spec": {**body, **(spec or {})}})


def _ready(api: Api, name: str) -> int:
    status: dict[str, Any] = api.ask("GET", f"{DEPLOYMENTS}/{name}").get("status") or {}
    return int(status.get("readyReplicas") or 0)


def _refused(api: Api) -> bool:
    return any(one["reason"] == "FailedCreate" for one in api.items(f"{INSIDE}/events"))


def _says(api: Api, name: str) -> bool:
    pods = [
        one for one in api.items(f"{INSIDE}/pods") if one["metadata"]["name"].startswith(f"{name}-")
    ]
    states = [
        status["state"] for one in pods for status in one["status"].get("containerStatuses") or ()
    ]
    return any((state.get("waiting") or {}).get("message") for state in states)


def explain(served: Path, *words: str) -> list[str]:
    """Return the verb's words, with the reader's kubeconfig."""
    kubeconfig = str(served / "reader.kubeconfig")
    return ["explain", *words, "--why-not", "start", "--kubeconfig", kubeconfig]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("good", ("1 of 1 pod ready", "It waits for nothing.")),
        ("unset", ("container c needs ConfigMap settings, which is not there",
                   "whoever makes ConfigMap settings", 'said: configmap "settings" not found')),
        ("shop/unbound", ("its claim data is not there", "who makes claim data")),
        ("shop/Deployment/many", ("1 of 3 pods ready", "quota compute leaves no room for its pods: pods 4 of 4 used",
                                  "who could change it: ResourceQuota compute")),
        ("held", ("it is paused: a changed template is not rolled out", "`kubectl rollout resume`")),
        ("later", ("0 of 1 done", "it is suspended", "spec.suspend of Job later")),
    ],
)  # fmt: skip
def test_each_workload_its_wait(
    served: Path, name: str, says: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """A newcomer reads what it waits for and who could change it."""
    for _ in range(60):
        assert main(explain(served, "workload", name)) == 0
        text = " ".join(capsys.readouterr().out.split())
        if all(one in text for one in says):
            return
    pytest.fail(f"{says} are not all in\n{text}")


def test_a_pod_as_json(served: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Everything by name, for programs; its steps are in the order of its life."""
    assert main([*explain(served, "workload", "unbound"), "--json"]) == 0
    (group,) = json.loads(capsys.readouterr().out)["pods"]
    (name,) = group["pods"]
    assert main([*explain(served, "pod", name), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["object"] == f"pod shop/{name}"
    assert [wait["step"] for wait in found["waits"]] == ["volume", "node"]
    assert found["waits"][1]["words"]["text"].startswith("0/3 nodes are available")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("workload", "goood"), "NAME = goood: there is no such workload; did you mean good?"),
        (("hpa", "good"), "--why-not = start: ask it of one pod or workload"),
        (("workload",), "NAME = (not given): name the workload, as in"),
    ],
)
def test_what_cannot_be_answered_is_one_line(
    served: Path, words: tuple[str, ...], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Field, value and remedy; exit code 2."""
    assert main(explain(served, *words)) == 2
    assert line in capsys.readouterr().err


def test_it_reads_and_writes_nothing(served: Path) -> None:
    """The audit log of the reader's account holds lists alone, and none of Secrets or ConfigMaps."""
    events = [json.loads(line) for line in (served / AUDIT).read_text("utf-8").splitlines()]
    own = [event for event in events if "reader" in event["user"]["username"]]
    assert {event["verb"] for event in own} == {"list"}
    assert {event["objectRef"]["resource"] for event in own}.isdisjoint({"secrets", "configmaps"})
