"""What one more cluster costs a stack: CPU and memory of `foresail up` over one, and over several, served clusters.

Twins are served over TLS at speed 1 by processes that are not counted; `foresail up` runs over the first of them, and
then over all. Memory is counted as the kernel shares it out (PSS), CPU as the kernel counts it, from `--settle`
seconds after the start on. The last row is the difference, divided by how many clusters more there were.

    python -m benchmarks.cluster_processes [--clusters 3] [--nodes 10] [--interval 5] [--seconds 120]
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.idle_weight import Reading, measure
from benchmarks.machine import parser, progress, report

STOP_SECONDS = 120.0


def main() -> int:
    """Measure, print, and return 0."""
    flags = parser(__doc__)
    flags.add_argument(
        "--clusters", type=int, default=3, metavar="N", help="clusters of the second stack"
    )
    flags.add_argument("--nodes", type=int, default=10, metavar="N", help="nodes of each")
    flags.add_argument("--interval", type=float, default=5.0, help="wall seconds a cycle")
    flags.add_argument("--settle", type=float, default=60.0, help="wall seconds before measuring")
    flags.add_argument("--seconds", type=float, default=120.0, help="wall seconds of measuring")
    options = flags.parse_args()
    with ExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="foresail-")))
        names = [f"c{number}" for number in range(options.clusters)]
        files = {name: _serve(name, folder, options, cleanup) for name in names}
        with progress(quiet=options.json) as shown:
            task = shown.add_task("stacks", total=2)
            one = _weigh([f"--kubeconfig={files[names[0]]}"], folder / "one", options)
            shown.advance(task)
            all_files = [f"--kubeconfig={name}={file}" for name, file in files.items()]
            many = _weigh(all_files, folder / "many", options)
    rows = [_row("1", one), _row(str(options.clusters), many)]
    more = options.clusters - 1
    rows.append(
        {
            "clusters": "each more",
            **{
                name: (many_value - one_value) / more
                for (name, many_value), one_value in zip(
                    list(rows[1].items())[1:], list(rows[0].values())[1:], strict=True
                )
                if isinstance(many_value, float) and isinstance(one_value, float)
            },
        }
    )
    title = (
        f"foresail up over served clusters of {options.nodes} nodes (openb), speed 1, "
        f"a cycle each {options.interval:g} s"
    )
    report(title, options, rows)
    return 0


def _serve(name: str, folder: Path, options: argparse.Namespace, cleanup: ExitStack) -> Path:
    """Serve one simulated cluster; return its kubeconfig."""
    seed = str(options.seed + int(name[1:]))
    command = [sys.executable, "-m", "twin", "--nodes", str(options.nodes), "--seed", seed]
    command += ["--workload", "openb", "--kubeconfig-dir", str(folder / name)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    cleanup.callback(process.wait)
    cleanup.callback(process.terminate)
    assert process.stdout is not None
    ready = json.loads(process.stdout.readline())
    return Path(ready["admin_kubeconfig"])


def _weigh(
    words: Sequence[str], state: Path, options: argparse.Namespace
) -> list[tuple[Reading, float]]:
    """Start a stack, let it settle, and return what its processes take."""
    command = [sys.executable, "-m", "foresail", "up", *words, "--state", str(state), "--json"]
    command += ["--interval", str(options.interval), "--dashboard-port", "0"]
    stack = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(options.settle)
        return measure(stack.pid, options.seconds)
    finally:
        stack.send_signal(signal.SIGINT)
        stack.wait(STOP_SECONDS)


def _row(clusters: str, readings: Sequence[tuple[Reading, float]]) -> dict[str, object]:
    def pss(name: str) -> float:
        return sum(one.pss_bytes for one, _ in readings if one.name == name) / 1e6

    return {
        "clusters": clusters,
        "processes": float(len(readings)),
        "memory MB (PSS)": sum(one.pss_bytes for one, _ in readings) / 1e6,
        "of it nats-server": pss("nats-server"),
        "of it foresail up": pss("foresail"),
        "cores": sum(cores for _, cores in readings),
        "CPU s an hour": sum(cores for _, cores in readings) * 3600,
    }


if __name__ == "__main__":
    sys.exit(main())
