"""`foresail twin validate FILE ...`: every bad row of workload, rate, machine and scenario files, with its remedy."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.output import console, print_error, print_json
from inputs.limited_files import read_limited
from inputs.limited_yaml import MOST_BYTES
from schemas.wording import count_text
from twin.port.files import (
    check_machines,
    check_rate_file,
    is_machine_file,
    is_rate_file,
    read_scenario,
)
from twin.port.settings import ProvisioningConfig
from twin.port.workloads import (
    CSV_SUFFIX,
    JSON_LINES_SUFFIX,
    PARQUET_SUFFIX,
    FileContent,
    NodeShape,
    check_trace_file,
    plain_nodes,
)

SCENARIO_SUFFIXES = (".yaml", ".yml", ".json", ".toml")
SHOWN = 100
"""Bad rows that are printed; the number of all is said."""

EXAMPLES = (("twin validate jobs.csv storm.yaml machines.yaml", "all three files"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="a workload, rate, machine or scenario file"
    )
    parser.add_argument(
        "--nodes",
        type=int,
        default=100,
        metavar="N",
        help="nodes to assume when the files list none (default: %(default)s)",
    )


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Check every file."""
    if arguments.nodes < 1:
        raise InputError("--nodes", arguments.nodes, "give 1 or more")
    results = [check(Path(name), arguments.nodes) for name in arguments.files]
    bad = [error for _, errors in results for error in errors]
    if arguments.json:
        print_json([_describe(result, errors) for result, errors in results])
        return ExitCode.BAD_INPUT if bad else ExitCode.GOOD
    for result, errors in results:
        if not errors:
            console().print(f"{result['file']}: {result['holds']}", markup=False)
    for error in bad[:SHOWN]:
        print_error(str(error))
    if len(bad) > SHOWN:
        print_error(f"{len(bad) - SHOWN} more like these")
    return ExitCode.BAD_INPUT if bad else ExitCode.GOOD


def _describe(result: dict[str, Any], errors: Sequence[InputError]) -> dict[str, Any]:
    error_texts = [
        {"field": error.field, "value": str(error.value), "remedy": error.remedy}
        for error in errors
    ]
    return {**result, "ok": not errors, "errors": error_texts}


def check(path: Path, nodes: int) -> tuple[dict[str, Any], list[InputError]]:
    """Check one file by its suffix and what it begins with; return what it holds and what is wrong with it."""
    try:
        if is_scenario(path) and is_machine_file(path):
            holds, errors = check_machine_file(path)
            return {"file": path.name, "holds": holds}, errors
        if is_scenario(path):
            read_scenario(path)
            return {"file": path.name, "holds": "a scenario"}, []
        if path.suffix == CSV_SUFFIX and is_rate_file(path):
            rates, errors = check_rate_file(path)
            count = 0 if rates is None else len(rates.times)
            return {"file": path.name, "holds": f"{count} rates of requests"}, errors
        content, errors = check_workload(path, plain_nodes(nodes))
    except InputError as error:
        return {"file": path.name, "holds": ""}, [error]
    holds = (
        f"{count_text(len(content.nodes), 'node')}, {count_text(len(content.arrivals), 'arrival')}"
    )
    return {"file": path.name, "holds": holds}, errors


def check_machine_file(path: Path) -> tuple[str, list[InputError]]:
    """Return what a file of machines holds (nothing when it is wrong), and all that is wrong with it."""
    text = read_limited(path, MOST_BYTES)
    config, errors = check_machines(text, path.name, ProvisioningConfig())
    types = "the built-in machine types"
    if config.machines:
        types = count_text(len(config.machines), "machine type")
    holds = f"{types}, {count_text(len(config.groups), 'node group')}"
    return "" if errors else holds, errors


def is_scenario(path: Path) -> bool:
    """Say whether a file's name is that of a scenario (those of machine files are the same)."""
    return path.suffix in SCENARIO_SUFFIXES


def check_workload(path: Path, plain: Sequence[NodeShape]) -> tuple[FileContent, list[InputError]]:
    """Return what a workload file holds, and all that is wrong with it; `plain` are the nodes of one without.

    Raises:
        InputError: its name is that of no workload file, or it cannot be read.
    """
    if path.suffix == PARQUET_SUFFIX:
        from lab.workloads.parquet import check_parquet  # noqa: PLC0415 - polars is loaded only for parquet

        return check_parquet(path, plain)
    if path.suffix not in (CSV_SUFFIX, JSON_LINES_SUFFIX):
        known = ", ".join((CSV_SUFFIX, JSON_LINES_SUFFIX, PARQUET_SUFFIX, *SCENARIO_SUFFIXES))
        raise InputError("FILE", path.name, f"give a file that ends in one of {known}")
    return check_trace_file(path, plain)
