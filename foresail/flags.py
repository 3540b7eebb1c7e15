"""The flags of `foresail up`: which setting each one sets. The help text is the setting's own
docstring.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from typing import Any, NamedTuple


class Flag(NamedTuple):
    """One flag and the setting behind it."""

    flag: str
    name: str
    """`group.field`."""
    metavar: str | None = None
    """None for a switch."""


FLAGS: tuple[Flag, ...] = (
    Flag("--for", "run.for_seconds", "DURATION"),
    Flag("--workload", "run.workload", "NAME|FILE"),
    Flag("--nodes", "run.nodes", "N"),
    Flag("--speed", "run.speed", "X"),
    Flag("--interval", "run.interval_seconds", "DURATION"),
    Flag("--exercise", "run.exercise"),
    Flag("--mode", "run.mode", "shadow|active"),
    Flag("--model", "inference.model", "NAME|FOLDER"),
    Flag("--demand-model", "inference.demand_model", "NAME|FOLDER"),
    Flag("--profile", "agents.profile", "baseline-rules|forecast"),
    Flag("--frozen-after", "run.frozen_seconds", "DURATION"),
    Flag("--seed", "run.seed", "N"),
    Flag("--record", "run.record", "FILE"),
    Flag("--virtual-time", "run.virtual_time"),
    Flag("--nats-url", "nats.url", "URL"),
    Flag("--nats-port", "nats.port", "PORT"),
    Flag("--dashboard-port", "dashboard.port", "PORT"),
    Flag("--kubeconfig", "run.kubeconfig", "FILE"),
    Flag("--context", "run.context", "NAME"),
    Flag("--namespaces", "run.namespaces", "PREFIXES"),
    Flag("--cluster", "run.cluster", "NAME"),
    Flag("--data", "run.data", "FOLDER"),
    Flag("--scenario", "run.scenario", "FILE"),
    Flag("--weather", "run.weather", "off|mild|rough"),
    Flag("--provisioner", "run.provisioner", "NAME"),
    Flag("--machines", "run.machines", "FILE"),
    Flag("--state", "run.state_folder", "FOLDER"),
)
FLAG_OF: Mapping[str, str] = {flag.name: flag.flag for flag in FLAGS}

_DURATION = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,12})?)(ms|s|m|h)?")
_UNITS = {"ms": 0.001, "s": 1.0, None: 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str) -> float:
    """Read a duration such as `120s`, `2m`, `1.5h` or plain seconds.

    Raises:
        argparse.ArgumentTypeError: it is no duration.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration; write it as 120s, 2m or 1h")
    return float(match[1]) * _UNITS[match[2]]


def add_partial(parser: argparse.ArgumentParser) -> None:
    """Add `--partial`: what could be read of a damaged recording is enough."""
    parser.add_argument(
        "--partial",
        action="store_true",
        help="a damaged or cut off recording is no error: what could be read is enough",
    )


def add_flags(parser: argparse.ArgumentParser, described: Mapping[str, str]) -> None:
    """Add every flag; `described` gives the help text by `group.field`."""
    for flag, name, metavar in FLAGS:
        text = described.get(name, "").replace("%", "%%")
        if metavar is None:
            parser.add_argument(flag, dest=name, action="store_const", const=True, help=text)
        elif metavar == "DURATION":
            parser.add_argument(flag, dest=name, type=seconds, metavar=metavar, help=text)
        elif name == "run.namespaces":
            parser.add_argument(
                flag,
                dest=name,
                type=lambda text: tuple(text.split(",")),
                metavar=metavar,
                help=text,
            )
        else:
            parser.add_argument(flag, dest=name, metavar=metavar, help=text)


def given_flags(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what was given, by `group.field`."""
    return {flag.name: getattr(arguments, flag.name) for flag in FLAGS}
