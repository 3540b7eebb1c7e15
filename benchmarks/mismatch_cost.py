"""What the mismatch checks cost the scoreboard in a cycle of a large cluster.

`python -m benchmarks.mismatch_cost [--nodes 5000] [--rounds 200]` takes an observation's nodes and a prediction of
risk into the tally: with every node ready, with one in a hundred not, and with none. It prints median milliseconds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from benchmarks.machine import parser, report
from projections.mismatch.fold import mismatch_after
from projections.mismatch.settings import MismatchSettings
from projections.mismatch.tally import MismatchTally
from tests.builders import make_observation, make_risk, observed_nodes, stamp_event

SETTINGS = MismatchSettings()
SHARES = (("all ready", 0.0), ("1 in 100 not ready", 0.01), ("none ready", 1.0))


def main() -> int:
    """Measure and print."""
    made = parser(__doc__)
    made.add_argument("--nodes", type=int, default=5_000, help="nodes of the cluster")
    made.add_argument("--rounds", type=int, default=200, help="rounds of which the median is taken")
    options = made.parse_args()
    rows = [_row(name, options.nodes, share, options.rounds) for name, share in SHARES]
    report(f"Mismatch checks at {options.nodes} nodes, ms", options, rows)
    return 0


def _row(name: str, nodes: int, share: float, rounds: int) -> dict[str, str | float]:
    names = [f"node-{number:05}" for number in range(nodes)]
    table = observed_nodes(
        {one: {"ready": place >= nodes * share} for place, one in enumerate(names)}
    )
    seen = stamp_event(make_observation(1))
    said = stamp_event(make_risk(dict.fromkeys(names, 0.1)))
    tally, _ = mismatch_after(MismatchTally(), seen, table, SETTINGS)
    return {
        "nodes": name,
        "observation": _median(
            lambda: mismatch_after(MismatchTally(), seen, table, SETTINGS), rounds
        ),
        "prediction": _median(lambda: mismatch_after(tally, said, None, SETTINGS), rounds),
    }


def _median(measured: Callable[[], object], rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        begin = time.perf_counter()
        measured()
        taken.append(1_000.0 * (time.perf_counter() - begin))
    return statistics.median(taken)


if __name__ == "__main__":
    raise SystemExit(main())
