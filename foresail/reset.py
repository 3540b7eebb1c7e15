"""`foresail reset`: remove the state folder, unless a stack uses it."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.output import console, print_json
from foresail.stack.state_folder import StateFolder
from foresail.verbs import Verb

VERB = Verb(130, "delete the state folder: the stored log, logins and settings of past runs")
EXAMPLES = (("reset", "start afresh: recordings that you wrote elsewhere stay"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument(
        "--state",
        default=".foresail",
        metavar="FOLDER",
        help="the state folder to delete (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Remove the folder.

    Raises:
        InputError: it is in use, or is no state folder.
    """
    path = Path(arguments.state)
    existed = remove(path)
    if arguments.json:
        print_json({"folder": str(path), "removed": existed})
    else:
        console().print(
            f"removed {path}" if existed else f"{path} does not exist; nothing to remove"
        )
    return ExitCode.GOOD


def remove(path: Path) -> bool:
    """Remove a state folder; say whether there was one.

    Raises:
        InputError: it is in use, or is no state folder.
    """
    if not path.exists():
        return False
    if not (path / "lock").exists():
        raise InputError(
            "--state", str(path), "this is no state folder of Foresail; nothing was removed"
        )
    state = StateFolder(path)
    state.lock()
    shutil.rmtree(path)
    state.unlock()
    return True
