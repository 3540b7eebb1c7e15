"""Faults of a scenario is said in one line that names the place and the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from inputs.errors import InputError
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
        ("fault: []", "faults = missing: add this key"),
        ("machines: []", "s.yaml = a file of machines: give it to --machines"),
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
        (
            "faults:\n- {fault: user_write, verb: delete, resource: widgets, name: a}",
            "'widgets'; known: namespaces",
        ),
        (
            "faults:\n- {fault: user_write, verb: patch, resource: pods, name: a}",
            "give object to create and patch",
        ),
        ("faults:\n- {fault: traffic}", "give factor or traffic"),
        ("faults:\n- {fault: traffic, factor: -1}", "factor = -1"),
        ("faults:\n- {fault: traffic, factor: 2, services: [A b]}", "'A b' is no Service"),
        ("faults:\n- {fault: traffic, traffic: steady 4}", "give one of constant"),
        ("faults:\n- {fault: traffic, traffic: file ../x.csv}", "beside the scenario"),
        ('faults:\n- {fault: traffic, traffic: "file a\\0b.csv"}', "beside the scenario"),
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"name: s\nfaults:\n- {DEATH}}}\n- {DEATH}, at_seconds: -1}}",
            "s.yaml line 4: faults[1].at",
        ),
        (
            "faults:\n- fault: traffic\n  services: [a]\n  factor: x\n",
            "s.yaml line 4: faults[0].factor",
        ),
        (
            "faults:\n- fault: traffic\n\n  traffic: daily low=1\n",
            "s.yaml line 4: faults[0].traffic",
        ),
        ("name: s\nfaults:\n  - at_seconds: 3\n", "s.yaml line 3: faults[0].fault = missing"),
        ("name: s\n\nfaults:\n- fault: node_death\n", "s.yaml line 4: faults[0].nodes = missing"),
        ("name: s\nseed: -2\nfaults: []\n", "s.yaml line 2: seed = -2"),
        ('{"name": "s",\n "faults": [\n  {"fault": "traffic"}]}', "s.yaml line 3: faults[0]"),
    ],
)
def test_the_line_of_what_is_wrong_is_named(tmp_path: Path, text: str, expected: str) -> None:
    """YAML in blocks or in one line, and JSON: the line of the key, or of the fault that lacks it."""
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_scenario(path)
    assert expected in str(caught.value)


def test_a_bad_line_of_a_rate_file_is_named(tmp_path: Path) -> None:
    """The file of rates that a fault names is checked line by line, before anything is played."""
    (tmp_path / "rates.csv").write_text("time_seconds,requests_per_second\n0,5\n60,many\n")
    path = tmp_path / "s.yaml"
    path.write_text("faults:\n- {fault: traffic, traffic: file rates.csv}\n")
    with pytest.raises(
        InputError, match=r"rates.csv line 3: requests_per_second = many: give a num"
    ):
        read_scenario(path)


def test_a_rate_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The file that a fault names is looked for beside the scenario."""
    path = tmp_path / "s.yaml"
    path.write_text("faults:\n- {fault: traffic, traffic: file gone.csv}\n")
    with pytest.raises(InputError, match=r"rate file = gone.csv: give a readable UTF-8 file"):
        read_scenario(path)


def test_a_running_twin_reads_no_files() -> None:
    """A scenario that comes over the API carries its rates itself."""
    with pytest.raises(InputError, match="'file' is no kind of traffic"):
        scenario_of({"faults": [{"fault": "traffic", "traffic": "file rates.csv"}]}, "scenario")


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
