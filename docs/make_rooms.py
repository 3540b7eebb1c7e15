"""Draw the rooms in docs/architecture.md from the imports: `python -m docs.make_rooms`.

A room is a top-level package, or a service: a folder of `services/` that runs as a process. The command refuses
to draw a cycle or an arrow upwards, and prints how many lines one reads from a snapshot to a decision; a test fails
when the picture is out of date or the path is too long.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
PAGE = Path(__file__).with_name("architecture.md")
SHARED = "services/*.py"
"""The room of what all services share: files, and folders that are no process."""
MOST_LINES = 2_450
"""Lines from snapshot to decision by the baseline's rules, so that a newcomer reads them in a day."""
MOST_VALUE_LINES = 3_870
"""Lines on top of them that judge by expected value; 360 of them fit requests and mark machines."""
ALSO_BY_VALUE = (
    "services/collector/observed_services.py",
    "services/referee/rules/highest_value.py",
)
"""What the way by rules imports for the sake of expected value."""
_BLOCK = re.compile(r"(<!-- begin rooms -->\n).*?(<!-- end -->)", re.DOTALL)

Edges = Mapping[tuple[str, str], int]
"""(importer, imported) -> number of imports."""


def layers() -> list[list[str]]:
    """Return the top-level packages of pyproject.toml's layers, the uppermost first."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = config["tool"]["importlinter"]["contracts"]
    drawn = next(each for each in contracts if each["type"] == "layers")
    return [re.split(r"\s*[:|]\s*", layer) for layer in drawn["layers"]]


def import_graph() -> grimp.ImportGraph:
    """Return the imports between all modules of the repository's packages."""
    return grimp.build_graph(*(name for layer in layers() for name in layer), cache_dir=None)


def room_of(module: str) -> str:
    """Return the room in which a module stands."""
    first, *rest = module.split(".")
    if first != "services":
        return first
    if rest and (ROOT / "services" / rest[0] / "__main__.py").is_file():
        return f"services/{rest[0]}"
    return SHARED


def room_edges(graph: grimp.ImportGraph) -> Counter[tuple[str, str]]:
    """Return how often each room imports each other one."""
    edges: Counter[tuple[str, str]] = Counter()
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            pair = (room_of(module), room_of(imported))
            if pair[0] != pair[1]:
                edges[pair] += 1
    return edges


def wrong_arrows(edges: Edges, order: list[list[str]]) -> list[str]:
    """Return what must not be: arrows upwards, between services, and a cycle of rooms.

    Args:
        edges: imports between rooms.
        order: top-level packages, the uppermost first.
    """
    rank = {name: place for place, layer in enumerate(order) for name in layer}
    wrong = []
    for importer, imported in sorted(edges):
        below, above = importer.split("/")[0], imported.split("/")[0]
        upwards = rank[below] > rank[above]
        between = below == above == "services" and imported != SHARED
        if upwards or between:
            wrong.append(f"{importer} -> {imported}")
    waits = defaultdict(set)
    for importer, imported in edges:
        waits[importer].add(imported)
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as error:
        wrong.append("cycle: " + " -> ".join(error.args[1]))
    return wrong


def reduce_edges(edges: Edges) -> list[tuple[str, str]]:
    """Return the arrows without those that a longer way of arrows implies."""
    follows = defaultdict(set)
    for importer, imported in edges:
        follows[importer].add(imported)

    def reaches(start: str, goal: str) -> bool:
        return any(next_room == goal or reaches(next_room, goal) for next_room in follows[start])

    return sorted(
        (importer, imported)
        for importer, imported in edges
        if not any(
            between != imported and reaches(between, imported) for between in follows[importer]
        )
    )


def picture(edges: Edges, order: list[list[str]]) -> str:
    """Return the rooms as a Mermaid flowchart, one row of boxes per layer."""
    rooms = sorted({room for pair in edges for room in pair})
    lines = ["```mermaid", "flowchart TD"]
    for place, layer in enumerate(order):
        lines.append(f'    subgraph layer{place}[" "]')
        lines += [
            f'        {_key(room)}["{room}"]' for room in rooms if room.split("/")[0] in layer
        ]
        lines.append("    end")
    lines += [f"    {_key(one)} --> {_key(other)}" for one, other in reduce_edges(edges)]
    return "\n".join([*lines, "```"])


def _key(room: str) -> str:
    return re.sub(r"\W+", "_", room)


def path_files(graph: grimp.ImportGraph, *, by_value: bool = True) -> dict[str, int]:
    """Return the lines of each file that one reads from a snapshot to a decision.

    The collector's `observe`, the baseline formula, every agent's policy and the referee's ruling, and `by_value` the
    agents' appraisals; each with all that it imports from `services/` and `features/`; `schemas/` holds the events.
    """
    waiting = [*_entries(graph, by_value=by_value)]
    files: dict[str, int] = {}
    while waiting:
        module = waiting.pop()
        path = ROOT.joinpath(*module.split("."))
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        name = file.relative_to(ROOT).as_posix()
        if name in files or not name.startswith(("services/", "features/")):
            continue
        files[name] = len(file.read_text(encoding="utf-8").splitlines())
        waiting.extend(graph.find_modules_directly_imported_by(module))
    return dict(sorted(files.items()))


def rule_lines(graph: grimp.ImportGraph) -> int:
    """Return the lines that one reads to follow a decision by rules."""
    files = path_files(graph, by_value=False)
    return sum(lines for name, lines in files.items() if name not in ALSO_BY_VALUE)


def _entries(graph: grimp.ImportGraph, *, by_value: bool) -> Iterator[str]:
    yield from ("services.collector.observe", "services.inference.formula")
    wanted = (["policy"], ["value"]) if by_value else (["policy"],)
    for module in graph.modules:
        parts = module.split(".")
        if module.startswith("services.agents.") and parts[3:] in wanted:
            yield module
    if by_value:
        yield "services.agents.value_judging"
    yield "services.referee.ruling"


def page(text: str) -> str:
    """Return the page with the picture drawn anew.

    Raises:
        ValueError: rooms import one another upwards or in a circle.
    """
    graph = import_graph()
    edges, order = room_edges(graph), layers()
    wrong = wrong_arrows(edges, order)
    if wrong:
        raise ValueError(f"no picture of these imports: {'; '.join(wrong)}")
    drawn = picture(edges, order)
    return _BLOCK.sub(lambda block: f"{block[1]}{drawn}\n{block[2]}", text)


def main() -> None:
    """Write the page and print the path from snapshot to decision."""
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    graph = import_graph()
    files = path_files(graph)
    for name, lines in files.items():
        print(f"{lines:5d} {name}")
    rules = rule_lines(graph)
    by_value = sum(files.values()) - rules
    print(f"{rules:5d} lines from snapshot to decision by rules, at most {MOST_LINES}")
    print(f"{by_value:5d} lines more by expected value, at most {MOST_VALUE_LINES}")


if __name__ == "__main__":
    main()
