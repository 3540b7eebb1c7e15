"""`foresail twin machines`: what machines can be rented, with price, power, source and date."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from bus.exit_codes import ExitCode
from foresail.output import console, print_json
from projections.figures import number
from twin.port.files import public_shapes, read_machines
from twin.port.settings import MachineType, ProvisioningConfig

GIB = 2**30
_HEAD = (
    "machine",
    "cores",
    "GiB",
    "GPUs",
    "$/h",
    "spot $/h",
    "boot s",
    "idle W",
    "full W",
    "source",
)

EXAMPLES = (("twin machines", "the built-in machine types"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument(
        "--machines",
        metavar="FILE",
        help="your machine types (docs/twin/machines.md) instead of the built-in table",
    )


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the catalogue.

    Raises:
        InputError: the file is wrong.
    """
    config = ProvisioningConfig()
    if arguments.machines is not None:
        config = read_machines(Path(arguments.machines), config)
    machines = config.machines or public_shapes()
    if arguments.json:
        print_json([asdict(machine) for machine in machines])
        return ExitCode.GOOD
    rows = [_HEAD, *map(_row, machines)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(_HEAD) - 1)]
    for row in rows:
        cells = [f"{row[0]:<{widths[0]}}"]
        cells += [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=False)]
        console().print("  ".join([*cells, row[-1]]), markup=False, soft_wrap=True)
    return ExitCode.GOOD


def _row(machine: MachineType) -> tuple[str, ...]:
    return (
        machine.name,
        number(machine.cpu_millicores / 1000),
        number(machine.memory_bytes / GIB),
        str(machine.gpus),
        number(machine.price_per_hour),
        number(machine.spot_price_per_hour) if machine.spot_price_per_hour else "-",
        number(machine.boot_median_seconds),
        number(machine.idle_watts),
        number(machine.full_watts),
        machine.source,
    )
