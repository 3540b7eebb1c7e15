"""Results of long proofs, stored one by one, so that a run of hours can be resumed on another day.

One JSON Lines file per proof: a first line with the fingerprint of the code that was tried, then one
line per finished try. Results of other code are never counted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bus.errors import InputError

ROOT = Path(__file__).resolve().parents[1]
TRIED = ("schemas", "projections", "bus", "services", "twin", "foresail", "proofs")
"""Folders whose Python files make up the code that is tried."""


def fingerprint(folders: Sequence[str] = TRIED) -> str:
    """Return a hash of all code whose behaviour a proof tries, equal on every machine."""
    digest = hashlib.sha256()
    for folder in folders:
        for file in sorted((ROOT / folder).rglob("*.py")):
            digest.update(f"{file.relative_to(ROOT).as_posix()}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@dataclass
class Results:
    """The finished tries of one proof, by key."""

    file: Path | None
    """Where they are kept; None: only in memory."""
    code: str
    found: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: Path | None, proof: str, code: str) -> Results:
        """Read what earlier runs of the same code have finished.

        Raises:
            InputError: the folder holds results of other code, or something else.
        """
        if folder is None:
            return cls(None, code)
        file = folder / f"{proof}.jsonl"
        results = cls(file, code)
        if file.exists():
            _drop_unfinished_line(file)
            results.found = dict(_read(file, code))
        else:
            folder.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps({"code": code}) + "\n", encoding="utf-8")
        return results

    def add(self, key: str, value: dict[str, Any]) -> None:
        """Keep one finished try; the line is on disk when this returns."""
        self.found[key] = value
        if self.file is not None:
            with self.file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps({"key": key, **value}) + "\n")


def _drop_unfinished_line(file: Path) -> None:
    """Cut off what follows the last line end: a run was interrupted in the middle of a line."""
    content = file.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        file.write_bytes(content[:whole])


def _read(file: Path, code: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the key and the value of each line.

    Raises:
        InputError: the first line is not that of results, or names other code.
    """
    first, *rest = file.read_text(encoding="utf-8").split("\n")
    try:
        header = json.loads(first)
        tried = header["code"]
    except (ValueError, TypeError, KeyError):
        remedy = "these are no results of a proof; give another folder"
        raise InputError("--results", file, remedy) from None
    if tried != code:
        remedy = f"made with code {tried}, and this is {code}; give another folder"
        raise InputError("--results", file, remedy)
    for line in rest[:-1]:
        value = json.loads(line)
        yield value.pop("key"), value
