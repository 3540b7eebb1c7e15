"""`foresail recording import`: traces and event files of the predecessor system."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bus.events import event_of
from bus.exit_codes import ExitCode
from bus.recording import open_recording
from foresail.__main__ import main
from schemas.decision import Decision, RefereeRule
from schemas.imported import ImportedRow
from schemas.prediction import PredictionDemand, PredictionRisk

Object = dict[str, Any]
ROWS: list[Object] = [
    {
        "timestamp": 100,
        "nodes": [
            {"node_id": "n2", "cpu_util": "0.32", "mem_util": 0.28},
            {"node_id": "n1", "cpu_util": 0.91, "mem_util": 0.86, "disk_util": 0.24, "power_state": "on", "rack": 7},
        ],
        "tasks": [{"task_id": "t1", "node_id": "n1", "urgency": 0.9, "queue_priority": 3, "alive": "yes"}],
        "p_fail_scores": {"n1": 0.88, "n2": 0.12},
        "demand_projection": {"n1": 0.82, "n2": 0.22},
        "queue_length": 75,
        "sla_violations": 1,
    },
    {"timestamp": 160, "nodes": [], "tasks": []},
]  # fmt: skip
PROPOSALS = [
    {"agent": "AgentA", "kind": "replicate", "target": "w2", "score": 0.95, "priority": 1},
    {"agent": "AgentB", "kind": "power_state", "target": "w1", "score": 0.9, "priority": 3},
    {"agent": "AgentC", "kind": "admission", "target": None, "score": 1.0, "priority": 2},
]
LOOP = "live_kubernetes_loop"


def _line(kind: str, second: int, **more: Any) -> Object:
    time = f"2026-05-03T05:10:{second:02}+09:00"
    return {"time": time, "kind": kind, "stage": LOOP, "message": f"a {kind}", **more}


def _decision(second: int, agent: str, kind: str, **more: Any) -> Object:
    given = {
        "target": "w2",
        "payload": {},
        "score": 0.95,
        "priority": 1,
        "reason": "risk=0.95 on w2; sla=1",
    }
    return _line(
        "decision", second, agent=agent, action_kind=kind, proposals=PROPOSALS, **{**given, **more}
    )  # fmt: skip


LINES = [
    _line("stage", 0, name="brains", status="running", progress=0.2),
    _line("artifact", 1, label="risk", path="/home/somebody/models/risk.json"),
    _line("optuna", 1, study="s", trial=3, value=1.5, params={"alpha": 0.7}),
    _line("cluster", 2, nodes=2, tasks=3, queue_length=4, max_risk=0.95, max_risk_node="w2"),
    _decision(2, "AgentA", "replicate"),
    _line("reward", 2, step=0, rewards={"AgentA": 1.0}, total=1.0, action="AgentA:replicate"),
    _line("cluster", 5, nodes=2, tasks=3, queue_length=90),
    _decision(5, "AgentC", "admission", target=None, payload={"decision": "deprioritize"}),
    _line("cluster", 8, nodes=2),
    _decision(8, "AgentA", "throttle"),
    _line("error", 9),
]


def _trace(folder: Path, rows: object = ROWS) -> Path:
    path = folder / "trace.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def _events(folder: Path, lines: list[Object] = LINES, name: str = "events.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def _data(path: Path) -> list[Any]:
    return [event_of(message).data for message in open_recording(path)]


def _import(
    capsys: pytest.CaptureFixture[str], path: Path, name: str = "old.fslog"
) -> tuple[Path, Object]:
    out = path.with_name(name)
    assert main(["recording", "import", str(path), str(out), "--json"]) == ExitCode.GOOD
    answer: Object = json.loads(capsys.readouterr().out)
    return out, answer


def test_a_trace_keeps_every_figure_and_invents_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nodes, tasks, totals, risk and demand are the file's; what it lacks is missing, not zero."""
    out, answer = _import(capsys, _trace(tmp_path))
    first, risk, demand, second = _data(out)
    assert isinstance(first, ImportedRow)
    assert first.nodes is not None
    assert first.nodes.row(0) == {
        "ids": "n1", "cpu_util_ratio": 0.91, "mem_util_ratio": 0.86, "disk_util_ratio": 0.24,
        "net_util_ratio": None, "power_state": "on",
    }  # fmt: skip
    assert first.nodes.row(1)["disk_util_ratio"] is None
    assert first.tasks is not None
    assert first.tasks.row(0) == {
        "ids": "t1", "node": "n1", "urgency_ratio": 0.9, "queue_priority": 3, "alive": True
    }  # fmt: skip
    assert (first.queue_length, first.sla_violations, first.completed_tasks) == (75, 1, None)
    assert isinstance(risk, PredictionRisk)
    assert dict(zip(risk.nodes.ids, risk.nodes.risk_ratio, strict=True)) == {"n1": 0.88, "n2": 0.12}
    assert isinstance(demand, PredictionDemand)
    assert demand.nodes.demand_ratio == (0.82, 0.22)
    assert isinstance(second, ImportedRow)
    assert (second.cluster_time_seconds, second.node_count, second.queue_length) == (160.0, 0, None)
    left_out = {what: count for what, count, _ in answer["left_out"]}
    assert left_out == {"observations": 2, "nodes: rack": 1}


def test_an_event_file_keeps_its_decisions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Action, proposals and the rule that let it win; a decision that lacks what its action says here is counted."""
    out, answer = _import(capsys, _events(tmp_path))
    decisions = [data for data in _data(out) if isinstance(data, Decision)]
    assert [(one.cycle, one.action.full_kind) for one in decisions] == [
        (1, "replicate"),
        (2, "admission:deprioritize"),
    ]
    first, second = decisions
    assert (first.action.agent, first.action.target.name, first.score) == ("safety", "w2", 0.95)
    assert first.rule is RefereeRule.SAFETY_FIRST
    assert first.rationale == "risk=0.95 on w2; sla=1"
    assert first.selected == first.considered[0].id
    assert set(first.overridden) == {"efficiency", "admission"}
    assert first.overridden["efficiency"].loser_score == 0.9
    assert second.rule is RefereeRule.ADMISSION_PROTECTS
    left_out = {(what, count) for what, count, _ in answer["left_out"]}
    assert left_out == {("reward", 1), ("decision", 1)}
    assert answer["events"] == {
        "foresail.run.stage.v1": 1,
        "foresail.run.artifact.v1": 1,
        "foresail.run.trial.v1": 1,
        "foresail.imported.row.v1": 3,
        "foresail.decision.v2": 2,
        "foresail.run.error.v1": 1,
    }
    assert b"somebody" not in b"".join(message.data for message in open_recording(out))


def test_other_verbs_read_what_was_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`check` finds it whole, `diff` names the decision that differs, `to-parquet` has a table of nodes."""
    out, _ = _import(capsys, _events(tmp_path))
    again, _ = _import(capsys, _events(tmp_path), "again.fslog")
    assert out.read_bytes() == again.read_bytes()
    assert main(["recording", "check", str(out)]) == ExitCode.GOOD
    capsys.readouterr()
    changed = [*LINES[:4], _decision(2, "AgentA", "migrate"), *LINES[5:]]
    other, _ = _import(capsys, _events(tmp_path, changed, "other.jsonl"), "other.fslog")
    assert main(["diff", str(out), str(other)]) == ExitCode.DIFFERS
    assert "migrate" in capsys.readouterr().out
    assert main(["recording", "redact", str(out), str(tmp_path / "share.fslog")]) == ExitCode.GOOD
    assert b"w2" not in b"".join(one.data for one in open_recording(tmp_path / "share.fslog"))
    capsys.readouterr()
    rows, _ = _import(capsys, _trace(tmp_path), "rows.fslog")
    assert main(["recording", "to-parquet", str(rows), str(tmp_path / "tables")]) == ExitCode.GOOD
    assert any("imported" in path.name for path in (tmp_path / "tables").iterdir())
    assert main(["timeline", "--list", "--recording", str(rows)]) == ExitCode.NOTHING_COMPARED
    assert "Traceback" not in capsys.readouterr().err


BAD = [
    ([{**ROWS[0], "nodes": [{"node_id": "n", "cpu_util": -0.5, "mem_util": 0}]}], ["row 1: nodes[0].cpu_util", "-0.5"]),
    ([{**ROWS[0], "tasks": [{"task_id": "t1"}]}], ["row 1", "tasks[0].node_id", "(missing)"]),
    ([{**ROWS[0], "queue_length": "many"}], ["row 1", "queue_length", "many"]),
    ([{**ROWS[0], "nodes": [{"node_id": "n", "cpu_util": 0, "mem_util": 0}] * 2}], ["nodes", "'n'", "twice"]),
    (ROWS[::-1], ["row 2", "timestamp", "sort the rows"]),
    ([{**ROWS[0], "timestamp": 1e30}], ["timestamp", "seconds since the Unix epoch"]),
    ([3], ["row 1", "3", "JSON object"]),
    ([], ["no row"]),
    ([{"time": "2026-05-03T05:10:00", "kind": "stage"}], ["row 1: time", "timezone"]),
    ([{"colour": "red"}], ["neither timestamp nor time and kind"]),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "words"), BAD, ids=[" ".join(words) for _, words in BAD])
def test_a_bad_file_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: object, words: list[str]
) -> None:
    """Row, field, value and remedy in one line, exit code 2, and nothing is left behind."""
    out = tmp_path / "old.fslog"
    code = main(["recording", "import", str(_trace(tmp_path, rows)), str(out)])
    error = capsys.readouterr().err
    assert code == ExitCode.BAD_INPUT
    assert error.count("\n") == 1
    assert all(word in error for word in words), error
    assert [path.name for path in tmp_path.iterdir()] == ["trace.json"]


def test_a_half_written_line_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A crash of its writer leaves such a line; the message says which."""
    path = _events(tmp_path)
    path.write_text(path.read_text(encoding="utf-8")[:-20], encoding="utf-8")
    assert main(["recording", "import", str(path), str(tmp_path / "o")]) == ExitCode.BAD_INPUT
    assert f"row {len(LINES)}" in capsys.readouterr().err


def test_a_proposal_without_a_priority_has_that_of_its_agent(tmp_path: Path) -> None:
    """As in the files from before the predecessor wrote it."""
    proposals = [{k: v for k, v in one.items() if k != "priority"} for one in PROPOSALS]
    line = {**_decision(1, "AgentA", "replicate"), "proposals": proposals}
    file = tmp_path / "events.jsonl"
    lines = [_line("cluster", 0, nodes=2), line]
    file.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")

    assert main(["recording", "import", str(file), str(tmp_path / "old.fslog")]) == ExitCode.GOOD
    events = [event_of(message).data for message in open_recording(tmp_path / "old.fslog")]
    (decision,) = [one for one in events if isinstance(one, Decision)]
    assert [one.priority for one in decision.considered] == [1, 3, 2]
