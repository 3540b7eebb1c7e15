"""What every figure stands beside: the machine, the versions, the seed, and how busy the machine was.

All benchmarks take the same flags and report through `report`, so that a figure never travels
without what it depends on.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import structlog
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bus.nats_server import server_binary

Row = Mapping[str, Any]
PACKAGES = ("nats-py", "pydantic")
LOADED = 0.3
"""Runnable processes a core before the start, above which a run says that the machine was busy."""
_STARTING_LOAD = os.getloadavg()[0]


def parser(text: str | None) -> argparse.ArgumentParser:
    """Return a parser with the flags that all benchmarks share; from here on it is `quiet`."""
    quiet()
    made = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{Path(sys.argv[0]).stem}",
        description=text,
        formatter_class=HelpWithDefaults,
    )
    made.add_argument("--json", action="store_true", help="print one JSON object")
    made.add_argument("--seed", type=int, default=1, metavar="N", help="random seed of the input")
    return made


class HelpWithDefaults(
    argparse.RawDescriptionHelpFormatter, argparse.ArgumentDefaultsHelpFormatter
):
    """Texts as they stand, and each flag's default behind its meaning."""


def quiet() -> None:
    """Keep log lines of the product's code in this process out of the figures.

    What goes wrong in a benchmark is raised, or stands in its figures.
    """
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


def progress(*, quiet: bool) -> Progress:
    """Return a progress display on stderr that goes away when it is done."""
    return Progress(console=Console(stderr=True), transient=True, disable=quiet)


def report(title: str, options: argparse.Namespace, rows: Sequence[Row], notes: str = "") -> None:
    """Print rows as one table with the machine below, or everything as one JSON object."""
    machine = facts(options.seed)
    if options.json:
        print(json.dumps({"benchmark": title, "machine": machine, "rows": list(rows)}))
        return
    shown = Table(title=title, title_justify="left")
    for name in rows[0]:
        shown.add_column(name, justify="left" if isinstance(rows[0][name], str) else "right")
    for row in rows:
        shown.add_row(*(_cell(value) for value in row.values()))
    console = Console(width=None if Console().is_terminal else 140)
    console.print(shown)
    for line in filter(
        None, (notes, ", ".join(f"{name} {value}" for name, value in machine.items()))
    ):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1))]


def facts(seed: int) -> dict[str, Any]:
    """Return everything a figure depends on, as it is printed."""
    load = _STARTING_LOAD / (os.cpu_count() or 1)
    return {
        "seed": seed,
        "date": datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%d"),
        "commit": _output_of("git", "rev-parse", "--short", "HEAD"),
        "CPU": f"{os.cpu_count()} x {_cpu()}",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "Python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
        "nats-server": _output_of(server_binary(), "--version").rpartition("v")[2],
        "load a core before": f"{load:.2f}" + (" (busy)" if load > LOADED else ""),
    }


@cache
def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


@cache
def _output_of(*command: str) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


def _cell(value: Any) -> str:
    return f"{value:,.3g}" if isinstance(value, float) and abs(value) < 1_000 else _plain(value)


def _plain(value: Any) -> str:
    return f"{value:,.0f}" if isinstance(value, int | float) else str(value)
