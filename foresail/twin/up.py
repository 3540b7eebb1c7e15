"""`foresail twin up`: the embedded cluster alone, in the foreground, for kubectl and other clients."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bus.errors import ConfigError, InputError
from bus.exit_codes import ExitCode
from foresail.flags import seconds
from foresail.output import console, print_json
from foresail.settings import StackSettings, resolve
from foresail.stack.preflight import check_file, check_port_free
from foresail.stack.state_folder import StateFolder
from foresail.stack.twin_process import JOURNAL_FILE, TwinProcess
from foresail.stack.workload import choose_workload
from foresail.twin.cluster_arguments import add_cluster_arguments
from foresail.twin.place import RunningTwin, twin_folder, write_place
from inputs.limited_files import BadFile, read_limited
from inputs.limited_yaml import MOST_BYTES, BadYaml, load_yaml
from projections.figures import number
from twin.port.files import (
    CLUSTER,
    parts_left_out,
    read_configuration,
    read_machines,
    read_scenario,
)
from twin.port.settings import AUTHORIZATIONS, NAMES, WEATHERS, ProvisioningConfig

PLAIN_SPEED = 1.0
"""kubectl shows ages by the wall clock, so the cluster's time passes as fast unless told otherwise."""
USERS_OWN = Path("~/.kube/config")
DIED = 1

EXAMPLES = (
    ("twin up --nodes 20", "then: kubectl --kubeconfig FILE get nodes"),
    ("twin up --authorization rbac", "try Roles and bindings with kubectl"),
    ("twin up --audit-log audit.jsonl", "see what a client asks for, line by line"),
    ("twin up --kueue on", "queues for Jobs: ClusterQueues, LocalQueues, Workloads"),
    ("twin up --speed 60 --provisioner karpenter", "a minute each second; nodes come and go"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    add_cluster_arguments(parser)
    parser.add_argument(
        "--speed",
        metavar="X",
        default=PLAIN_SPEED,
        help="cluster seconds per wall second (default: 1)",
    )
    parser.add_argument(
        "--weather",
        metavar="LEVEL",
        help=f"how much goes wrong by itself: {', '.join(WEATHERS)} (default: mild)",
    )
    _add_server_arguments(parser)
    parser.add_argument(
        "--run-commands",
        action="store_true",
        help="containers of the image foresail:local run as processes of this machine"
        " (default: every container is simulated)",
    )
    parser.add_argument(
        "--without",
        metavar="PARTS",
        default="",
        help="leave out parts of the control plane, for programs of your own: " + ", ".join(NAMES),
    )
    _add_process_arguments(parser)


def _add_process_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is about the process that serves the cluster."""
    parser.add_argument(
        "--kubeconfig-out",
        metavar="FILE",
        help="also write the kubeconfig to this new file",
    )
    parser.add_argument(
        "--port",
        metavar="PORT",
        type=int,
        default=0,
        help="TCP port of the API server (default: any free one)",
    )
    parser.add_argument(
        "--keep", action="store_true", help="continue with the cluster of the last run"
    )
    parser.add_argument(
        "--for",
        dest="for_seconds",
        type=seconds,
        metavar="DURATION",
        help="stop after this long (default: at Ctrl-C)",
    )
    parser.add_argument(
        "--state", default=".foresail", metavar="FOLDER", help="state folder (default: %(default)s)"
    )


def _add_server_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the API server evaluates, writes down and serves beside Kubernetes' own kinds."""
    parser.add_argument(
        "--authorization",
        choices=AUTHORIZATIONS,
        default=AUTHORIZATIONS[0],
        help="rbac: Roles, bindings and service accounts count, as on a real cluster"
        " (default: %(default)s)",
    )
    parser.add_argument(
        "--audit-log",
        metavar="FILE",
        help="append every API request to this file, in the form of Kubernetes' audit log",
    )
    parser.add_argument(
        "--kueue",
        default="off",
        metavar="on|FILE",
        help="on: queues for Jobs, as with Kueue; a file holds Kueue's own Configuration"
        " (default: %(default)s)",
    )


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Start the twin, say how to reach it, and run until a signal stops it."""
    settings = _settings(arguments)
    _check(arguments)
    folder = twin_folder(Path(arguments.state))
    folder.lock()
    try:
        return await _serve(arguments, settings, folder)
    finally:
        folder.unlock()


def _settings(arguments: argparse.Namespace) -> StackSettings:
    names = ("nodes", "workload", "seed", "speed", "data", "weather", "provisioner", "machines")
    return resolve(None, os.environ, {f"run.{name}": getattr(arguments, name) for name in names})


def _check(arguments: argparse.Namespace) -> None:
    """Refuse what can be seen to be wrong before anything starts.

    Raises:
        InputError: a port, a scenario, a file of machines or a file name cannot be used.
    """
    if not 0 <= arguments.port <= 65_535:
        raise ConfigError("--port", arguments.port, "give a port from 0 to 65535")
    check_port_free("--port", arguments.port)
    parts_left_out(arguments.without)
    check_file("--scenario", arguments.scenario)
    if arguments.scenario is not None:
        read_scenario(Path(arguments.scenario))
    check_file("--machines", arguments.machines)
    if arguments.machines is not None:
        read_machines(Path(arguments.machines), ProvisioningConfig())
    if arguments.audit_log is not None and not Path(arguments.audit_log).parent.is_dir():
        raise ConfigError(
            "--audit-log", arguments.audit_log, "choose a file in a folder that exists"
        )
    check_kueue(arguments.kueue)
    if arguments.kubeconfig_out is not None:
        check_kubeconfig_out(Path(arguments.kubeconfig_out))


def check_kueue(choice: str) -> None:
    """Refuse what is neither off, on nor a file with Kueue's Configuration; raises InputError."""
    if choice not in ("off", "on"):
        if not Path(choice).is_file():
            raise ConfigError("--kueue", choice, "give on, off, or a file with a Configuration")
        read_configuration(Path(choice))


def check_kubeconfig_out(path: Path) -> None:
    """Refuse to write over a kubeconfig that is not a twin's.

    Raises:
        ConfigError: the file is somebody else's, or there is no folder for it.
    """
    if path.resolve() == USERS_OWN.expanduser().resolve() or (path.exists() and not _ours(path)):
        raise ConfigError(
            "--kubeconfig-out", path, "give another file; kubeconfigs of others are never changed"
        )
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ConfigError("--kubeconfig-out", path, "give a file in a folder that can be written")


def _ours(path: Path) -> bool:
    try:
        content: Any = load_yaml(read_limited(path, MOST_BYTES))
    except (OSError, BadFile, BadYaml):
        return False
    return isinstance(content, dict) and content.get("current-context") == CLUSTER


async def _serve(
    arguments: argparse.Namespace, settings: StackSettings, folder: StateFolder
) -> ExitCode:
    workload = choose_workload(settings.run, folder.path / "workload")
    options = {} if arguments.scenario is None else {"--scenario": arguments.scenario}
    options["--authorization"] = arguments.authorization
    options |= _audit_options(arguments)
    options["--run-commands"] = "true" if arguments.run_commands else ""
    options["--kueue"] = arguments.kueue
    options["--without"] = arguments.without
    if not arguments.keep:
        (folder.path / JOURNAL_FILE).unlink(missing_ok=True)
    twin = TwinProcess(settings, workload, folder.path, port=arguments.port, options=options)
    try:
        ready = await twin.start()
        place = RunningTwin(
            address=ready["address"],
            admin_kubeconfig=ready["admin_kubeconfig"],
            reader_kubeconfig=ready["reader_kubeconfig"],
            pid=twin.pid,
            speed=workload.speed,
        )
        write_place(folder, place)
        kubeconfig = _hand_out(Path(place.admin_kubeconfig), arguments.kubeconfig_out)
        _show(arguments, place, ready["version"], workload.description, kubeconfig)
        return await _stay(twin, arguments.for_seconds)
    finally:
        await twin.stop()


def _audit_options(arguments: argparse.Namespace) -> dict[str, str]:
    paths = {"--audit-log": arguments.audit_log}
    return {name: str(Path(path).absolute()) for name, path in paths.items() if path is not None}


def _hand_out(admin: Path, path_text: str | None) -> Path:
    """Copy the kubeconfig to where the user wants it; return the one to use."""
    if path_text is None:
        return admin.absolute()
    out = Path(path_text)
    descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(admin.read_bytes())
    return out.absolute()


def _show(
    arguments: argparse.Namespace,
    place: RunningTwin,
    version: str,
    description: Sequence[str],
    kubeconfig: Path,
) -> None:
    if arguments.json:
        facts = {**asdict(place), "version": version, "kubeconfig": str(kubeconfig)}
        print_json({**facts, "workload": list(description)})
        return
    out = console()
    for line in description:
        out.print(line, markup=False)
    out.print(
        f"simulated cluster {version} at {place.address}, speed {number(place.speed)}", markup=False
    )
    out.print(f"  kubectl --kubeconfig {kubeconfig} get nodes", markup=False)
    out.print(f"  export KUBECONFIG={kubeconfig}", markup=False)
    out.print("Ctrl-C stops it")


async def _stay(twin: TwinProcess, for_seconds: float | None) -> ExitCode:
    """Wait for Ctrl-C, SIGTERM, the end of the time, or the twin's death."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signal_number, stop.set)
    dying, stopping = asyncio.create_task(twin.wait()), asyncio.create_task(stop.wait())
    await asyncio.wait({dying, stopping}, timeout=for_seconds, return_when=asyncio.FIRST_COMPLETED)
    died = dying.done()
    for task in (dying, stopping):
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    if died:
        raise InputError("twin", f"exit code {dying.result()}", "see its log in the state folder")
    early = stop.is_set() and for_seconds is not None
    return ExitCode.INTERRUPTED if early else ExitCode.GOOD
