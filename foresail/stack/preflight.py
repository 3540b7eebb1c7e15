"""Checks before anything starts: ports, files and folders. One line each, and nothing half
started.
"""

from __future__ import annotations

import socket
from contextlib import closing, suppress
from pathlib import Path

from bus.errors import ConfigError
from foresail.settings import StackSettings
from foresail.stack.provisioning import provisioning_of
from foresail.stack.real_cluster import check_namespaces_named
from foresail.stack.state_folder import NoStack, StateFolder
from services.collector.measuring import read_prices
from services.dashboard.access import check_access
from services.prometheus import read_queries
from twin.port.api import EXERCISE_NAMESPACES as TWIN_NAMESPACES
from twin.port.files import read_scenario


def check_before_start(settings: StackSettings) -> None:
    """Check what can be known before the first process, but for ports (`check_ports`) and the workload.

    Raises:
        ConfigError: a file is missing, a folder cannot be written, or nobody said
            what may be written in a real cluster.
        InputError: the scenario or the file of machines is wrong.
    """
    check_file("--kubeconfig", settings.run.kubeconfig)
    check_namespaces_named(settings)
    prometheus = settings.collector.prometheus
    for name in ("token_file", "basic_auth_file", "ca_file"):
        check_file(f"collector.prometheus.{name}", getattr(prometheus, name) or None)
    read_queries(prometheus)
    read_prices(settings.collector.energy_price_file)
    _check_exercise(settings)
    check_access(settings.dashboard)
    if settings.run.record is not None:
        check_writable("--record", Path(settings.run.record))
    if settings.run.trace_out is not None:
        check_writable("--trace-out", Path(settings.run.trace_out))
    if settings.run.scenario is not None:
        read_scenario(Path(settings.run.scenario))
    provisioning_of(settings.run)


def _check_exercise(settings: StackSettings) -> None:
    run, namespace = settings.run, settings.exerciser.namespace
    if not run.exercise:
        return
    if namespace in {"kube-system", *settings.executor.protected_namespaces, "default"}:
        remedy = "name a namespace of its own: what it creates there is removed again"
        raise ConfigError("exerciser.namespace", namespace, remedy)
    if run.kubeconfig is None and not run.virtual_time and namespace not in TWIN_NAMESPACES:
        remedy = f"the simulated cluster lets it write in {' and '.join(TWIN_NAMESPACES)} alone"
        raise ConfigError("exerciser.namespace", namespace, remedy)


def check_ports(settings: StackSettings) -> None:
    """Check the ports, when all input is known to be good.

    Raises:
        ConfigError: a port is taken.
    """
    check_port_free("--dashboard-port", settings.dashboard.port)
    if settings.nats.url is None:
        check_port_free("--nats-port", settings.nats.port)


def check_alone(path: Path) -> None:
    """Refuse to start beside a running stack, naming the ways to reach that one.

    Raises:
        ConfigError: a stack runs in this state folder.
    """
    state = StateFolder(path)
    if not state.is_locked():
        return
    with suppress(NoStack):
        stack = state.read()
        if not stack.running:
            return  # the one that holds the folder is still starting; the lock names it
        where = "" if path == Path(".foresail") else f" --state {path}"
        raise ConfigError(
            "--state",
            str(path),
            f"a stack runs here already (pid {stack.pid}, since {stack.started[:19]}Z): attach with "
            f"`foresail up --attach{where}`, look at {stack.dashboard_url or 'its log'}, ask "
            f"`foresail status{where}` or `foresail tap decision{where}`; or give another folder",
        )


def check_port_free(flag: str, port: int) -> None:
    """Say whether a loopback port can be bound; 0 always can."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise ConfigError(flag, port, f"choose another port ({error.strerror})") from error


def check_file(flag: str, path: str | None) -> None:
    """Say whether a named file can be read."""
    if path is not None and not Path(path).is_file():
        raise ConfigError(flag, path, "give a file that exists")


def check_writable(flag: str, path: Path) -> None:
    """Say whether a file can be made; an existing recording is never overwritten."""
    if path.exists():
        raise ConfigError(flag, path, "give a new file name; recordings are never overwritten")
    if not path.parent.is_dir():
        raise ConfigError(flag, path, "give a file in a folder that exists")
    try:
        path.touch()
        path.unlink()
    except OSError as error:
        raise ConfigError(
            flag, path, f"give a file that can be written ({error.strerror})"
        ) from error
