"""The flags of `foresail up`: which setting each one sets. The help text is the setting's own
docstring.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from inputs.limited_files import BadFile, read_text_limited
from inputs.limited_json import BadJson, load_json
from projections.figures import duration

CLUSTER = "the cluster"
SIMULATED = "the simulated cluster"
DECIDING = "how it decides"
RUNNING = "the run"
SERVER = "log and dashboard"
HEADINGS = (RUNNING, CLUSTER, SIMULATED, DECIDING, SERVER)
"""The groups of flags in `foresail up --help`, in their order."""


class Flag(NamedTuple):
    """One flag and the setting behind it."""

    flag: str
    name: str
    """`group.field`."""
    heading: str
    """Under which it stands in the help: one of `HEADINGS`."""
    metavar: str | None = None
    """None for a switch."""


FLAGS: tuple[Flag, ...] = (
    Flag("--for", "run.for_seconds", RUNNING, "DURATION"),
    Flag("--workload", "run.workload", SIMULATED, "NAME|FILE"),
    Flag("--nodes", "run.nodes", SIMULATED, "N"),
    Flag("--speed", "run.speed", SIMULATED, "X"),
    Flag("--interval", "run.interval_seconds", DECIDING, "DURATION"),
    Flag("--max-cycles", "run.max_cycles", RUNNING, "N"),
    Flag("--exercise", "run.exercise", RUNNING),
    Flag("--exercise-every", "exerciser.every_cycles", RUNNING, "N"),
    Flag("--randomize", "exerciser.randomise", RUNNING),
    Flag("--exercise-seed", "exerciser.seed", RUNNING, "N"),
    Flag("--exercise-namespace", "exerciser.namespace", RUNNING, "NAME"),
    Flag("--mode", "run.mode", DECIDING, "shadow|active"),
    Flag("--model", "inference.model", DECIDING, "NAME|FOLDER"),
    Flag("--demand-model", "inference.demand_model", DECIDING, "NAME|FOLDER"),
    Flag("--profile", "agents.profile", DECIDING, "NAME|list"),
    Flag("--switchback", "switchback.unit", DECIDING, "off|time|namespace"),
    Flag("--frozen-after", "run.frozen_seconds", RUNNING, "DURATION"),
    Flag("--seed", "run.seed", SIMULATED, "N"),
    Flag("--record", "run.record", SERVER, "FILE"),
    Flag("--compare", "dashboard.compare", SERVER, "FILE"),
    Flag("--trace-out", "run.trace_out", SERVER, "FILE"),
    Flag("--virtual-time", "run.virtual_time", RUNNING),
    Flag("--nats-url", "nats.url", SERVER, "URL"),
    Flag("--nats-port", "nats.port", SERVER, "PORT"),
    Flag("--dashboard-port", "dashboard.port", SERVER, "PORT"),
    Flag("--kubeconfig", "run.kubeconfig", CLUSTER, "FILE"),
    Flag("--context", "run.context", CLUSTER, "NAME"),
    Flag("--keep", "run.keep", CLUSTER),
    Flag("--namespaces", "run.namespaces", CLUSTER, "PREFIXES"),
    Flag("--namespace-prefix", "run.namespace_prefixes", CLUSTER, "PREFIXES"),
    Flag("--prometheus", "collector.prometheus", CLUSTER, "URL"),
    Flag("--power-calibration", "collector.power", CLUSTER, "FILE"),
    Flag("--cluster", "run.cluster", CLUSTER, "NAME"),
    Flag("--data", "run.data", SIMULATED, "FOLDER"),
    Flag("--scenario", "run.scenario", SIMULATED, "FILE"),
    Flag("--weather", "run.weather", SIMULATED, "off|mild|rough"),
    Flag("--untouched", "run.untouched", SIMULATED, "on|off"),
    Flag("--provisioner", "run.provisioner", SIMULATED, "NAME"),
    Flag("--machines", "run.machines", SIMULATED, "FILE"),
    Flag("--history", "collector.history_files", CLUSTER, "FILES"),
    Flag("--state", "run.state_folder", SERVER, "FOLDER"),
)
MOST_CALIBRATION_BYTES = 64 * 1024
CALIBRATION_FIELDS = frozenset(
    {"idle_watts", "cpu_full_scale_watts", "mem_full_scale_watts", "sleep_watts", "source"}
)
FLAG_OF: Mapping[str, str] = {flag.name: flag.flag for flag in FLAGS}

_DURATION = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,12})?)(ms|s|m|h|d)?")
_UNITS = {"ms": 0.001, "s": 1.0, None: 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def seconds(text: str) -> float:
    """Read a duration such as `120s`, `2m`, `1.5h`, `7d` or plain seconds.

    Raises:
        argparse.ArgumentTypeError: it is no duration.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration; write it as 120s, 2m, 1h or 7d")
    return float(match[1]) * _UNITS[match[2]]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def power_calibration(file: str) -> dict[str, Any]:
    """Return the power model of a calibration file, the predecessor's JSON; what it leaves out has its default.

    Raises:
        argparse.ArgumentTypeError: it cannot be read, or is no such file.
    """
    try:
        content = load_json(read_text_limited(Path(file), MOST_CALIBRATION_BYTES))
    except OSError as error:
        why = f"{file}: give a file that can be read ({error.strerror})"
        raise argparse.ArgumentTypeError(why) from error
    except (BadFile, BadJson) as error:
        why = f"{file}: write it as a JSON object ({error})"
        raise argparse.ArgumentTypeError(why) from error
    if not isinstance(content, dict):
        raise argparse.ArgumentTypeError(f"{file}: write it as a JSON object")
    for name in sorted(content.keys() - CALIBRATION_FIELDS):
        known = ", ".join(sorted(CALIBRATION_FIELDS))
        raise argparse.ArgumentTypeError(f"{file}: {name} = {content[name]!r}: use {known}")
    return {"source": Path(file).name, **content}


_READERS: Mapping[str, Callable[[str], Any]] = {
    "run.namespaces": _words,
    "run.namespace_prefixes": _words,
    "collector.history_files": _words,
    "collector.prometheus": lambda url: {"url": url},
    "collector.power": power_calibration,
}
"""How the text of a flag becomes its setting, where it is not the setting itself."""


def add_partial(parser: argparse.ArgumentParser) -> None:
    """Add `--partial`: what could be read of a damaged recording is enough."""
    parser.add_argument(
        "--partial",
        action="store_true",
        help="accept a damaged or truncated recording: use what could be read, and exit with 0",
    )


def default_text(name: str, value: Any) -> str:
    """Return what follows a setting's sentence in the help: its default with its unit, if there is one.

    Args:
        name: the field's name; `..._seconds` is a duration.
        value: the default; a text that is empty, None, False and an empty tuple say nothing.
    """
    if value is None or value is False or value in ("", ()):
        return ""
    text = duration(value) if name.endswith("_seconds") else value
    return f" (default: {text})"


def add_flags(parser: argparse.ArgumentParser, described: Mapping[str, str]) -> None:
    """Add every flag; `described` gives the help text by `group.field`."""
    groups = {heading: parser.add_argument_group(heading) for heading in HEADINGS}
    for flag, name, heading, metavar in FLAGS:
        group = groups[heading]
        text = described.get(name, "").replace("%", "%%")
        if metavar is None:
            group.add_argument(flag, dest=name, action="store_const", const=True, help=text)
        elif metavar == "DURATION":
            group.add_argument(flag, dest=name, type=seconds, metavar=metavar, help=text)
        elif name in _READERS:
            group.add_argument(flag, dest=name, type=_READERS[name], metavar=metavar, help=text)
        else:
            group.add_argument(flag, dest=name, metavar=metavar, help=text)


def given_flags(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what was given, by `group.field`."""
    return {flag.name: getattr(arguments, flag.name) for flag in FLAGS}
