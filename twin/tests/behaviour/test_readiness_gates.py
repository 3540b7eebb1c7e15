"""Readiness gates hold a pod back until the conditions that they name are true."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from twin.api.messages import Request
from twin.api.router import Router
from twin.engine import Engine
from twin.records import PodRecord

Build = Callable[..., Engine]
Create = Callable[..., PodRecord]
GATES = [{"conditionType": "example.com/a"}, {"conditionType": "example.com/b"}]
STRATEGIC = "application/strategic-merge-patch+json"


def conditions(engine: Engine, name: str = "a") -> dict[str, tuple[str, str, str]]:
    """Return (status, reason, message) of a pod's conditions by type."""
    found = engine.store.get("pods", "default", name)["status"]["conditions"]
    return {
        one["type"]: (one["status"], one.get("reason", ""), one.get("message", "")) for one in found
    }


def say(engine: Engine, **types: str) -> None:
    """Write conditions as a client does, and give the kubelet a second."""
    named = {"a": "example.com/a", "b": "example.com/b"}
    written = [{"type": named[name], "status": status} for name, status in types.items()]
    body = json.dumps({"status": {"conditions": written}}).encode()
    path = "/api/v1/namespaces/default/pods/a/status"
    request = Request("PATCH", path, {}, {"content-type": STRATEGIC}, body)
    assert Router(engine).handle(request).status == 200  # type: ignore[union-attr]
    engine.advance(engine.now + 1)


def test_a_pod_is_ready_when_its_gates_are_open(build: Build, create: Create) -> None:
    """ContainersReady comes first; Ready follows the conditions, both ways, in the kubelet's words."""
    engine = build()
    pod = create(engine, "a", readinessGates=GATES)
    engine.advance(engine.now + 60)
    status = engine.store.get("pods", "default", "a")["status"]
    assert status["containerStatuses"][0]["ready"] is True
    assert conditions(engine)["ContainersReady"] == ("True", "", "")
    text = [
        f'corresponding condition of pod readiness gate "example.com/{one}" does not exist.'
        for one in "ab"
    ]
    assert conditions(engine)["Ready"] == ("False", "ReadinessGatesNotReady", ", ".join(text))
    say(engine, a="False", b="True")
    text = ['the status of pod readiness gate "example.com/a" is not "True", but False']
    assert conditions(engine)["Ready"] == ("False", "ReadinessGatesNotReady", ", ".join(text))
    say(engine, a="True")
    assert conditions(engine)["Ready"] == ("True", "", "")
    assert pod.ready_at > pod.container_since
    say(engine, b="Unknown")
    assert conditions(engine)["Ready"][0] == "False"
    assert conditions(engine)["ContainersReady"][0] == "True"


def test_open_gates_do_not_make_a_pod_ready_before_its_containers(
    build: Build, create: Create
) -> None:
    """While they start, and when one has ended, both conditions are false for the containers' reason."""
    engine = build()
    probe = {"initialDelaySeconds": 30, "httpGet": {"port": 80}}
    pod = create(engine, "a", container={"readinessProbe": probe}, readinessGates=GATES[:1])
    engine.advance(engine.now + 20)
    say(engine, a="True")
    assert conditions(engine)["Ready"][:2] == ("False", "ContainersNotReady")
    engine.advance(engine.now + 60)
    assert conditions(engine)["Ready"][0] == "True"
    engine.kubelet.crash(pod.uid)
    engine.advance(engine.now + 0.001)
    for kind in ("Ready", "ContainersReady"):
        assert conditions(engine)[kind][:2] == ("False", "ContainersNotReady")


def test_a_rollout_waits_for_gates(build: Build) -> None:
    """A Deployment counts its pod as ready only when its gates are open."""
    engine = build()
    labels = {"app": "a"}
    pod_spec = {"containers": [{"name": "c", "image": "i"}], "readinessGates": GATES[:1]}
    template = {"metadata": {"labels": labels}, "spec": pod_spec}
    spec: dict[str, Any] = {"selector": {"matchLabels": labels}, "template": template}
    engine.store.create("deployments", "default", {"metadata": {"name": "d"}, "spec": spec})
    engine.advance(engine.now + 60)
    status = engine.store.get("deployments", "default", "d")["status"]
    assert status["unavailableReplicas"] == 1
    assert "readyReplicas" not in status


def test_a_continued_pod_has_its_gates(build: Build, create: Create) -> None:
    """A clone goes on alike; a state without gates is written as ever."""
    engine = build()
    create(engine, "a", readinessGates=GATES[:1])
    create(engine, "plain")
    engine.advance(engine.now + 60)
    other = engine.clone()
    assert other.state_hash() == engine.state_hash()
    for one in (engine, other):
        say(one, a="True")
        assert conditions(one)["Ready"][0] == "True"
    assert other.state_hash() == engine.state_hash()
