"""`foresail architecture`: who reads and publishes what, as the code has it."""

from __future__ import annotations

import json

import pytest

from bus.identities import identity_of
from foresail.__main__ import main
from foresail.architecture import overlap
from services.executor.ledger.handler import ExecutorHandler


def test_json_says_what_rights_and_handlers_say(capsys: pytest.CaptureFixture[str]) -> None:
    """What the executor may publish, what it reads, and what goes from whom to whom."""
    assert main(["architecture", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    by_name = {one["name"]: one for one in said["processes"]}
    identity = identity_of("executor")
    assert identity is not None
    assert by_name["executor"]["publishes"] == [".".join(tokens) for tokens in identity.publishes]
    assert by_name["executor"]["reads"] == [".".join(tokens) for tokens in ExecutorHandler.reads]
    assert {"from": "referee", "to": "executor", "families": ["decision"]} in said["flows"]
    assert not [
        one for one in said["flows"] if one["from"] == "executor" and one["to"] == "referee"
    ]


def test_mermaid_is_a_flowchart(capsys: pytest.CaptureFixture[str]) -> None:
    """One arrow for each pair, with the families of events on it."""
    assert main(["architecture", "--mermaid"]) == 0
    first, *arrows = capsys.readouterr().out.splitlines()
    assert first == "flowchart LR"
    assert "    exerciser -->|stimulus| executor" in arrows
    assert len(arrows) == len(set(arrows))


@pytest.mark.parametrize(
    ("left", "right", "fits"),
    [
        ("outcome.*", "outcome.reward", True),
        ("prediction.>", "prediction.shadow.1", True),
        ("prediction.*", "prediction.shadow.1", False),
        ("observation", "untouched.observation", False),
    ],
)
def test_patterns_overlap_where_a_subject_fits_both(left: str, right: str, *, fits: bool) -> None:
    """Token by token, as the server compares them."""
    assert overlap(left.split("."), right.split(".")) is fits
