"""Which registrations can stand beside one another, and what an unknown agent is called."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from agent_registry.discovery import (
    BadRegistration,
    action_label,
    check_registrations,
    letter_of,
    names_in_referee_order,
    referee_place,
    registered_agents,
)
from agent_registry.registration import AnyAgent
from tests.builders import make_action


def agent_like_safety(**fields: Any) -> tuple[str, AnyAgent]:
    """Return a folder's name with a registration that differs from all others, but for `fields`."""
    safety = registered_agents()[0]
    usual = {"name": "fourth", "letter": "D", "order": 4}
    return "fourth", dataclasses.replace(safety, **{**usual, **fields})


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"letter": "A"}, "services/agents/fourth: letter = 'A': safety has it already"),
        ({"order": 2}, "services/agents/fourth: order = 2: admission has it already"),
        (
            {"name": "other"},
            "services/agents/fourth: name = 'other': use the folder's name, fourth",
        ),
        (
            {"letter": "R"},
            "services/agents/fourth: letter = 'R': use another one; R is the referee",
        ),
        ({"letter": "dd"}, "services/agents/fourth: letter = 'dd': use one capital letter"),
        ({"order": 0}, "services/agents/fourth: order = 0: use a number from 1 on"),
        (
            {"colour": "blue"},
            "services/agents/fourth: colour = 'blue': write it as #rrggbb in lowercase",
        ),
    ],
)
def test_a_registration_that_cannot_be_used_is_named(fields: dict[str, Any], line: str) -> None:
    """The error names the folder, the field, its value and what to do."""
    others = [(agent.name, agent) for agent in registered_agents()]

    with pytest.raises(BadRegistration) as caught:
        check_registrations([*others, agent_like_safety(**fields)])

    assert str(caught.value) == line


def test_agents_come_by_letter_and_in_the_referees_order() -> None:
    """A fourth agent stands behind the three, whatever its folder is called."""
    others = [(agent.name, agent) for agent in registered_agents()]

    agents = check_registrations([agent_like_safety(), *others])

    assert [agent.letter for agent in agents] == ["A", "B", "C", "D"]
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
