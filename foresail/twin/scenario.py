"""`foresail twin scenario FILE`: check what shall go wrong, and let it go wrong in the running twin."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.output import console, print_json
from foresail.stack.preflight import check_file
from foresail.twin.place import find_kubeconfig
from services.cluster import ClusterRefused, ClusterUnavailable
from services.official_client import OfficialClientTransport
from twin.port.files import read_scenario

PATH = "/foresail/v1/scenario"

EXAMPLES = (
    ("twin scenario storm.yaml --check", "check the file"),
    ("twin scenario storm.yaml", "apply it"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("file", metavar="FILE", help="a scenario file (docs/twin.md)")
    parser.add_argument("--check", action="store_true", help="only check the file; apply nothing")
    parser.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="kubeconfig of the simulated cluster (default: the running one)",
    )
    parser.add_argument(
        "--state", default=".foresail", metavar="FOLDER", help="state folder (default: %(default)s)"
    )


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Check the file, then hand it to the twin."""
    path = Path(arguments.file)
    check_file("FILE", arguments.file)
    scenario = read_scenario(path)
    if arguments.check:
        _say(arguments, {"file": path.name, "ok": True}, f"{path.name}: a scenario")
        return ExitCode.GOOD
    given = arguments.kubeconfig
    kubeconfig = Path(given) if given else find_kubeconfig(Path(arguments.state), admin=True)
    transport = OfficialClientTransport(kubeconfig)
    try:
        answer = await transport.request("POST", PATH, body=scenario.document())
    except (ClusterRefused, ClusterUnavailable) as error:
        raise InputError("scenario", path.name, f"the twin did not take it: {error}") from error
    finally:
        await transport.close()
    content = json.loads(answer.body)
    _say(
        arguments,
        {"file": path.name, **content},
        f"{path.name}: {content.get('events', 0)} events planned",
    )
    return ExitCode.GOOD


def _say(arguments: argparse.Namespace, value: dict[str, object], text: str) -> None:
    if arguments.json:
        print_json(value)
    else:
        console().print(text, markup=False)
