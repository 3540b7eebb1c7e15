"""Writes `ripples.csv` and `ripples-others.csv`: two Services each of `waves.csv` on six machines, for searches.

    python -m experiments.worlds.make_ripples

So small that a trial takes two seconds, and never quiet: who scales too late, too little or too much pays at once.
"""

from __future__ import annotations

import csv
from pathlib import Path

NODES = 6
SERVICES = {
    "ripples.csv": ("web-00", "web-01"),
    "ripples-others.csv": ("web-02", "web-03"),
}
"""By file; the second is for test splits alone."""


def main() -> None:
    """Write both files beside this one."""
    folder = Path(__file__).parent
    with (folder / "waves.csv").open(newline="", encoding="utf-8") as file:
        next(file)  # a comment
        header, *rows = csv.reader(file)
    for name, services in SERVICES.items():
        nodes = [row for row in rows if row[0] == "node"][:NODES]
        arrivals = [row for row in rows if row[1] in services]
        with (folder / name).open("w", newline="", encoding="utf-8") as out:
            out.write(
                "# Two Services of waves.csv on six machines, invented; made by make_ripples.py.\n"
            )
            csv.writer(out, lineterminator="\n").writerows([header, *nodes, *arrivals])


if __name__ == "__main__":
    main()
