"""Command line of the openb fidelity report."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from bus.errors import InputError
from lab.openb_fidelity.compare import (
    bands,
    closeness,
    kolmogorov_smirnov,
    late_by_gpus,
    waits_of,
    whole_seconds,
)
from lab.openb_fidelity.play import SETTLED_SECONDS, Played, denser, play
from lab.openb_fidelity.plots import load_plotting, plot_shares, plot_waits
from lab.openb_fidelity.report import Findings, TwinPlay, markdown
from lab.openb_fidelity.trace_side import TraceWaits, trace_waits
from lab.traces.openb import read_openb
from lab.workloads.prepare import cut_trace
from twin.port.workloads import WorkloadArrival

FACTOR, COPIES = 150.0, 7
"""So close together, and each pod so many times: live requests pass what the GPUs can hold."""
DENSE_HOUR = 3600.0
"""The denser play ends so long after its last arrival."""


def main(arguments: list[str] | None = None) -> int:
    """Make the report; returns the exit code (2: bad input, 1: a difference over the bar)."""
    parser = argparse.ArgumentParser(prog="python -m lab.openb_fidelity", description=__doc__)
    data = os.environ.get("FORESAIL_DATA")  # noqa: TID251 - the command line's own default
    parser.add_argument(
        "--data",
        type=Path,
        default=data,
        metavar="FOLDER",
        help="folder of the real trace files (default: FORESAIL_DATA)",
    )
    parser.add_argument(
        "--output", type=Path, required=True, metavar="FOLDER", help="where the report is written"
    )
    parser.add_argument(
        "--seed", type=int, default=7, metavar="N", help="random seed of the plays (default: 7)"
    )
    parser.add_argument(
        "--factor",
        type=float,
        default=FACTOR,
        metavar="X",
        help="the denser play has its arrivals this many times closer (default: %(default)s)",
    )
    parser.add_argument(
        "--copies",
        type=int,
        default=COPIES,
        metavar="N",
        help="copies of each pod in the denser play (default: %(default)s)",
    )
    parser.add_argument("--no-plots", action="store_true", help="write figures only, no plots")
    options = parser.parse_args(arguments)
    try:
        findings = _report(options)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    print(options.output / "openb-fidelity.md")
    return 0 if findings.holds() else 1


def _report(options: argparse.Namespace) -> Findings:
    if options.data is None:
        raise InputError("--data", "(absent)", "name the folder of the trace files (FORESAIL_DATA)")
    for name in ("factor", "copies"):
        if getattr(options, name) < 1:
            raise InputError(f"--{name}", getattr(options, name), "give 1 or more")
    if not options.no_plots:
        load_plotting()
    trace = read_openb(Path(options.data))
    whole = cut_trace(trace, nodes=len(trace.nodes), seed=options.seed, start_seconds=0.0)
    from_trace = trace_waits(trace, whole.machines)
    arrivals = whole.arrivals
    ends = (entry.time_seconds + (entry.duration_seconds or 0.0) for entry in arrivals)
    recorded = play(whole.machines, arrivals, options.seed, max(ends) + SETTLED_SECONDS)
    closer = denser(arrivals, options.factor, options.copies)
    dense = play(whole.machines, closer, options.seed, closer[-1].time_seconds + DENSE_HOUR)
    findings = Findings(
        pods=len(trace.pods),
        nodes=len(whole.machines),
        seed=options.seed,
        factor=options.factor,
        copies=options.copies,
        trace=from_trace,
        recorded=_side(recorded, arrivals, from_trace),
        dense=_side(dense, closer, from_trace),
    )
    options.output.mkdir(parents=True, exist_ok=True)
    if not options.no_plots:
        _plot(options.output, findings, recorded, dense)
    text = markdown(findings, plots=not options.no_plots)
    (options.output / "openb-fidelity.md").write_text(text, encoding="utf-8")
    figures = json.dumps(asdict(findings) | {"trace": _brief(from_trace)}, indent=1)
    (options.output / "openb-fidelity.json").write_text(figures + "\n", encoding="utf-8")
    return findings


def _brief(trace: TraceWaits) -> dict[str, object]:
    return {key: value for key, value in asdict(trace).items() if key != "waits"}


def _side(played: Played, arrivals: Sequence[WorkloadArrival], trace: TraceWaits) -> TwinPlay:
    return TwinPlay(
        events=played.events,
        overlooked=played.overlooked,
        closeness=closeness(played.samples),
        bands=bands(played.samples),
        late_by_gpus=late_by_gpus(arrivals, played),
        waits=waits_of(list(played.waits.values()), len(arrivals)),
        distance=kolmogorov_smirnov(whole_seconds(played), trace.waits),
    )


def _plot(folder: Path, findings: Findings, recorded: Played, dense: Played) -> None:
    plot_shares(recorded.samples, "openb as recorded, 1,523 nodes", folder / "openb-recorded.svg")
    title = f"openb {findings.copies} times over, {findings.factor:g} times as close together"
    plot_shares(dense.samples, title, folder / "openb-dense.svg")
    plot_waits(
        findings.trace.waits,
        whole_seconds(recorded),
        "waits as recorded",
        folder / "openb-waits.svg",
    )


if __name__ == "__main__":
    sys.exit(main())
