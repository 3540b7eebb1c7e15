"""Which cluster a verb is about, where the stack of a state folder serves several (docs/several-clusters.md).

Each cluster has a state folder of its own inside the stack's, so choosing one is naming that folder.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bus.cluster_list import cluster_folder, read_clusters
from bus.errors import InputError
from foresail.near import remedy_for
from foresail.stack.state_folder import NoStack, StateFolder

FLAG = "--cluster"


def choose_cluster(arguments: argparse.Namespace) -> None:
    """Point a verb at the folder of the cluster that it names; nothing for verbs that read no stack's log.

    Raises:
        InputError: several clusters are there and none is named, or it is none of them.
    """
    given: Mapping[str, Any] = vars(arguments)
    if not {"state", "cluster", "nats_url"} <= given.keys():
        return
    if given["nats_url"] is not None or given.get("recording") is not None:
        return
    if given.get("all_clusters") or given.get("kubeconfig") is not None:
        return
    more = ", or give --all-clusters" if "all_clusters" in given else ""
    arguments.state = str(folder_of(Path(given["state"]), given["cluster"], more))


def folder_of(state: Path, cluster: str | None, more: str = "") -> Path:
    """Return the state folder of one cluster; `state` itself where the stack there serves only one.

    `more` ends the line that asks for a name.

    Raises:
        InputError: several clusters are there and none is named, or it is none of them.
    """
    names = list(read_clusters(state))
    if names:
        if cluster is None:
            raise InputError(FLAG, "(none)", f"name one of {', '.join(names)}{more}")
        if cluster not in names:
            raise InputError(FLAG, cluster, remedy_for(cluster, names))
        return cluster_folder(state, cluster)
    if cluster is not None:
        _check_name(state, cluster)
    return state


def folders_of(state: Path, cluster: str | None) -> Sequence[tuple[str, Path]]:
    """Return every cluster's name and folder, or the named one's; the name is empty where there is only one.

    Raises:
        InputError: none is called so.
    """
    names = list(read_clusters(state))
    if cluster is not None or not names:
        return [("", folder_of(state, cluster))]
    return [(name, cluster_folder(state, name)) for name in names]


def _check_name(state: Path, cluster: str) -> None:
    with suppress(NoStack):
        running = StateFolder(state).read().cluster
        if cluster != running:
            remedy = f"leave it out: the only cluster of {state} is {running!r}"
            raise InputError(FLAG, cluster, remedy)
