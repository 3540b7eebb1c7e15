"""Real clusters of an action: their kubeconfigs, and the one namespace that may be written in."""

from __future__ import annotations

import argparse
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bus.errors import ConfigError
from foresail.stack.preflight import check_file
from foresail.stack.real_cluster import PAGE
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.official_client import OfficialClientTransport
from services.protection import OWN_NAMESPACES

SHADOW, ACTIVE = "shadow", "active"
_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_CLUSTER = re.compile(r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?")
TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class GivenCluster:
    """One `--kubeconfig` with its context and name."""

    name: str
    kubeconfig: Path
    context: str | None


def add_clusters(parser: argparse.ArgumentParser, writes: str) -> None:
    """Add kubeconfigs, contexts and names, and what may be written: `writes` says what active mode does."""
    parser.add_argument(
        "--kubeconfig",
        action="append",
        default=[],
        metavar="FILE",
        help="kubeconfig of a cluster; repeatable",
    )
    parser.add_argument(
        "--context",
        action="append",
        default=[],
        metavar="NAME",
        help="context of the kubeconfig at the same place; repeatable (default: its current one)",
    )
    parser.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="NAME",
        help="what the cluster at the same place is called; repeatable (default: a, b, ...)",
    )
    parser.add_argument(
        "--mode",
        choices=(SHADOW, ACTIVE),
        default=SHADOW,
        help=f"shadow: read, and say what would be done; active: {writes} (default: shadow)",
    )
    parser.add_argument(
        "--namespaces",
        metavar="NAME",
        help="the one namespace that --mode active writes in, by its exact name",
    )


def given_clusters(arguments: argparse.Namespace) -> list[GivenCluster]:
    """Return the clusters, in the order given.

    Raises:
        ConfigError: a file is missing, a name cannot be one, or one cluster is given twice.
    """
    files: Sequence[str] = arguments.kubeconfig
    for flag, values in (("--context", arguments.context), ("--name", arguments.name)):
        if len(values) > len(files):
            raise ConfigError(flag, values[-1], "give at most one for each --kubeconfig")
    clusters = []
    for place, file in enumerate(files):
        check_file("--kubeconfig", file)
        name = arguments.name[place] if place < len(arguments.name) else chr(ord("a") + place)
        if _CLUSTER.fullmatch(name) is None:
            raise ConfigError("--name", name, "use small letters, digits and -, at most 32")
        context = arguments.context[place] if place < len(arguments.context) else None
        clusters.append(GivenCluster(name, Path(file), context))
    for what, flag in (("name", "--name"), ("place", "--kubeconfig")):
        seen = [
            one.name if what == "name" else f"{one.kubeconfig.resolve()} {one.context or ''}"
            for one in clusters
        ]
        twice = [value for value in seen if seen.count(value) > 1]
        if twice:
            raise ConfigError(flag, twice[0].strip(), "give different ones")
    return clusters


def writable_namespace(arguments: argparse.Namespace, default: str) -> str:
    """Return the namespace that is meant; in active mode the user has named it.

    Raises:
        ConfigError: none is named in active mode, or one that cannot be written in.
    """
    name: str | None = arguments.namespaces
    if name is None:
        if arguments.mode == ACTIVE:
            remedy = (
                f"name the one that --mode active may write in, as --namespaces {default} ({PAGE})"
            )
            raise ConfigError("--namespaces", "(none)", remedy)
        return default
    if _NAMESPACE.fullmatch(name) is None:
        raise ConfigError("--namespaces", name or "(empty)", "give the exact name of one namespace")
    if name in OWN_NAMESPACES:
        raise ConfigError("--namespaces", name, "give another one: this one is Kubernetes' own")
    return name


@asynccontextmanager
async def transports(clusters: Sequence[GivenCluster]) -> AsyncIterator[list[Transport]]:
    """Open a connection to each cluster, and read each once.

    Raises:
        ConfigError: a kubeconfig cannot be used, or its cluster does not answer.
    """
    async with AsyncExitStack() as stack:
        opened: list[Transport] = []
        for cluster in clusters:
            transport = OfficialClientTransport(
                cluster.kubeconfig, cluster.context, timeout_seconds=TIMEOUT_SECONDS
            )
            stack.push_async_callback(transport.close)
            try:
                await transport.request("GET", "/api/v1/nodes", {"limit": "1"})
            except ClusterUnavailable as error:
                remedy = (
                    f"the cluster does not answer ({error}); see that its API server can be reached"
                )
                raise ConfigError("--kubeconfig", cluster.kubeconfig, remedy) from error
            except ClusterRefused as error:
                remedy = f"the cluster refuses to be read ({error}); {PAGE} lists the rights"
                raise ConfigError("--kubeconfig", cluster.kubeconfig, remedy) from error
            opened.append(transport)
        yield opened
