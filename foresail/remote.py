"""A stack that another machine, or containers on this one, run: named by its server, not by a folder."""

from __future__ import annotations

import argparse

from bus.errors import ConfigError
from bus.streams import StreamDeclaration
from foresail.stack.state_folder import StackFile

REMOTE_CLUSTER = "twin"
"""What docker-compose.yml calls its cluster."""
COMPOSE_INCARNATION = "compose"
"""What docker-compose.yml calls its world."""


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Add what names one cluster of several."""
    parser.add_argument(
        "--cluster",
        metavar="NAME",
        help="which cluster, where the stack serves several (docs/several-clusters.md); with --nats-url the name "
        f"of that stack's cluster (default there: {REMOTE_CLUSTER})",
    )


def add_remote(parser: argparse.ArgumentParser) -> None:
    """Add what names a stack by its server instead of by a state folder."""
    group = parser.add_argument_group(
        "a stack in containers or on another machine (docs/containers.md)"
    )
    group.add_argument(
        "--nats-url", metavar="URL", help="its NATS server, such as nats://127.0.0.1:4222"
    )
    group.add_argument(
        "--nats-creds", metavar="FILE", help="login file for that server (login.env)"
    )
    add_cluster(parser)
    group.add_argument(
        "--incarnation",
        default=COMPOSE_INCARNATION,
        metavar="NAME",
        help="name of its run (default: %(default)s)",
    )


def remote_of(arguments: argparse.Namespace) -> StackFile | None:
    """Return the stack that the arguments name by its server; None when they name none.

    Raises:
        ConfigError: a login file without a server.
    """
    if arguments.nats_url is None:
        if arguments.nats_creds is not None:
            raise ConfigError("--nats-creds", arguments.nats_creds, "also give --nats-url")
        return None
    cluster = arguments.cluster or REMOTE_CLUSTER
    declaration = StreamDeclaration.of(cluster, arguments.incarnation)
    return StackFile(
        cluster=cluster,
        incarnation=arguments.incarnation,
        stream=declaration.name,
        nats_url=arguments.nats_url,
        embedded=False,
        pid=0,
        login_file=arguments.nats_creds or "",
    )
