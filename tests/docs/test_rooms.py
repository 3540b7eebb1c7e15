"""The picture of the rooms: what the imports are, without cycles, and short to read."""

from __future__ import annotations

from collections import Counter

from docs.make_rooms import (
    MOST_LINES,
    MOST_VALUE_LINES,
    PAGE,
    SHARED,
    import_graph,
    layers,
    page,
    path_files,
    reduce_edges,
    room_edges,
    rule_lines,
    wrong_arrows,
)


def test_the_picture_is_drawn_from_the_imports() -> None:
    """The rooms in docs/architecture.md are the imports of today: `python -m docs.make_rooms`."""
    text = PAGE.read_text(encoding="utf-8")

    assert page(text) == text


def test_no_arrow_goes_upwards_or_in_a_circle() -> None:
    """Rooms import downwards only, and services never one another."""
    assert [] == wrong_arrows(room_edges(import_graph()), layers())


def test_wrong_arrows_are_named() -> None:
    """An arrow upwards, one between services, and a cycle of siblings are each found."""
    order = [["foresail", "lab"], ["services"], ["bus"]]
    edges = Counter(
        {
            ("bus", "services/referee"): 1,
            ("services/agents", "services/referee"): 1,
            ("services/agents", SHARED): 1,
            ("foresail", "lab"): 1,
            ("lab", "foresail"): 1,
        }
    )

    wrong = wrong_arrows(edges, order)

    assert wrong[:2] == ["bus -> services/referee", "services/agents -> services/referee"]
    assert wrong[2].startswith("cycle: ")
    assert len(wrong) == 3


def test_an_arrow_that_follows_from_others_is_left_out() -> None:
    """Only the arrows that no longer way implies are drawn."""
    assert [("a", "b"), ("b", "c")] == reduce_edges({("a", "b"): 1, ("b", "c"): 1, ("a", "c"): 1})


def test_the_way_from_snapshot_to_decision_is_short() -> None:
    """All four steps are on the way: at most 2,450 lines by rules, and 3,870 more by expected value."""
    graph = import_graph()
    files = path_files(graph)

    folders = {name.split("/")[1] for name in files if name.startswith("services/")}
    assert {"collector", "inference", "agents", "referee"} <= folders
    rules = rule_lines(graph)
    assert 0 < sum(files.values()) - rules <= MOST_VALUE_LINES
    assert rules <= MOST_LINES
