"""`clusters.json`: which clusters a stack of several serves, and how each stands.

The stack writes it, beside the lock of its state folder; verbs and pages read it. It holds no event and no login, so
that a page may show other clusters without reading their logs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path

from bus.limited_files import read_limited
from schemas.cluster_standing import ClusterStanding
from schemas.limited_json import load_json

FILE = "clusters.json"
FOLDER = "clusters"
"""Beside it: a state folder for each cluster."""
MOST_BYTES = 4_000_000


_FORMS: Mapping[str, type] = {"str": str, "int": int, "bool": bool}


def cluster_folder(state: Path, cluster: str) -> Path:
    """Return the state folder of one cluster of several."""
    return state / FOLDER / cluster


def write_clusters(state: Path, clusters: Mapping[str, ClusterStanding]) -> None:
    """Store all clusters by name, whole or not at all."""
    part = state / f"{FILE}.part"
    content = {name: asdict(standing) for name, standing in clusters.items()}
    part.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    part.replace(state / FILE)


def read_clusters(state: Path) -> dict[str, ClusterStanding]:
    """Return the clusters of the stack that ran last in a state folder; empty where that served only one."""
    try:
        content = load_json(read_limited(state / FILE, MOST_BYTES))
        return {name: _standing_of(values) for name, values in content.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _standing_of(values: Mapping[str, object]) -> ClusterStanding:
    """Return one cluster's line; raises TypeError for anything that `write_clusters` does not write."""
    standing = ClusterStanding(**values)  # type: ignore[arg-type]
    for one in fields(ClusterStanding):
        if type(getattr(standing, one.name)) is not _FORMS[str(one.type)]:
            raise TypeError(f"{one.name} is no {one.type}")
    return standing
