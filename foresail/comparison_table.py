"""A comparison of two clusters as a table of the terminal: the difference rows, then the scorecards' lines."""

from __future__ import annotations

from rich.table import Table

from lab.live.scorecards import difference_rows, scorecards
from lab.live.sections import shown_text
from lab.live.windows import Comparison
from projections.figures import known_number


def comparison_table(comparison: Comparison) -> Table:
    """Return one row for each figure: both clusters, the difference, and what is shown."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for place, head in enumerate(("figure", *comparison.names, "difference", "shown")):
        table.add_column(head, justify="right" if 0 < place < 4 else "left")
    lines = [(line, "") for line in difference_rows(comparison)]
    for card in scorecards(comparison):
        lines += [(line, shown_text(line, comparison.names)) for line in card.lines]
    for line, shown in lines:
        values = (line.first, line.second, line.difference.value)
        table.add_row(line.name.replace("_", " "), *map(known_number, values), shown)
    return table
