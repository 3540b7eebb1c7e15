"""`foresail doctor`: what this machine and the settings allow, one line per check, with the remedy
where something is missing.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import re
import shutil
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import asdict
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from bus.errors import ForesailError, InputError, Temporary
from bus.exit_codes import ExitCode, verdict
from bus.nats_connection import connect_client
from bus.nats_server import server_binary
from foresail.findings import Finding
from foresail.log_source import connect
from foresail.output import console, print_json
from foresail.prometheus_checks import cluster_facts, prometheus_findings
from foresail.settings import StackSettings, resolve
from foresail.settings_sources import BOOSTER
from foresail.stack.state_folder import NoStack, StateFolder
from foresail.status import collect_heartbeats, troubles
from foresail.verbs import Verb
from projections.figures import size
from schemas.actions import ActionKind
from schemas.capabilities import capabilities_text
from schemas.outcome import Mode
from services.executor.settings import ExecutorSettings

VERB = Verb(120, "check whether this machine can run Foresail, and say what to mend")
EXAMPLES = (
    ("doctor", "this machine"),
    ("doctor --kubeconfig ~/.kube/config", "and whether your cluster can be watched"),
    (
        "doctor --kubeconfig ~/.kube/config --namespaces shop,batch",
        "and which actions could be done in these namespaces",
    ),
    (
        "doctor --kubeconfig ~/.kube/config --config foresail.toml",
        "and whether the Prometheus of this file answers every query",
    ),
)

OLDEST_PYTHON = (3, 11)
FREE_BYTES = 4 * 1024**3
PACKAGES = ("nats-py", "kubernetes", "pydantic", "structlog", "polars", "starlette", "uvicorn")


DASHBOARD_PORT = 8765
MEANS = "means of actions"
NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


Probe = Callable[[], Finding | Awaitable[Finding]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument(
        "--state",
        default=".foresail",
        metavar="FOLDER",
        help="state folder of the stack (default: %(default)s)",
    )
    parser.add_argument(
        "--nats-url",
        metavar="URL",
        help="also check this NATS server, such as nats://127.0.0.1:4222",
    )
    parser.add_argument(
        "--kubeconfig", metavar="FILE", help="also check the cluster of this kubeconfig"
    )
    parser.add_argument(
        "--context", metavar="NAME", help="context of the kubeconfig (default: its current one)"
    )
    parser.add_argument(
        "--namespaces",
        metavar="NAMES",
        help="with --kubeconfig: exact names of the namespaces that actions may write in",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="settings of `foresail up` (TOML): also check the Prometheus that they name",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Print every finding.

    Raises:
        InputError: namespaces of no cluster, a name that none can have, or settings that do not fit.
    """
    _check_namespaces(arguments)
    settings = _settings(arguments)
    findings = [await _make_check(check, probe) for check, probe in checks(arguments).items()]
    if settings is not None:
        findings += await _prometheus(settings, arguments)
    if arguments.json:
        print_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            mark = "[green]ok[/green]     " if finding.ok else "[red]missing[/red]"
            mark = mark if finding.made else "[red]unknown[/red]"
            tail = f"  ({finding.remedy})" if finding.remedy else ""
            console().print(f"{mark} {finding.check}: {finding.found}{tail}")
    return verdict(
        differs=any(finding.made and not finding.ok for finding in findings),
        nothing_compared=not findings or not all(finding.made for finding in findings),
    )


def _check_namespaces(arguments: argparse.Namespace) -> None:
    names = arguments.namespaces
    if names is None:
        return
    if not arguments.kubeconfig:
        raise InputError("--namespaces", names, "name their cluster, too: --kubeconfig FILE")
    wrong = [name for name in names.split(",") if not NAMESPACE.fullmatch(name)]
    if wrong:
        raise InputError("--namespaces", names, "give exact names, such as shop,batch")


def _settings(arguments: argparse.Namespace) -> StackSettings | None:
    if arguments.config is None:
        return None
    return resolve(Path(arguments.config), os.environ, {})


async def _prometheus(settings: StackSettings, arguments: argparse.Namespace) -> list[Finding]:
    kubeconfig = arguments.kubeconfig or settings.run.kubeconfig
    context = arguments.context or settings.run.context
    known = await cluster_facts(kubeconfig, context) if kubeconfig else None
    return await prometheus_findings(settings.collector, known)


def checks(arguments: argparse.Namespace) -> dict[str, Probe]:
    """Return every check that these arguments ask for, by name."""
    state = Path(arguments.state)
    probes: dict[str, Probe] = {"Python": _python}
    probes |= {name: partial(_package, name) for name in PACKAGES}
    probes |= {
        BOOSTER: _booster,
        "nats-server": _nats_binary,
        "state folder": partial(_state, state),
        "disk": partial(_disk, state),
        "dashboard port": partial(dashboard_port, DASHBOARD_PORT, state),
        "real traces": _data,
    }
    if StateFolder(state).is_locked():
        probes["running stack"] = partial(_answer_of, "running stack", lambda: _stack(state))
    if arguments.nats_url:
        name = "nats-server at URL"
        probes[name] = partial(_answer_of, name, lambda: _nats(arguments.nats_url))
    if arguments.kubeconfig:
        name = "Kubernetes API"
        kubeconfig, context = arguments.kubeconfig, arguments.context
        probes[name] = partial(_answer_of, name, lambda: _cluster(kubeconfig, context))
        names = tuple(arguments.namespaces.split(",")) if arguments.namespaces else ()
        for process in ("collector", "executor"):
            probes[f"rights of {process}"] = partial(_rights, kubeconfig, context, process, names)
        if names:
            probes[MEANS] = partial(_means, kubeconfig, context, names)
    return probes


async def _make_check(check: str, probe: Probe) -> Finding:
    """Make one check; what keeps it from being made is its finding."""
    try:
        result = probe()
        return result if isinstance(result, Finding) else await result
    except OSError as error:
        why = error.strerror or str(error)
        return Finding(check, ok=False, found=f"could not be checked ({why})", made=False)


def _python() -> Finding:
    ok = sys.version_info[:2] >= OLDEST_PYTHON
    return Finding("Python", ok, platform.python_version(), "" if ok else "use 3.11 or newer")


def _package(name: str) -> Finding:
    try:
        return Finding(name, ok=True, found=version(name))
    except PackageNotFoundError:
        return Finding(name, ok=False, found="not installed", remedy="make setup")


def _booster() -> Finding:
    """Trained models are an addition: without their library the formula and the simple rules predict."""
    if find_spec(BOOSTER) is not None:
        return Finding(BOOSTER, ok=True, found="installed")
    instead = "not installed: no trained model predicts"
    return Finding(BOOSTER, ok=True, found=instead, remedy="`make setup` for trained models")


async def _nats_binary() -> Finding:
    try:
        binary = server_binary()
    except ForesailError as error:
        return Finding("nats-server", ok=False, found=str(error), remedy="make setup")
    process = await asyncio.create_subprocess_exec(
        binary, "--version", stdout=asyncio.subprocess.PIPE
    )
    text = (await process.communicate())[0].decode().strip()
    return Finding("nats-server", process.returncode == 0, text)


def _state(path: Path) -> Finding:
    if StateFolder(path).is_locked():
        return Finding("state folder", ok=True, found=f"{path}, in use by a running stack")
    writable = os.access(path if path.exists() else path.absolute().parent, os.W_OK)
    return Finding(
        "state folder",
        writable,
        f"{path}, {'free' if writable else 'not writable'}",
        "" if writable else "give --state",
    )


def _disk(state: Path) -> Finding:
    free = shutil.disk_usage(state if state.exists() else Path.cwd()).free
    return Finding(
        "disk",
        free >= FREE_BYTES,
        f"{size(free)} free",
        "" if free >= FREE_BYTES else "make room: the log may take 2 GiB a run",
    )


async def _stack(path: Path) -> str:
    """Return a word of praise; raises Temporary with what the stack's processes complain about."""
    state = StateFolder(path)
    stack = state.read()
    async with connect(stack, state) as bus:
        heartbeats = await collect_heartbeats(bus, stack)
    silent = sorted(set(stack.processes) - set(heartbeats))
    problems = [*(f"{name}: no heartbeat" for name in silent), *troubles(heartbeats)]
    if problems:
        raise Temporary("; ".join(problems))
    if not heartbeats:
        raise OSError("no process has sent a heartbeat")
    return "every process sends heartbeats and is well"


def _own_dashboard(state: Path) -> str:
    """Return the address of the running stack's dashboard; empty when no stack runs."""
    try:
        stack = StateFolder(state).read()
    except NoStack:
        return ""
    return stack.dashboard_url if stack.running else ""


def dashboard_port(port: int, state: Path) -> Finding:
    """See whether a port is free, or taken by the dashboard of the stack in a state folder."""
    own = _own_dashboard(state)
    if own.endswith(f":{port}"):
        return Finding("dashboard port", ok=True, found=f"{port} is the running stack's, {own}")
    with closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return Finding(
                "dashboard port",
                ok=False,
                found=f"{port} is in use",
                remedy="give --dashboard-port",
            )
    return Finding("dashboard port", ok=True, found=f"{port} is free")


def _data() -> Finding:
    folder = os.environ.get("FORESAIL_DATA", "")
    if not folder:
        return Finding(
            "real traces",
            ok=True,
            found="FORESAIL_DATA is unset; the shipped fitted models are played",
        )
    ok = Path(folder).is_dir()
    return Finding("real traces", ok, "FORESAIL_DATA is set", "" if ok else "it names no folder")


async def _answer_of(check: str, probe: Callable[[], Awaitable[str]]) -> Finding:
    try:
        return Finding(check, ok=True, found=await probe())
    except ForesailError as error:
        return Finding(check, ok=False, found=str(error))


async def _nats(url: str) -> str:
    client = await connect_client(url, name="foresail-doctor", retry=False)
    try:
        server = client.connected_server_version
        return (
            f"nats-server {server.major}.{server.minor}.{server.patch}; not enforced there: that only its owner "
            "writes a subject, that readers cannot write, that only the bootstrap touches streams "
            "(one login serves every process; `python -m services.identities` writes accounts for it)"
        )
    finally:
        await client.close()


async def _means(kubeconfig: str, context: str | None, namespaces: tuple[str, ...]) -> Finding:
    """Ask which kinds of action could be done in active mode, without doing anything."""
    from services.executor.reading.capabilities import read_missing_capabilities  # noqa: PLC0415 - likewise
    from services.official_client import OfficialClientTransport  # noqa: PLC0415 - as below

    try:
        transport = OfficialClientTransport(Path(kubeconfig), context)
        settings = ExecutorSettings(namespaces=namespaces)
        try:
            missing = await read_missing_capabilities(transport, settings, Mode.ACTIVE)
        finally:
            await transport.close()
    except ForesailError as error:
        return Finding(MEANS, ok=False, found=str(error), made=not isinstance(error, Temporary))
    remedy = "deploy/rbac.yaml has the rights, executor.writable_nodes the nodes" if missing else ""
    return Finding(MEANS, not missing, capabilities_text(missing), remedy)


async def _rights(
    kubeconfig: str, context: str | None, process: str, namespaces: tuple[str, ...]
) -> Finding:
    """Ask for each right of a process, one by one; what is written only where namespaces are named."""
    from services.official_client import OfficialClientTransport  # noqa: PLC0415 - as below
    from services.rights.installation import Grants, granted_rights  # noqa: PLC0415 - as below
    from services.rights.reviews import missing_rights  # noqa: PLC0415 - as below

    check = f"rights of {process}"
    kinds = tuple(str(kind) for kind in ActionKind if kind is not ActionKind.NOOP)
    rights = granted_rights(Grants(kinds if namespaces else (), namespaces))[process]
    try:
        transport = OfficialClientTransport(Path(kubeconfig), context)
        try:
            missing = await missing_rights(transport, rights, namespaces)
        finally:
            await transport.close()
    except ForesailError as error:
        return Finding(check, ok=False, found=str(error), made=not isinstance(error, Temporary))
    if missing:
        remedy = "`foresail rbac` prints the least rights"
        return Finding(check, ok=False, found=f"lacks {', '.join(missing)}", remedy=remedy)
    return Finding(check, ok=True, found=f"all {len(rights)} that it needs")


async def _cluster(kubeconfig: str, context: str | None) -> str:
    from services.official_client import OfficialClientTransport  # noqa: PLC0415 - the Kubernetes client takes a second to import

    transport = OfficialClientTransport(Path(kubeconfig), context)
    try:
        answer = await transport.request("GET", "/version")
    finally:
        await transport.close()
    return answer.body.decode(errors="replace").replace("\n", "")[:160]
