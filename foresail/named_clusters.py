"""Clusters by name: what `--kubeconfig [NAME=]FILE` means, given once or several times."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bus.errors import ConfigError
from bus.limited_files import BadFile, read_limited
from bus.limited_yaml import BadYaml, load_yaml

FLAG = "--kubeconfig"
KUBECONFIG_BYTES = 4_000_000
"""Bytes of a kubeconfig that is only read for its current context."""
MOST_NAME = 41
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}")
_NAMED = re.compile(r"([^=/]*)=(.*)", re.DOTALL)


def kubeconfig_settings(given: Sequence[str], cluster: str | None) -> dict[str, Any]:
    """Return the settings that the flag gives, by `group.field`; `cluster` is `--cluster`.

    One file stays what it was: a path, whose cluster is called by `--cluster`. With a name before it, that is the
    cluster's.

    Raises:
        ConfigError: names and files do not fit each other.
    """
    if len(given) != 1:
        if given and cluster is not None:
            remedy = f"leave it out: with several clusters write each name as {FLAG} NAME=FILE"
            raise ConfigError("--cluster", cluster, remedy)
        return {"run.kubeconfigs": tuple(given)} if given else {}
    name, path = split_name(given[0])
    if not name:
        return {"run.kubeconfig": path}
    if cluster is not None and cluster != name:
        raise ConfigError("--cluster", cluster, f"leave it out: {FLAG} calls the cluster {name!r}")
    return {"run.kubeconfig": path, "run.cluster": name}


def clusters_by_name(given: Sequence[str]) -> dict[str, str]:
    """Return the file of each cluster by its name, in the order in which they were given.

    Raises:
        ConfigError: a file has no name and no current context, or two clusters share a name or a file.
    """
    files: dict[str, str] = {}
    for text in given:
        name, path = split_name(text)
        name = name or _context_name(path)
        if name in files:
            remedy = f"two clusters are called {name!r} ({files[name]} and {path}); write one as NAME=FILE"
            raise ConfigError(FLAG, text, remedy)
        if twin := _same_file(path, files):
            raise ConfigError(FLAG, text, f"leave it out: {twin!r} is the same file")
        files[name] = path
    return files


def split_name(text: str) -> tuple[str, str]:
    """Return name and file of one value; the name is empty where none was written.

    Raises:
        ConfigError: the name cannot be a cluster's.
    """
    match = _NAMED.fullmatch(text)
    if match is None or Path(text).is_file():
        return "", text
    name, path = match.groups()
    if _NAME.fullmatch(name) is None:
        remedy = (
            f"use up to {MOST_NAME} letters, digits, - and _ for the name, as in {FLAG} shop=FILE"
        )
        raise ConfigError(FLAG, text, remedy)
    return name, path


def _same_file(path: str, files: Mapping[str, str]) -> str:
    place = Path(path).resolve()
    return next((name for name, other in files.items() if Path(other).resolve() == place), "")


def _context_name(path: str) -> str:
    """Return the current context of a kubeconfig as a cluster's name.

    Raises:
        ConfigError: it cannot be read, or says none that can be one.
    """
    try:
        content = load_yaml(read_limited(Path(path), KUBECONFIG_BYTES))
    except OSError as error:
        raise ConfigError(FLAG, path, f"give a file that exists ({error.strerror})") from error
    except (BadYaml, BadFile) as error:
        raise ConfigError(FLAG, path, f"give a kubeconfig ({error})") from error
    context = content.get("current-context") if isinstance(content, dict) else None
    # Contexts of cloud providers hold colons and slashes, which no subject may.
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", context).strip("-_") if isinstance(context, str) else ""
    if _NAME.fullmatch(name) is None:
        says = f"its current context is {context!r}" if name else "it has no current context"
        raise ConfigError(FLAG, path, f"write {FLAG} NAME={path}: {says}, which is no name here")
    return name
