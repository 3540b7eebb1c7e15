"""The cluster of an action: its kubeconfig, and namespaces by their exact names."""

from __future__ import annotations

import argparse
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bus.errors import ConfigError, InputError
from foresail.stack.preflight import check_file
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.official_client import OfficialClientTransport
from services.protection import OWN_NAMESPACES

NAMESPACE = "skrueue-test"
"""The predecessors' own."""
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def add_cluster(parser: argparse.ArgumentParser, namespaces: str) -> None:
    """Add the flags of a cluster; `namespaces` says what these are for."""
    parser.add_argument(
        "--kubeconfig",
        required=True,
        metavar="FILE",
        help="of the cluster; `foresail twin up --kueue on` prints a simulated one's",
    )
    parser.add_argument("--context", metavar="NAME", help="of it (default: its current one)")
    parser.add_argument("--namespaces", default=NAMESPACE, metavar="A,B", help=namespaces)


def named_namespaces(text: str) -> tuple[str, ...]:
    """Return namespaces, each once.

    Raises:
        InputError: one cannot be the name of a namespace, or is Kubernetes' own.
    """
    names = tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if _NAME.fullmatch(name) is None:
            raise InputError("--namespaces", name or "(empty)", "give exact names, such as batch")
        if name in OWN_NAMESPACES:
            raise InputError("--namespaces", name, "give another one: this one is Kubernetes' own")
    return names


@asynccontextmanager
async def connected(arguments: argparse.Namespace) -> AsyncIterator[Transport]:
    """Connect to the cluster, which has to answer.

    Raises:
        ConfigError: the kubeconfig cannot be used, or the cluster does not answer or refuses.
    """
    check_file("--kubeconfig", arguments.kubeconfig)
    transport = OfficialClientTransport(Path(arguments.kubeconfig), arguments.context)
    try:
        await transport.request("GET", "/apis")
        yield transport
    except ClusterUnavailable as error:
        remedy = f"the cluster does not answer ({error}); see that its API server can be reached"
        raise ConfigError("--kubeconfig", arguments.kubeconfig, remedy) from error
    except ClusterRefused as error:
        remedy = f"the cluster refuses ({error}); `foresail queue setup` shows the rights"
        raise ConfigError("--kubeconfig", arguments.kubeconfig, remedy) from error
    finally:
        await transport.close()
