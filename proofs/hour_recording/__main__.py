"""`python -m proofs.hour_recording`: the hour of the bar, or less: `--for 120s`.

Exit code 0 when the recording verified everywhere.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from foresail.flags import seconds
from proofs.__main__ import table
from proofs.faults import silence_bus_log
from proofs.hour_recording import prove_run
from proofs.hour_recording.live import Kill, Run


def main(arguments: list[str]) -> int:
    """Record, kill, verify; print each row as it comes."""
    parser = argparse.ArgumentParser(prog="python -m proofs.hour_recording", description=__doc__)
    parser.add_argument(
        "--for",
        dest="length",
        type=seconds,
        default=3_600.0,
        metavar="DURATION",
        help="length of the run in wall time (default: 1h)",
    )
    parser.add_argument(
        "--nodes",
        type=int,
        default=100,
        metavar="N",
        help="nodes of the simulated cluster (default: 100)",
    )
    parser.add_argument(
        "--interval",
        type=seconds,
        default=3.0,
        metavar="DURATION",
        help="wall time between two cycles (default: 3s)",
    )
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N", help="random seed of the run (default: 1)"
    )
    parser.add_argument(
        "--kill",
        action="append",
        default=[],
        metavar="PROCESS@DURATION",
        help="kill a process after a time, such as referee@30m; repeatable (default: inference after a quarter of "
        "the run, referee after half)",
    )
    parser.add_argument(
        "--keep",
        metavar="FOLDER",
        help="store the stack's files and the recording here instead of deleting them",
    )
    parser.add_argument(
        "extra", nargs="*", metavar="FLAG", help="more flags of foresail up, after --"
    )
    options = parser.parse_args(arguments)
    silence_bus_log()
    kills = tuple(_kill(kill) for kill in options.kill) or (
        Kill("inference", options.length * 0.25),
        Kill("referee", options.length * 0.5),
    )
    run = Run(
        options.length, options.nodes, options.interval, options.seed, kills, tuple(options.extra)
    )
    console = Console()
    rows = []
    with TemporaryDirectory(prefix="foresail-hour-", ignore_cleanup_errors=True) as temporary:
        for row in prove_run(Path(options.keep or temporary).resolve(), run):
            rows.append(row)
            console.print(f"{row.what}: {row.held} of {row.tried}  {row.detail}", markup=False)
    console.print(table(rows))
    return 0 if all(row.holds for row in rows) else 1


def _kill(text: str) -> Kill:
    process, _, at = text.partition("@")
    return Kill(process, seconds(at))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
