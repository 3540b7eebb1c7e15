"""`python -m proofs.faults --seed N --kills K`: repeat one session of random kills and report it in full."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from proofs.faults import silence_bus_log
from proofs.faults.kills import TARGETS, session


def main(arguments: list[str]) -> int:
    """Run one session; say what was killed and when, and everything that was wrong."""
    parser = argparse.ArgumentParser(prog="python -m proofs.faults", description=__doc__)
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        metavar="N",
        help="random seed of targets and moments (default: 1)",
    )
    parser.add_argument(
        "--kills", type=int, default=20, metavar="N", help="how many kills (default: 20)"
    )
    parser.add_argument(
        "--targets",
        default=",".join(TARGETS),
        metavar="A,B",
        help="processes to kill (default: %(default)s)",
    )
    parser.add_argument(
        "--brutal", action="store_true", help="end the session with kill -9 of foresail up itself"
    )
    parser.add_argument(
        "--keep", metavar="FOLDER", help="store the stack's files here instead of deleting them"
    )
    options = parser.parse_args(arguments)
    silence_bus_log()
    with TemporaryDirectory(prefix="foresail-proof-", ignore_cleanup_errors=True) as temporary:
        began = time.monotonic()
        verdict = asyncio.run(
            session(
                Path(options.keep or temporary),
                options.seed,
                options.kills,
                targets=options.targets.split(","),
                brutal=options.brutal,
            )
        )
    log = verdict.log
    sys.stdout.write(
        f"{len(verdict.faults)} kills in {time.monotonic() - began:.0f} s, {log.events} events, "
        f"{log.decided} decisions, {log.executed} executions\n"
    )
    sys.stdout.writelines(f"{line}\n" for line in (*verdict.faults, *verdict.problems))
    return 0 if verdict.held else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
