"""Taps on a recording: which events they show, and how."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bus.exit_codes import ExitCode
from foresail.__main__ import main
from foresail.tap_subject import kinds_on
from projections.event_condition import condition
from projections.event_text import HEADING
from schemas.registry import EVENT_TYPES
from tests.builders import make_proposal, stamp_event
from tests.tap.conftest import events_of_layers, write_recording

Tap = Callable[..., list[str]]


def seqs(lines: list[str]) -> list[int]:
    """Return the positions that lines begin with."""
    return [int(line.split()[0]) for line in lines]


def test_a_layer_is_everything_below_it(tap: Tap) -> None:
    """`prediction` means both predictions, `decision` the decisions, nothing means all."""
    assert seqs(tap("prediction")) == [2, 5, 6]
    assert seqs(tap("proposal.admission")) == [3, 8]
    assert seqs(tap()) == list(range(1, 12))


def test_a_line_says_position_time_subject_and_what(tap: Tap) -> None:
    """One readable line for each event."""
    (line,) = tap("decision")
    assert line.split()[:5] == ["9", "00:00:20", "decision", "cycle", "2"]


@pytest.mark.parametrize("name", ["A", "a", "safety"])
def test_an_agent_is_named_by_letter_or_name(tap: Tap, name: str) -> None:
    """Only what that agent proposed, won and had executed."""
    assert seqs(tap("--agent", name)) == [7, 9, 10]


def test_a_node_shows_its_row_its_numbers_and_what_happened_to_it(tap: Tap) -> None:
    """Tables shrink to the node's row, deltas to its changed cells, others must be about it."""
    lines = tap("--node", "node-1")

    assert seqs(lines) == [1, 2, 4, 5, 6, 7, 9, 10, 11]
    assert "cpu_requested_ratio=0.9" in lines[2]
    assert "pods=" not in lines[2]
    assert lines[3].endswith("risk 0.95")
    assert lines[-1].endswith("node node-1 is gone")


def test_where_asks_the_data_and_the_envelope(tap: Tap) -> None:
    """Only events for which the expression holds."""
    assert seqs(tap("proposal", "--where", "score > 0.8")) == [3, 7]
    assert seqs(tap("--where", "layer == 'prediction' and nodes.risk_ratio > 0.9")) == [5]
    assert seqs(tap("--where", "seq <= 2")) == [1, 2]


def test_one_cycle_and_since(tap: Tap) -> None:
    """A cycle's events; the newest so many events, or seconds of recorded time."""
    assert seqs(tap("--cycle", "1")) == [1, 2, 3]
    assert seqs(tap("--since", "3")) == [9, 10, 11]
    assert seqs(tap("--since", "4s")) == [7, 8, 9, 10, 11]
    assert seqs(tap("--limit", "2")) == [1, 2]


def test_json_lines_hold_headers_and_data(tap: Tap) -> None:
    """Each line is one JSON object."""
    actual = [json.loads(line) for line in tap("decision", "--json")]
    assert [one["seq"] for one in actual] == [9]
    assert actual[0]["attributes"]["type"] == "foresail.decision.v2"
    assert actual[0]["data"]["cycle"] == 2


@pytest.mark.parametrize(
    ("arguments", "expected_text"),
    [
        (("--agent", "D"), "give one of A or safety"),
        (("decision", "--where", "scor > 1"), "did you mean score?"),
        (("decision", "--where", "action.knd == 'noop'"), "no event here has `action.knd`"),
        (("decision", "--where", "score = 1"), "write == to compare"),
        (("a..b",), "name a layer"),
        (("decison",), "LAYER = decison: did you mean decision?"),
        (("outcome.exection",), "did you mean outcome.execution?"),
        (("proposal.safty",), "did you mean proposal.safety?"),
        (("foresail.test.decison",), "did you mean decision?"),
        (("zzz",), "known: checkpoint, config, control"),
        (("--node", "node-11"), "there is no such node; did you mean node-1?"),
        (("decision", "--cycle", "40"), "there is no such cycle; it holds cycles 1 to 3"),
    ],
)
def test_a_mistake_is_one_line(tap: Tap, arguments: tuple[str, ...], expected_text: str) -> None:
    """Exit code 2, and one line that names field, value and remedy."""
    (line,) = tap(*arguments, code=2)
    assert expected_text in line


def test_proposals_of_an_agent_that_is_not_installed_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name that the recording holds is no mistake; a name near it is told which."""
    events = [*events_of_layers(), stamp_event(make_proposal("stranger", cycle=3), seq=12)]
    file = write_recording(tmp_path / "run.fslog", events)

    assert ExitCode.GOOD == main(["tap", "proposal.stranger", "--recording", str(file)])
    assert "proposal.stranger" in capsys.readouterr().out
    assert ExitCode.BAD_INPUT == main(["tap", "proposal.strangr", "--recording", str(file)])
    assert "did you mean proposal.stranger?" in capsys.readouterr().err


@pytest.mark.parametrize("asked", [("stimulus",), ("decision", "--cycle", "1")])
def test_a_tap_that_shows_nothing_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: tuple[str, ...]
) -> None:
    """A layer without an event, or a filter that takes none, is no mistake, and is not silent."""
    file = write_recording(tmp_path / "run.fslog", events_of_layers())

    assert ExitCode.GOOD == main(["tap", *asked, "--recording", str(file)])
    printed = capsys.readouterr()
    assert "" == printed.out
    assert "no stored event matches" in printed.err


def test_every_field_of_every_event_can_be_asked_for() -> None:
    """No field that an event has is called unknown, at any depth that the models name."""
    for kind in EVENT_TYPES:
        pattern = ".".join(kind.PATTERN)
        assert kind in kinds_on(pattern)
        for name in kind.model_fields:
            assert condition(f"{name} != null", kinds_on(pattern)).paths()
    assert condition(
        "frame.deltas.nodes.cells.ready.values == true", kinds_on("observation")
    ).paths()
    assert condition("settings.anything.at_all > 1", kinds_on("config.>")).paths()


def test_an_observation_shows_every_row(tap: Tap) -> None:
    """Also that of a cycle that travelled as a delta, begun inside the chain; `--raw` does not."""
    lines = tap("observation", "--cycle", "2")
    assert lines[0].split()[0] == "4"
    assert [line.split()[:2] for line in lines[1:]] == [["nodes", "node-0"], ["nodes", "node-1"]]
    assert "cpu_requested_ratio=0.9" in lines[2]
    assert "pods=" in lines[1]
    assert len(tap("observation", "--cycle", "2", "--raw")) == 1


def test_json_of_an_observation_has_its_tables(tap: Tap) -> None:
    """Whole by default, so that a script needs no state; as stored with `--raw`."""
    (line,) = tap("observation", "--cycle", "2", "--json")
    nodes = json.loads(line)["data"]["nodes"]
    assert nodes["ids"] == ["node-0", "node-1"]
    assert nodes["cpu_requested_ratio"][1] == 0.9
    (raw,) = tap("observation", "--cycle", "2", "--json", "--raw")
    stored = json.loads(raw)["data"]
    assert stored["nodes"] is None
    assert stored["frame"]["deltas"]["nodes"]["cells"]


def test_where_sees_the_rows_that_a_delta_leaves_out(tap: Tap) -> None:
    """A cell that did not change in this cycle still holds."""
    actual = tap("observation", "--where", "nodes.pods >= 0", "--json")
    assert [json.loads(line)["seq"] for line in actual] == [1, 4]


def test_a_chain_without_its_keyframe_is_shown_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log dropped the keyframe: the delta is shown as stored, and nothing crashes."""
    events = [event for event in events_of_layers() if event.seq >= 4]
    file = write_recording(tmp_path / "late.fslog", events)

    assert ExitCode.GOOD == main(["tap", "observation", "--recording", str(file)])
    heading, line = capsys.readouterr().out.splitlines()
    assert heading == HEADING
    assert line.split()[0] == "4"
