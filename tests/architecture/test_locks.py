"""The lock files: what pyproject.toml asks for, each package once, hashed, from no named index."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
RUNTIME = ROOT / "requirements.lock"
DEVELOPMENT = ROOT / "requirements-dev.lock"
LOCKS = [RUNTIME, DEVELOPMENT]
ONE_PYTHON = "pyyaml-ft=="
"""What libcst, with which mutmut reads code, needs on 3.13 alone."""


def _project(extras: list[str]) -> list[Requirement]:
    """Return what Foresail and the twin ask for; the twin itself comes from the tree, not from an index."""
    foresail, twin = (
        tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        for path in (ROOT / "pyproject.toml", ROOT / "twin" / "pyproject.toml")
    )
    texts = [*foresail["dependencies"], *twin["dependencies"]]
    texts += [text for extra in extras for text in foresail["optional-dependencies"][extra]]
    asked = [Requirement(text) for text in texts]
    return [one for one in asked if one.name != twin["name"]]


def _entries(lock: Path) -> list[str]:
    """Return one text per package: name, version, marker and hashes."""
    text = lock.read_text(encoding="utf-8").replace("\\\n", " ")
    return [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]


def _pinned_versions(lock: Path) -> dict[str, str]:
    found = [re.match(r"([A-Za-z0-9._-]+)==(\S+)", entry) for entry in _entries(lock)]
    return {canonicalize_name(match[1]): match[2] for match in found if match}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_package_is_pinned_once_with_hashes(lock: Path) -> None:
    """Each entry is one exact version with sha256 hashes, the same for every supported Python."""
    entries = _entries(lock)

    assert len(entries) == len(_pinned_versions(lock))
    assert [] == [entry[:60] for entry in entries if "--hash=sha256:" not in entry]
    markers = [entry for entry in entries if "_version" in entry.split("--hash")[0]]
    assert [] == [entry[:60] for entry in markers if not entry.startswith(ONE_PYTHON)]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_a_lock_names_no_place_to_download_from(lock: Path) -> None:
    """A lock works with any index: it holds no address, no option and no path."""
    text = lock.read_text(encoding="utf-8")

    assert not re.search(r"://|--(?:extra-)?index-url|--find-links|file:", text)


@pytest.mark.parametrize(
    ("lock", "extras"), [(RUNTIME, ["build"]), (DEVELOPMENT, ["build", "dev"])]
)
def test_a_lock_satisfies_the_project(lock: Path, extras: list[str]) -> None:
    """Every requirement of both pyproject.toml is in the lock, in a version that it allows."""
    pinned = _pinned_versions(lock)
    unmet = [
        str(requirement)
        for requirement in _project(extras)
        if (version := pinned.get(canonicalize_name(requirement.name))) is None
        or version not in requirement.specifier
    ]

    assert [] == unmet


def test_development_adds_to_the_runtime_and_changes_nothing() -> None:
    """What is tested is what runs: both locks agree on every package of the first."""
    development = _pinned_versions(DEVELOPMENT)

    assert {} == {
        name: (version, development.get(name))
        for name, version in _pinned_versions(RUNTIME).items()
        if development.get(name) != version
    }


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_the_twin_is_taken_from_the_tree(lock: Path) -> None:
    """No lock names the twin's distribution, which an index would be asked for then; Foresail depends on it."""
    foresail = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    assert "foresail-twin" not in _pinned_versions(lock)
    assert "foresail-twin" in foresail["project"]["dependencies"]
    assert foresail["tool"]["uv"]["sources"]["foresail-twin"] == {"path": "twin"}
