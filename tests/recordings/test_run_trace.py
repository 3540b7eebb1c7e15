"""`foresail run-trace`: a trace played as an episode gives what the predecessor's formulas give by hand."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bus.events import event_of
from bus.exit_codes import ExitCode
from bus.recording import open_recording
from foresail.__main__ import main
from lab.rerun.verify import verify
from schemas.decision import Decision
from schemas.outcome import OutcomeReward
from schemas.prediction import PredictionRisk

Row = dict[str, Any]
EXAMPLE = Path(__file__).parents[2] / "examples" / "predecessor" / "trace.jsonl"
ROWS = 200
QUEUES = (0, 0, 0, 3, 7, 8, 40, 79, 80, 119, 120, 300)


def random_rows(seed: int) -> list[Row]:
    """Return rows with every kind of decision in them."""
    draw = Random(seed)
    rows = []
    for number in range(ROWS):
        level = draw.choice((0.1, 0.3, 0.5, 0.8, 1.0))
        nodes = [
            {
                "node_id": f"worker{index}",
                "cpu_util": round(draw.random() * level, 3),
                "mem_util": round(draw.random() * level, 3),
            }
            for index in range(4)
        ]
        loads = [0.55 * node["cpu_util"] + 0.35 * node["mem_util"] for node in nodes]
        rows.append(
            {
                "timestamp": 1_777_777_200.0 + 10 * number,
                "nodes": nodes,
                "tasks": [],
                "p_fail_scores": {
                    f"worker{i}": round(max(load, draw.choice((0, 0, 0, draw.random()))), 4)
                    for i, load in enumerate(loads)
                },
                "demand_projection": {f"worker{i}": round(load, 4) for i, load in enumerate(loads)},
                "queue_length": draw.choice(QUEUES),
                "sla_violations": draw.choice((0, 0, 4)),
            }
        )
    return rows


def agent_a(row: Row) -> tuple[str, str, float]:
    """Return kind, target and score by the table of thresholds: 0.83, 0.70, 0.50 and the gate."""
    node, risk = max(row["p_fail_scores"].items(), key=lambda item: item[1])
    busy = next(one for one in row["nodes"] if one["node_id"] == node)
    if risk >= 0.83:
        return "replicate", node, risk
    if risk >= 0.70:
        return "migrate", node, risk
    if risk >= 0.50:
        pressed = row["sla_violations"] > 0 or row["queue_length"] >= 80
        if pressed and max(busy["cpu_util"], busy["mem_util"]) < 0.72:
            return "noop", "", risk
        return "throttle", node, risk
    return "noop", "", risk


def agent_b(row: Row) -> tuple[str, str, float]:
    """Return kind, target and score by demand: 0.12, 0.30, 0.45."""
    node, demand = min(row["demand_projection"].items(), key=lambda item: item[1])
    for bound, kind in ((0.12, "power_state:sleep"), (0.30, "dvfs"), (0.45, "memory_balloon")):
        if demand < bound:
            return kind, node, 1 - demand
    return "noop", "", 1 - demand


def agent_c(row: Row) -> tuple[str, str, float]:
    """Return kind, target and score by the queue, then by overloaded nodes."""
    queue, nodes = row["queue_length"], row["nodes"]
    fullest = max(nodes, key=lambda one: max(one["cpu_util"], one["mem_util"]))["node_id"]
    overloaded = sum(max(one["cpu_util"], one["mem_util"]) > 0.85 for one in nodes)
    if queue >= 120:
        return "resource_cap", fullest, 1.0
    if queue >= 80:
        return "admission:deprioritize", "", 0.95
    if queue >= 8:
        return "admission:queue", "", 0.9
    if row["sla_violations"] > 0 and queue > 0:
        return "admission:reject", "", 0.85
    if 2 * overloaded >= len(nodes):
        return "resource_cap", fullest, 1.0
    return "admission:admit", "", 1.0 if queue < 20 and not overloaded else 0.5


def by_hand(row: Row) -> tuple[str, str, str]:
    """Return agent, kind and target by the referee's five steps."""
    a, b, c = agent_a(row), agent_b(row), agent_c(row)
    if a[0] in {"migrate", "replicate", "throttle"}:
        return ("safety", *a[:2])
    if c[0] == "resource_cap" or c[0] in {
        "admission:queue",
        "admission:reject",
        "admission:deprioritize",
    }:
        return ("admission", *c[:2])
    if b[0] != "noop":
        return ("efficiency", *b[:2])
    return ("safety", *a[:2]) if a[0] != "noop" else ("admission", *c[:2])


def play(folder: Path, rows: list[Row], *more: str) -> Path:
    """Play rows; return the recording."""
    trace, out = folder / "trace.jsonl", folder / "episode.fslog"
    trace.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert main(["run-trace", str(trace), str(out), *more]) == 0
    return out


def data_of(recording: Path, kind: type[Any]) -> list[Any]:
    """Return the data of every event of a kind."""
    events = (event_of(message) for message in open_recording(recording))
    return [event.data for event in events if isinstance(event.data, kind)]


def test_two_hundred_rows_give_the_decisions_of_the_formulas(tmp_path: Path) -> None:
    """Agent, kind and target of every row, and every kind occurs; each row but the last is rewarded."""
    rows = random_rows(31)
    recording = play(tmp_path, rows)
    decisions = data_of(recording, Decision)

    expected = [by_hand(row) for row in rows]
    actual = [
        (one.action.agent, one.action.full_kind, _node(one.action.target)) for one in decisions
    ]
    assert actual == expected
    assert len({kind for _, kind, _ in expected}) >= 9
    rewarded = [one for one in data_of(recording, OutcomeReward) if one.observed is not None]
    assert len(rewarded) >= ROWS - 2


def _node(target: Any) -> str:
    return str(target.name) if target.kind == "node" else ""


def test_the_recording_is_one_like_any_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It verifies to the byte, explains, and answers what-if; the same trace gives the same bytes."""
    rows = random_rows(7)[:30]
    recording = play(tmp_path, rows)
    report = verify(recording)
    assert not any(layer.different for layer in report.layers.values())
    assert report.layers["decision"].equal == 30
    assert main(["explain", "3", "--recording", str(recording)]) == 0
    assert "given/1" in capsys.readouterr().out
    given = ["what-if", str(recording), "--set", "agents.safety.replicate=0.75", "--json"]
    assert main(given) == 0
    (tmp_path / "again").mkdir()
    assert play(tmp_path / "again", rows).read_bytes() == recording.read_bytes()


def test_risk_of_the_rows_may_be_kept_above_the_formula(tmp_path: Path) -> None:
    """`given-or-live/1` is the predecessor's max(live, predicted); `given/1` takes the row's word."""
    row = {
        "timestamp": 10.0,
        "nodes": [{"node_id": "n", "cpu_util": 1.0, "mem_util": 1.0}],
        "tasks": [],
        "p_fail_scores": {"n": 0.2},
    }
    risks = []
    for model in ("given/1", "given-or-live/1", "seed-formula/1"):
        folder = tmp_path / model.replace("/", "-")
        folder.mkdir()
        (risk,) = data_of(play(folder, [row], "--model", model), PredictionRisk)
        risks.append(risk.nodes.risk_ratio[0])
    assert risks == [0.2, 0.9, 0.9]


def test_a_part_of_a_trace_is_played(tmp_path: Path) -> None:
    """From an offset on, so many rows, so many nodes."""
    more = ("--offset", "5", "--max-rows", "3", "--max-nodes", "2")
    risks = data_of(play(tmp_path, random_rows(1), *more), PredictionRisk)

    assert [one.cluster_time_seconds for one in risks] == [
        1_777_777_250.0 + 10 * i for i in range(3)
    ]
    assert {one.nodes.ids for one in risks} == {("worker0", "worker1")}


@pytest.mark.parametrize(
    ("content", "more", "words"),
    [
        ('{"time": "2026-01-01T00:00:00Z", "kind": "stage"}', (), "give a trace"),
        ('{"timestamp": 1, "nodes": [], "tasks": []}', ("--offset", "1"), "the trace has 1 rows"),
        ('{"timestamp": 1, "nodes": [], "tasks": []}', ("--max-rows", "0"), "give 1 or more"),
        ('{"timestamp": 1, "nodes": [{"node_id": "n"}], "tasks": []}', (), "cpu_util"),
        ('{"timestamp": 2, "nodes": [], "tasks": []}\n' * 2, (), "sort the rows by time"),
    ],
)
def test_what_cannot_be_played_is_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: str,
    more: tuple[str, ...],
    words: str,
) -> None:
    """Row, field, value and remedy; no recording is left."""
    trace, out = tmp_path / "trace.jsonl", tmp_path / "out.fslog"
    trace.write_text(content, encoding="utf-8")

    assert main(["run-trace", str(trace), str(out), *more]) == ExitCode.BAD_INPUT
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert not out.exists()


def test_names_of_the_rows_are_redacted(tmp_path: Path) -> None:
    """Those of nodes in what the rows foresee, too; the result verifies."""
    recording = play(tmp_path, random_rows(3)[:12])
    redacted = tmp_path / "redacted.fslog"
    assert main(["recording", "redact", str(recording), str(redacted)]) == 0

    assert not any(b"worker" in message.data for message in open_recording(redacted))
    assert verify(redacted).layers["decision"].equal == 12
