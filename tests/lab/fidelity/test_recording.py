"""Recordings keep what looks saw, and survive being written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bus.errors import InputError
from lab.fidelity.recording import Observer, read_recording
from lab.fidelity.scenario import read_scenario


def pod(name: str, **more: Any) -> dict[str, Any]:
    """Return a Pod of the app `web`, version 1; `ready`, `node` and `deleted` say how far it is."""
    meta: dict[str, Any] = {
        "name": name,
        "uid": name,
        "labels": {"app": "web", "fidelity/version": "1"},
    }
    if "deleted" in more:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    status = {"conditions": [{"type": "Ready", "status": more.get("ready", "False")}]}
    return {"metadata": meta, "spec": {"nodeName": more.get("node", "")}, "status": status}


def node(name: str, **spec: Any) -> dict[str, Any]:
    """Return a ready Node of a rented machine."""
    labels = {"node.kubernetes.io/instance-type": "small", "karpenter.sh/capacity-type": "spot"}
    status = {"conditions": [{"type": "Ready", "status": "True"}]}
    return {
        "metadata": {"name": name, "uid": name, "labels": labels},
        "spec": spec,
        "status": status,
    }


def observer() -> Observer:
    """Return one that saw a pod and a node come and go."""
    seen = Observer("made-up", 10.0)
    taint = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
    event = {"involvedObject": {"kind": "Pod"}, "reason": "Evicted"}
    seen.look(0.0, [pod("web-x7f")], [], [])
    seen.look(1.04, [pod("web-x7f", node="kwok-1")], [node("kwok-1")], [])
    seen.look(
        2.0,
        [pod("web-x7f", node="kwok-1", ready="True")],
        [node("kwok-1", taints=[taint])],
        [event],
    )
    seen.look(3.0, [pod("web-x7f", node="kwok-1", deleted=True)], [], [event])
    seen.look(4.0, [], [], [])
    seen.look(5.0, [], [], [])  # what is gone stays gone
    return seen


def test_looks_become_lives() -> None:
    """Each time is the one of the first look that saw it; generated names are numbered instead."""
    found = observer().recording({"program": "1"}, [])
    (life,) = found.pods
    assert (life.name, life.node, life.version) == ("web#1", "small/spot#1", "1")
    times = (life.created, life.bound, life.ready, life.unready, life.terminating, life.gone)
    assert times == (0.0, 1.0, 2.0, 3.0, 3.0, 4.0)
    (machine,) = found.nodes
    assert (machine.registered, machine.ready, machine.cordoned, machine.gone) == (
        1.0,
        1.0,
        2.0,
        3.0,
    )
    assert found.events == {"Pod Evicted": 2.0}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """A recording is the same after its way through a file."""
    found = observer().recording({"program": "1"}, [(1.0, "eviction", 429)])
    file = tmp_path / "made-up.json"
    file.write_text(found.text(), encoding="utf-8")
    assert read_recording(file) == found


@pytest.mark.parametrize("text", ["", "{}", '{"pods": [[1]], "nodes": [], "answers": []}'])
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, text: str) -> None:
    """The error names the file and the remedy."""
    file = tmp_path / "broken.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"broken\.json.*measure it again"):
        read_recording(file)


def test_an_unknown_scenario_is_refused() -> None:
    """The error names those there are."""
    with pytest.raises(InputError, match="rolling-update"):
        read_scenario("rolling-updates")
