"""`python -m proofs.big_recording [--events N] [--recording FILE] [--folder FOLDER]`.

Two million events take about an hour of one core, most of it for the recording. Exit code 0 when
every row holds.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from proofs.__main__ import table
from proofs.big_recording import prove_recording

FOLDER = Path(__file__).parent / ".cache"


def main(arguments: list[str]) -> int:
    """Record, verify, compare; print the table."""
    parser = argparse.ArgumentParser(prog="python -m proofs.big_recording", description=__doc__)
    parser.add_argument(
        "--events",
        type=int,
        default=2_000_000,
        metavar="N",
        help="events to record (default: %(default)s)",
    )
    parser.add_argument(
        "--recording", type=Path, metavar="FILE", help="use this recording instead of making one"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=FOLDER,
        help="where finished steps are stored, so that a later call continues",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=7,
        metavar="N",
        help="random seed of the recorded run (default: 7)",
    )
    options = parser.parse_args(arguments)
    rows = []
    for row in prove_recording(options.folder, options.events, options.recording, options.seed):
        rows.append(row)
        print(f"{row.what}: {row.held} of {row.tried}  {row.detail}", flush=True)
    Console().print(table(rows))
    return 0 if rows and all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
