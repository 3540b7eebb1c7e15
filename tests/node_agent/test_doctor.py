"""`foresail doctor` says which nodes have an agent, which version, and what each lack costs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foresail.__main__ import main
from foresail.node_agent_checks import judge_agents
from schemas.node_annotations import NodeLimit
from schemas.node_limits import AgentReport, LimitReport, LimitState
from services.node_agent_lists import NodeAgents
from tests.node_agent.test_process import twin_kubeconfig  # noqa: F401 - a fixture

CLOCK, CPU = NodeLimit.CLOCK_SCALE, NodeLimit.CPU_CAP


def said(*can: NodeLimit, version: str = "0.1.0", refused: str = "") -> AgentReport:
    """Return what an agent says."""
    limit = LimitReport(limit=CLOCK, value="2", state=LimitState.REFUSED, text=refused)
    limits = (limit,) if refused else ()
    return AgentReport(version=version, can=can, heartbeat_seconds=300.0, limits=limits)


def test_it_counts_nodes_versions_and_means() -> None:
    """Three of five nodes, of which two can hold clocks."""
    live = {"a": said(CLOCK, CPU), "b": said(CLOCK), "c": said(version="0.2.0")}
    found = judge_agents(NodeAgents(5, live, ()))
    text = "3 of 5 nodes have one (0.1.0 on 2, 0.2.0 on 1); clock-scale on 2, cpu-cap on 1"
    assert (found.ok, found.found) == (True, text)


def test_a_silent_agent_and_a_refused_limit_are_troubles() -> None:
    """With the names, and where to look."""
    silent = tuple(f"n{number}" for number in range(5))
    found = judge_agents(
        NodeAgents(6, {"a": said(CLOCK, refused="clock-scale 2: give a ratio")}, silent)
    )
    assert not found.ok
    assert "silent on n0, n1, n2 and 2 more" in found.found
    assert "a refuses clock-scale 2: give a ratio" in found.found
    assert "get pods" in found.remedy


@pytest.mark.twin
def test_a_cluster_without_agents_is_told_what_it_lacks(
    twin_kubeconfig: Path,  # noqa: F811 - the fixture
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is no fault: agents are optional."""
    main(["doctor", "--kubeconfig", str(twin_kubeconfig), "--json"])
    findings = json.loads(capsys.readouterr().out)
    (found,) = [one for one in findings if one["check"] == "node agents"]
    assert found["ok"]
    assert "clock limits (dvfs) are no candidate" in found["found"]
