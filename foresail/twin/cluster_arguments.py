"""The arguments that say which simulated cluster is wanted: the same for `twin up` and `twin show`."""

from __future__ import annotations

import argparse

from twin.port.settings import PROVISIONERS


def add_cluster_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nodes, workload, seed, scenario, provisioner, machines and trace files."""
    parser.add_argument("--nodes", metavar="N", help="simulated nodes (default: 100)")
    parser.add_argument(
        "--workload", metavar="NAME|FILE", help="see `foresail twin workloads` (default: openb)"
    )
    parser.add_argument("--seed", metavar="N", help="random seed of the run (default: 7)")
    parser.add_argument(
        "--scenario", metavar="FILE", help="file of what goes wrong, and when (docs/twin.md)"
    )
    parser.add_argument(
        "--provisioner",
        metavar="NAME",
        help=f"what adds and removes nodes: {', '.join(PROVISIONERS)} (default: none)",
    )
    parser.add_argument(
        "--machines",
        metavar="FILE",
        help="your machine types and node groups (default: the built-in table)",
    )
    parser.add_argument(
        "--data",
        metavar="FOLDER",
        help="folder of the real trace files (default: FORESAIL_DATA, else the shipped models)",
    )
