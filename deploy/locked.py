"""Packages of requirements.lock and their licences.

Licences are read from the metadata of the installed packages and stated as SPDX expressions. Older
metadata names a licence in words: those words are translated here, once; where a package says
nothing usable, its licence file was read and the finding stands in `READ`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

LOCK = Path(__file__).parents[1] / "requirements.lock"
ALLOWED = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "CC0-1.0",
        "ISC",
        "MIT",
        "MIT-0",
        "MIT-CMU",
        "MPL-2.0",
        "PSF-2.0",
        "Zlib",
    }
)
"""Licences that ask for no more than notices and, in their own files alone, for changed sources."""
IN_WORDS: Mapping[str, str] = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
READ: Mapping[str, str] = {
    "contourpy": "BSD-3-Clause",
    "cycler": "BSD-3-Clause",
    "google-re2": "BSD-3-Clause",
    "jinja2": "BSD-3-Clause",
    "kiwisolver": "BSD-3-Clause",
    "scipy": "BSD-3-Clause",
    "uvloop": "MIT OR Apache-2.0",
    # Instead of xgboost-cpu, on machines that are neither x86-64 nor arm64 Linux.
    "xgboost": "Apache-2.0",
    "nvidia-nccl-cu12": "LicenseRef-NVIDIA-Proprietary",
}
EXCEPTIONS: Mapping[str, str] = {
    "nvidia-nccl-cu12": "installed beside xgboost on Linux alone, on neither x86-64 nor arm64",
}
"""Packages outside `ALLOWED` and why they are borne."""
_ENTRY = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;]+)(?:\s*;\s*(?P<marker>.*?))?\s+--hash"
)


@dataclass(frozen=True, slots=True)
class Locked:
    """One package of the lock."""

    name: str
    version: str
    marker: str
    """Where it is installed; empty: everywhere."""
    sha256: tuple[str, ...]
    """Of each of its files that may be installed."""


def read_lock(text: str) -> list[Locked]:
    """Return every package of a lock file's text, in its order.

    Raises:
        ValueError: an entry is no pinned, hashed package.
    """
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        entry = _ENTRY.match(line)
        if entry is None:
            raise ValueError(f"no pinned package with hashes: {line[:80]!r}")
        hashes = tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", line))
        found.append(Locked(entry["name"], entry["version"], entry["marker"] or "", hashes))
    return found


def licence_of(name: str) -> str:
    """Return a package's licence as an SPDX expression; empty when nobody knows."""
    if name in READ:
        return READ[name]
    try:
        said = metadata(name)
    except PackageNotFoundError:
        return ""
    if expression := said.get("License-Expression"):
        return str(expression)
    words = str(said.get("License") or "").strip()
    if words in ALLOWED or words in IN_WORDS:
        return IN_WORDS.get(words, words)
    classified = [
        IN_WORDS.get(one.rpartition(" :: ")[2], "")
        for one in said.get_all("Classifier") or []
        if one.startswith("License ::")
    ]
    return " AND ".join(classified) if classified and all(classified) else ""


def is_allowed(expression: str) -> bool:
    """Whether an SPDX expression can be met with `ALLOWED` alone: one side of OR, all of AND."""
    tokens = re.findall(r"[()]|[^\s()]+", expression)
    return bool(tokens) and _either(tokens) and not tokens


def _either(tokens: list[str]) -> bool:
    met = _all(tokens)
    while tokens and tokens[0] == "OR":
        del tokens[0]
        met = _all(tokens) or met
    return met


def _all(tokens: list[str]) -> bool:
    met = _one(tokens)
    while tokens and tokens[0] == "AND":
        del tokens[0]
        met = _one(tokens) and met
    return met


def _one(tokens: list[str]) -> bool:
    if not tokens:
        return False
    token = tokens.pop(0)
    if token != "(":
        return token in ALLOWED
    met = _either(tokens)
    return bool(tokens) and tokens.pop(0) == ")" and met
