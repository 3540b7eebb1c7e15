"""What `foresail rbac --process explain` grants is enough for every question, and none of it is unused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from foresail.__main__ import main
from foresail.install_rights import ACCOUNTS, EXPLAIN, Grants, manifests
from lab.explanations.rights import RIGHTS
from proofs.real_programs.requests import Api, until
from tests.explanations.served import served_twin

pytestmark = [pytest.mark.twin, pytest.mark.timeout(300)]
PATHS = {
    "ServiceAccount": "/api/v1/namespaces/foresail/serviceaccounts",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
}
USER = f"system:serviceaccount:foresail:{ACCOUNTS[EXPLAIN]}"
KINDS = ("Deployment", "ReplicaSet", "StatefulSet")
INSIDE = "/apis/apps/v1/namespaces/shop"
QUESTIONS = (
    ("pod", "web", "schedule"),
    ("pod", "web", "start"),
    ("workload", "shop/Deployment/web", "start"),
    ("node", "node-0000", "consolidate"),
    *(("hpa", kind.lower(), "scale") for kind in KINDS),
)


@pytest.fixture(scope="module")
def granted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Serve a cluster with Karpenter's kinds, grant the role, and return the folder of the account's kubeconfig."""
    folder = tmp_path_factory.mktemp("granted")
    options = ("--provisioner", "karpenter", "--authorization", "rbac")
    with served_twin(folder, *options, "--audit-log", str(folder / "audit.jsonl"), nodes=1) as api:
        for name in ("foresail", "shop"):
            api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        for one in manifests(Grants(explain=True), EXPLAIN):
            api.ask("POST", PATHS[one["kind"]], one)
        _furnish(api)
        token = api.ask(
            "POST", f"{PATHS['ServiceAccount']}/{ACCOUNTS[EXPLAIN]}/token", {"spec": {}}
        )
        content = yaml.safe_load((folder / "reader.kubeconfig").read_text("utf-8"))
        content["users"][0]["user"] = {"token": token["status"]["token"]}
        (folder / "own.kubeconfig").write_text(yaml.safe_dump(content), "utf-8")
        yield folder


def _furnish(api: Api) -> None:
    container = {"name": "c", "image": "a:1", "resources": {"requests": {"cpu": "99"}}}
    pod = {"metadata": {"name": "web"}, "spec": {"containers": [container]}}
    api.ask("POST", "/api/v1/namespaces/shop/pods", pod)
    for kind in KINDS:
        labels = {"app": kind}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        spec: dict[str, Any] = {"replicas": 1, "selector": {"matchLabels": labels}}
        spec |= {"template": template, **({"serviceName": "s"} if kind == "StatefulSet" else {})}
        api.ask("POST", f"{INSIDE}/{kind.lower()}s", {"metadata": {"name": "web"}, "spec": spec})
        target = {"type": "Utilization", "averageUtilization": 50}
        metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
        scaled = {"apiVersion": "apps/v1", "kind": kind, "name": "web"}
        scaling = {"scaleTargetRef": scaled, "maxReplicas": 3, "metrics": metrics}
        path = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers"
        api.ask("POST", path, {"metadata": {"name": kind.lower()}, "spec": scaling})
    until("the pod was tried", lambda: _tried(api), 60.0)


def _tried(api: Api) -> bool:
    status = api.ask("GET", "/api/v1/namespaces/shop/pods/web").get("status") or {}
    return any(one.get("message") for one in status.get("conditions") or ())


def test_every_question_is_answered_and_every_right_is_used(
    granted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the audit log: nothing that was asked was forbidden, nothing that is granted was not asked."""
    for kind, name, question in QUESTIONS:
        words = [kind, name, "--why-not", question, "--kubeconfig", str(granted / "own.kubeconfig")]
        assert main(["explain", *words]) == 0, capsys.readouterr().err
        assert "could not be read" not in capsys.readouterr().out
    asked = set()
    for line in (granted / "audit.jsonl").read_text("utf-8").splitlines():
        event = json.loads(line)
        if event["user"]["username"] == USER and event["stage"] == "ResponseComplete":
            assert event["responseStatus"]["code"] == 200, line
            what = event["objectRef"]
            asked.add((event["verb"], what.get("apiGroup", ""), what["resource"]))
    assert asked == {(right.verb, right.group, right.resource) for right in RIGHTS}
