"""Which agents can stand beside one another, and what an unknown agent is called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schemas.agents import (
    AgentManifest,
    BadRegistration,
    action_label,
    agent_manifests,
    check_manifests,
    letter_of,
    manifest_of,
    names_in_referee_order,
    read_manifest,
    referee_place,
)
from tests.builders import make_action


def fourth(name: str = "fourth", **fields: Any) -> AgentManifest:
    """Return a manifest that differs from all others, but for `fields`."""
    safety = agent_manifests()["safety"].model_dump(exclude={"name"})
    return manifest_of(name, {**safety, "letter": "D", "order": 4, **fields})


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"letter": "A"}, "fourth: letter = 'A': safety has it already"),
        ({"order": 2}, "fourth: order = 2: admission has it already"),
        ({"name": "no/name"}, "no/name: name = 'no/name': write it as ^[a-z][a-z0-9_]{0,39}$"),
        (
            {"letter": "R"},
            "fourth: letter = 'R': use one capital letter, not R, which is the referee's",
        ),
        (
            {"letter": "dd"},
            "fourth: letter = 'dd': use one capital letter, not R, which is the referee's",
        ),
        ({"order": 0}, "fourth: order = 0: use a number from 1 on"),
        ({"colour": "blue"}, "fourth: colour = 'blue': write it as #rrggbb in lowercase"),
        ({"letters": "D"}, "fourth: letters = 'D': Extra inputs are not permitted"),
    ],
)
def test_a_registration_that_cannot_be_used_is_named(fields: dict[str, Any], line: str) -> None:
    """The error names the folder, the field, its value and what to do."""
    with pytest.raises(BadRegistration) as caught:
        check_manifests([*agent_manifests().values(), fourth(**fields)])

    assert str(caught.value) == f"services/agents/{line}"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (None, "agent.toml = 'No such file"),
        ("letter = D", "agent.toml = 'Invalid value"),
        ('letter = "D"', "order = None: use a number from 1 on"),
    ],
)
def test_a_folder_without_a_usable_file_is_named(
    tmp_path: Path, text: str | None, line: str
) -> None:
    """A missing file, one that is no TOML and one that says too little are told from each other."""
    folder = tmp_path / "fourth"
    folder.mkdir()
    if text is not None:
        (folder / "agent.toml").write_text(text, encoding="utf-8")

    with pytest.raises(BadRegistration) as caught:
        read_manifest(folder)

    assert str(caught.value).startswith(f"services/agents/fourth: {line}")


def test_agents_come_by_letter_and_in_the_referees_order() -> None:
    """A fourth agent stands behind the three, whatever its folder is called."""
    agents = check_manifests([fourth(), *agent_manifests().values()])

    assert [agent.letter for agent in agents.values()] == ["A", "B", "C", "D"]
    assert names_in_referee_order() == ("safety", "admission", "efficiency")


def test_an_agent_that_is_not_installed_goes_by_its_name_and_comes_last() -> None:
    """A recording of another installation can be read: only letter and place are not known."""
    assert letter_of("unheard") == "unheard"
    assert action_label(make_action("unheard")).startswith("Agentunheard:")
    assert sorted(["unheard", "efficiency", "safety"], key=referee_place) == [
        "safety",
        "efficiency",
        "unheard",
    ]
