"""What AIOpsLab needs of this machine, and which of it is here."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PACKAGE = "aiopslab"
OLDEST, TOO_NEW = (3, 11), (3, 13)
"""Versions of Python that its pyproject.toml takes."""
PROGRAMS = ("kubectl", "helm", "docker")
"""Programs that it calls: the first two for each problem on Kubernetes, the last for those of Flower."""
DEFAULT_KUBECONFIG = "~/.kube/config"


def preflight(
    kubeconfig: str | None,
    *,
    python: tuple[int, int] = sys.version_info[:2],
    environment: Mapping[str, str] = os.environ,
) -> dict[str, Any]:
    """Return what is there, and as `blockers` what is not, each with its remedy.

    Args:
        kubeconfig: the flag; None: KUBECONFIG, or else the usual place.
        python: version of the interpreter.
        environment: holds KUBECONFIG and PATH.
    """
    listed = kubeconfig or environment.get("KUBECONFIG") or DEFAULT_KUBECONFIG
    configs = [Path(one).expanduser() for one in listed.split(os.pathsep) if one]
    found = importlib.util.find_spec(PACKAGE)
    places = () if found is None else tuple(found.submodule_search_locations or ())
    config = any((Path(place) / "config.yml").is_file() for place in places)
    programs = {
        name: shutil.which(name, path=environment.get("PATH")) is not None for name in PROGRAMS
    }
    blockers = []
    if not OLDEST <= python < TOO_NEW:
        blockers.append("Python 3.11 or 3.12 is needed: make an environment with one of them")
    if found is None:
        blockers.append(
            "the package aiopslab is not installed: clone microsoft/AIOpsLab and install it here"
        )
    elif not config:
        blockers.append("aiopslab/config.yml is missing: copy config.yml.example and set k8s_host")
    if not any(one.is_file() for one in configs):
        shown = ", ".join(map(str, configs))
        blockers.append(f"no kubeconfig at {shown}: give --kubeconfig, or set KUBECONFIG")
    blockers += [
        f"{name} is not on PATH: install it" for name, there in programs.items() if not there
    ]
    return {
        "status": "blocked" if blockers else "ready",
        "python": ".".join(map(str, python)),
        "package": found is not None,
        "config": config,
        "kubeconfigs": [str(one) for one in configs],
        "programs": programs,
        "blockers": blockers,
    }
