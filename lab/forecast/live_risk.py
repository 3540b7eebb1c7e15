"""Play the 2011 Google trace with its retries and say how good a risk model is there.

    python -m lab.forecast.live_risk --data DIR --model MODEL --folder RUNS [--start 43200] [--segment 0] [--for 4h]
        [--nodes 400] [--seeds 1-4]

For each seed other jobs and machines are drawn (`lab.workloads.retries`), played by `foresail up` on virtual time with
the model as the active one, and recorded in the folder; a recording that is there already is not made again. Nothing
is known of any job when a run begins. Then `lab.forecast.live_skill` prints its table of all of them. A model that has
seen the part that is played proves nothing: give one that learned before `--start`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bus.errors import InputError
from lab.forecast import live_skill
from lab.workloads.retries import Cut, cut_courses
from twin.port.workloads import write_trace_file

INTERVAL_SECONDS = 60


def play(data_dir: Path, cut: Cut, model: str, lasting: str, folder: Path) -> Path:
    """Return the recording of one run, which is made where it is missing.

    Raises:
        InputError: a bad cut.
        CalledProcessError: the run failed; its own words are on standard error.
    """
    name = f"segment{cut.segment}-{cut.start_seconds:.0f}s-{cut.nodes}-seed{cut.seed}"
    recording, workload = folder / f"{name}.fslog", folder / f"{name}.jsonl"
    if recording.exists():
        return recording
    part = cut_courses(data_dir, cut)
    write_trace_file(workload, part.machines, part.arrivals, part.description)
    partial = folder / f"{name}.partial.fslog"
    partial.unlink(missing_ok=True)
    words = (
        *("up", "--virtual-time", "--speed", "1", "--interval", str(INTERVAL_SECONDS)),
        *(
            "--untouched",
            "off",
            "--for",
            lasting,
            "--workload",
            str(workload),
            "--seed",
            str(cut.seed),
        ),
        *("--profile", "foresail", "--model", model, "--record", str(partial)),
    )
    subprocess.run(
        [sys.executable, "-m", "foresail", *words], check=True, stdout=subprocess.DEVNULL
    )
    partial.replace(recording)
    return recording


def main(arguments: Sequence[str] | None = None) -> int:
    """Play what is missing and print the table; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m lab.forecast.live_risk", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of all trace files")
    parser.add_argument("--model", required=True, help="a model of risk: its name or directory")
    parser.add_argument("--folder", type=Path, required=True, help="where recordings are kept")
    parser.add_argument("--start", type=float, default=43_200.0, help="second of the trace")
    parser.add_argument("--segment", type=int, choices=(0, 1), default=0)
    parser.add_argument("--nodes", type=int, default=400)
    parser.add_argument("--for", dest="lasting", default="4h", metavar="DURATION")
    parser.add_argument("--seeds", default="1-4", help="first-last")
    options = parser.parse_args(arguments)
    first, _, last = options.seeds.partition("-")
    cut = Cut(options.nodes, 0, options.start, options.segment)
    options.folder.mkdir(parents=True, exist_ok=True)
    try:
        seeds = range(int(first), int(last or first) + 1)
    except ValueError:
        print(f"--seeds = {options.seeds}: give first-last, such as 1-4", file=sys.stderr)
        return 2
    try:
        runs = [
            play(options.data, replace(cut, seed=seed), options.model, options.lasting, options.folder)
            for seed in seeds
        ]  # fmt: skip
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    except subprocess.CalledProcessError as error:
        return error.returncode
    return live_skill.main([str(path) for path in runs])


if __name__ == "__main__":
    raise SystemExit(main())
