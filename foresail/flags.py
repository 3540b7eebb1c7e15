"""The flags of `foresail up`: which setting each one sets. The help text is the setting's own
docstring.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bus.limited_files import read_limited
from foresail.named_clusters import kubeconfig_settings
from projections.figures import duration
from schemas.limited_json import load_json
from schemas.model import DataModel

CALIBRATION_BYTES = 65_536
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
    Flag("--exercise", "run.exercise", RUNNING),
    Flag("--exercise-cycles", "exerciser.phase_cycles", RUNNING, "N"),
    Flag("--exercise-randomise", "exerciser.randomise", RUNNING),
    Flag("--exercise-seed", "exerciser.seed", RUNNING, "N"),
    Flag("--mirror-exercise", "exerciser.mirrors", RUNNING, "KUBECONFIG"),
    Flag("--max-cycles", "run.max_cycles", RUNNING, "N"),
    Flag("--prometheus", "collector.prometheus", CLUSTER, "URL"),
    Flag("--power-calibration", "collector.power", CLUSTER, "JSON-FILE"),
    Flag("--mode", "run.mode", DECIDING, "shadow|active"),
    Flag("--model", "inference.model", DECIDING, "NAME|FOLDER"),
    Flag("--demand-model", "inference.demand_model", DECIDING, "NAME|FOLDER"),
    Flag("--profile", "agents.profile", DECIDING, "NAME|list"),
    Flag("--switchback", "switchback.unit", DECIDING, "off|time|namespace"),
    Flag("--frozen-after", "run.frozen_seconds", RUNNING, "DURATION"),
    Flag("--seed", "run.seed", SIMULATED, "N"),
    Flag("--record", "run.record", SERVER, "FILE"),
    Flag("--recordings", "recorder.folder", SERVER, "FOLDER"),
    Flag("--bucket", "recorder.bucket", SERVER, "s3://BUCKET/PREFIX"),
    Flag("--virtual-time", "run.virtual_time", RUNNING),
    Flag("--nats-url", "nats.url", SERVER, "URL"),
    Flag("--nats-port", "nats.port", SERVER, "PORT"),
    Flag("--dashboard-port", "dashboard.port", SERVER, "PORT"),
    Flag("--kubeconfig", "run.kubeconfig", CLUSTER, "[NAME=]FILE"),
    Flag("--context", "run.context", CLUSTER, "NAME"),
    Flag("--keep", "run.keep", CLUSTER),
    Flag("--left-behind", "executor.left_behind", CLUSTER, "give_back|take_over|leave"),
    Flag("--namespaces", "run.namespaces", CLUSTER, "PREFIXES"),
    Flag("--cluster", "run.cluster", CLUSTER, "NAME"),
    Flag("--data", "run.data", SIMULATED, "FOLDER"),
    Flag("--scenario", "run.scenario", SIMULATED, "FILE"),
    Flag("--weather", "run.weather", SIMULATED, "off|mild|rough"),
    Flag("--untouched", "run.untouched", SIMULATED, "on|off"),
    Flag("--provisioner", "run.provisioner", SIMULATED, "NAME"),
    Flag("--machines", "run.machines", SIMULATED, "FILE"),
    Flag("--state", "run.state_folder", SERVER, "FOLDER"),
)
FLAG_OF: Mapping[str, str] = {
    **{flag.name: flag.flag for flag in FLAGS},
    "run.kubeconfigs": "--kubeconfig",
}

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
    if value is None or value is False or value in ("", ()) or isinstance(value, DataModel):
        return ""
    text = duration(value) if name.endswith("_seconds") else value
    return f" (default: {text})"


def calibration(text: str) -> dict[str, Any]:
    """Read the power model of a JSON file, whose names are those of the predecessors' calibration file.

    Raises:
        argparse.ArgumentTypeError: it cannot be read, or is no JSON object.
    """
    try:
        content = load_json(read_limited(Path(text), CALIBRATION_BYTES))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise argparse.ArgumentTypeError(
            f"{text!r} is no calibration file ({why}); give a JSON file with idle_watts, "
            "cpu_full_scale_watts, mem_full_scale_watts and source"
        ) from error
    if not isinstance(content, dict):
        raise argparse.ArgumentTypeError(f"{text!r} is no JSON object")
    return content


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _prometheus(text: str) -> dict[str, Any]:
    return {"url": text}


READERS: Mapping[str, Callable[[str], Any]] = {
    "run.namespaces": _names,
    "collector.prometheus": _prometheus,
    "collector.power": calibration,
}
"""How the text of a flag becomes the value of a setting that is no plain one."""
REPEATED = frozenset({"exerciser.mirrors", "run.kubeconfig"})
"""Settings whose flag may be given several times, once for each element."""


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
        elif name in REPEATED:
            group.add_argument(flag, dest=name, action="append", metavar=metavar, help=text)
        elif name in READERS:
            group.add_argument(flag, dest=name, type=READERS[name], metavar=metavar, help=text)
        else:
            group.add_argument(flag, dest=name, metavar=metavar, help=text)


def given_flags(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what was given, by `group.field`.

    Raises:
        ConfigError: one cluster is given two names.
    """
    given = {flag.name: getattr(arguments, flag.name) for flag in FLAGS}
    files = given.pop("run.kubeconfig")
    return {**given, **kubeconfig_settings(files or (), given["run.cluster"])}
