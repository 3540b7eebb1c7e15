"""`foresail explain hpa NAME --why-not scale` beside the simulated cluster's own autoscaler."""

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

pytestmark = [pytest.mark.twin, pytest.mark.timeout(400)]
HPA = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Serve a Deployment whose pods use twice their target, and an autoscaler that may have four at most."""
    folder = tmp_path_factory.mktemp("served")
    with served_twin(folder, "--speed", "20") as api:
        _furnish(api)
        yield folder


def _furnish(api: Api) -> None:
    api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    container = {"name": "c", "image": "a:1", "resources": {"requests": {"cpu": "200m"}}}
    template = {
        "metadata": {
            "labels": {"app": "web"},
            "annotations": {"foresail.dev/cpu-usage-ratio": "1.0"},
        },
        "spec": {"containers": [container]},
    }
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    body = {"metadata": {"name": "web"}, "spec": spec}
    api.ask("POST", "/apis/apps/v1/namespaces/shop/deployments", body)
    target = {"type": "Utilization", "averageUtilization": 50}
    scaled = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    limits = {"minReplicas": 1, "maxReplicas": 4}
    spec = {"scaleTargetRef": scaled, **limits, "metrics": metrics}
    api.ask("POST", HPA, {"metadata": {"name": "web"}, "spec": spec})
    until("it has scaled to its maximum", lambda: _desired(api) == 4, 120.0)


def _desired(api: Api) -> int:
    status: dict[str, Any] = api.ask("GET", f"{HPA}/web").get("status") or {}
    return int(status.get("desiredReplicas") or 0)


def explain(served: Path, *words: str) -> list[str]:
    """Return the verb's words, with the reader's kubeconfig."""
    kubeconfig = str(served / "reader.kubeconfig")
    return ["explain", *words, "--why-not", "scale", "--kubeconfig", kubeconfig]


def test_its_maximum_holds_it(served: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A newcomer reads what it wants and why it does not get it; the controller says the same."""
    found: dict[str, Any] = {}
    for _ in range(40):  # until the new pods have metrics, and it has looked at them
        assert main([*explain(served, "hpa", "web"), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        if found["asked"] == 8 and found["agrees"]:
            break
        time.sleep(1.0)
    assert (found["asked"], found["allowed"], found["own_desired"]) == (8, 4, 4)
    assert [(one["what"], one["replicas"]) for one in found["holds"]] == [("maximum", 8)]
    assert main(explain(served, "hpa", "shop/web")) == 0
    text = capsys.readouterr().out
    assert "Deployment web has 4 replicas (1 to 4 allowed); its metrics ask for 8 by cpu" in text
    assert "held by maximum" in text
    assert "The controller says 4" in text


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("hpa", "wbe"), "NAME = wbe: there is no such hpa; did you mean web?"),
        (("pod", "web"), "--why-not = scale: ask it of one hpa"),
    ],
)
def test_what_cannot_be_answered_is_one_line(
    served: Path, words: tuple[str, ...], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Field, value and remedy; exit code 2."""
    assert main(explain(served, *words)) == 2
    assert line in capsys.readouterr().err
