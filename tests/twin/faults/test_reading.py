"""What is wrong with a scenario is said in one line that names the place and the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from bus.errors import InputError
from twin.faults import read_scenario, scenario_of

DEATH = "{fault: node_death, nodes: {names: [n1]}"


@pytest.mark.parametrize(
    ("text", "expected_text"),
    [
        (f"faults:\n- {DEATH}, duration_seconds: -3}}", "faults[0].duration_seconds = -3"),
        (f"faults:\n- {DEATH}, at_seconds: -1}}", "faults[0].at_seconds = -1"),
        (f"faults:\n- {DEATH}, at_seconds: '5'}}", "faults[0].at_seconds = 5"),
        (f"faults:\n- {DEATH}, at: 5}}", "faults[0].at = 5: unknown key; known here: at_seconds"),
        ("faults:\n- {fault: node_death, nodes: {name: n1}}", "nodes.name = n1: unknown key"),
        ("faults:\n- {fault: node_death}", "faults[0].nodes = missing"),
        ("faults:\n- {fault: node_deth}", "faults[0].fault = node_deth: give one of api_errors"),
        ("faults:\n- {at_seconds: 3}", "faults[0].fault = missing"),
        ("faults: []", "faults = []"),
        ("fault: []", "faults = missing"),
        ("[]", "begin with `faults:`"),
        ("faults: [", "line 1 = unreadable: correct the YAML"),
        ("faults:\n- {fault: slow_node, nodes: {}, speed_ratio: 2}", "speed_ratio = 2"),
        ("faults:\n- {fault: slow_node, nodes: {selector: 'a b'}, speed_ratio: 1}", "'a b' is no"),
        ("faults:\n- {fault: api_errors, status: 418}", "status = 418"),
        ("faults:\n- {fault: burst, count: true}", "count = True"),
        ("faults:\n- {fault: burst, count: 1, name: A_B}", "name = A_B"),
        (
            "faults:\n- {fault: watch_cut, at_time: 2026-01-01T00:10:00Z, at_seconds: 3}",
            "give at_seconds or at_time, not both",
        ),
        ("faults:\n- {fault: watch_cut, at_time: 2026-01-01T00:10:00}", "timezone"),
    ],
)
def test_a_wrong_scenario_is_one_clear_line(tmp_path: Path, text: str, expected_text: str) -> None:
    """The line names the file and the key; nothing else is printed."""
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_scenario(path)

    line = str(caught.value)
    assert expected_text in line
    assert line.startswith("s.yaml")
    assert "\n" not in line


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """A file that cannot be read is named with the reason."""
    with pytest.raises(InputError, match=r"gone.yaml: give a readable file \(No such file"):
        read_scenario(tmp_path / "gone.yaml")


def test_a_document_comes_back_as_itself(tmp_path: Path) -> None:
    """What a running twin is sent says exactly what the file said."""
    path = tmp_path / "s.yaml"
    path.write_text(
        f"name: x\nseed: 3\nfaults:\n- {DEATH}, at_time: 2026-01-01T00:10:00Z}}\n"
        "- {fault: metrics_gap, nodes: {selector: 'zone=a,!gone', pick: 2}}\n"
    )
    scenario = read_scenario(path)

    assert scenario_of(scenario.document(), "again") == scenario
    assert scenario.document()["faults"][1]["nodes"] == {"selector": "zone=a,!gone", "pick": 2}
