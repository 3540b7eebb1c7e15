"""kubectl and Helm as what they are here: programs that write an installation's objects."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.patience import HANGS_SECONDS

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "foresail"
Object = dict[str, Any]
Key = tuple[str, str, str]


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    command = [str(word) for word in words]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=HANGS_SECONDS, check=False
    )


def kustomized(kubectl: Path, folder: Path) -> dict[Key, Object]:
    """Return what `kubectl kustomize` writes."""
    done = run(kubectl, "kustomize", folder)
    assert done.returncode == 0, done.stderr
    return by_key(done.stdout)


def templated(helm: Path | str, *flags: str | Path) -> dict[Key, Object]:
    """Return what `helm template` writes."""
    done = run(helm, "template", "foresail", CHART, "--namespace", "foresail", *flags)
    assert done.returncode == 0, done.stderr
    return by_key(done.stdout)


def by_key(text: str) -> dict[Key, Object]:
    """Return objects by kind, namespace and name, without what is empty."""
    objects = [one for one in yaml.safe_load_all(text) if one]
    flat = [each for one in objects for each in (one["items"] if one["kind"] == "List" else [one])]
    return {
        (one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]): cleaned(one)
        for one in flat
    }


def cleaned(tree: Any) -> Any:
    """Return a tree without empty values, which mean the same as none to the API server."""
    if isinstance(tree, dict):
        kept = {key: cleaned(value) for key, value in tree.items()}
        return {key: value for key, value in kept.items() if value not in (None, [])}
    return [cleaned(value) for value in tree] if isinstance(tree, list) else tree
