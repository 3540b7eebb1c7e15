"""Named builds: a folder that is complete or not there, says what it was made from, and repeats.

A build grows in `<name>.partial`, stage by stage, and becomes `<name>` at the end. Guarantee: an
interrupted build goes on at its first unfinished stage if inputs, options and code are the same,
and begins again if they are not; a failed one leaves nothing; the same build makes the same bytes.
The manifest names inputs and files by their hashes, no machine, path, user or wall time.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bus.errors import ConfigError, InputError
from lab.forecast.workspace import PARTIAL
from schemas.config import CODE_VERSION

MANIFEST = "manifest.json"
JOURNAL = "stages.json"
"""What is done in a partial build."""
PACKAGES = ("numpy", "polars")
FORMAT = 1
_BLOCK_BYTES = 2**20
Json = dict[str, Any]


class Build:
    """One named build under way."""

    def __init__(self, folder: Path, recipe: Json) -> None:
        """Begin or go on; `recipe` is everything the result depends on."""
        self._final = folder
        self.folder = folder.with_name(folder.name + PARTIAL)
        self.recipe = _plain(recipe)
        self.stages = self._resume()

    def _resume(self) -> Json:
        journal = self.folder / JOURNAL
        if journal.is_file():
            stored = json.loads(journal.read_bytes())
            if stored["recipe"] == self.recipe:
                stages: Json = stored["stages"]
                return stages
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        return {}

    def stage(self, name: str, work: Callable[[], Mapping[str, object]]) -> Json:
        """Do a stage once; returns what it returned, now or in the run that was interrupted.

        Raises:
            InputError: the input is bad; the partial build is removed first.
        """
        if name not in self.stages:
            try:
                self.stages[name] = _plain(dict(work()))
            except InputError:
                shutil.rmtree(self.folder, ignore_errors=True)
                raise
            text = _json({"recipe": self.recipe, "stages": self.stages})
            write_text(self.folder / JOURNAL, text)
        done: Json = self.stages[name]
        return done

    def finish(self, described: Mapping[str, object]) -> Json:
        """Write the manifest and give the build its name; returns the manifest."""
        (self.folder / JOURNAL).unlink(missing_ok=True)
        files = [
            {
                "file": path.relative_to(self.folder).as_posix(),
                "bytes": path.stat().st_size,
                "sha256": sha256_of(path),
            }
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        ]
        manifest = {
            "format": FORMAT,
            **_plain(dict(described)),
            "recipe": self.recipe,
            "files": files,
        }
        write_text(self.folder / MANIFEST, _json(manifest))
        shutil.rmtree(self._final, ignore_errors=True)
        self.folder.rename(self._final)
        return manifest


def finished_build(folder: Path, recipe: Json, *, replace: bool) -> Json | None:
    """Return the manifest of a build that is there already, None where one is to be made.

    Raises:
        ConfigError: the name is taken by a build of something else, and `replace` is off.
    """
    if not (folder / MANIFEST).is_file():
        return None
    manifest: Json = json.loads((folder / MANIFEST).read_bytes())
    if manifest["recipe"] == _plain(recipe):
        return manifest
    if replace:
        return None
    changed = sorted(
        key
        for key in {*manifest["recipe"], *recipe}
        if manifest["recipe"].get(key) != _plain(recipe).get(key)
    )
    raise ConfigError(
        "--name",
        folder.name,
        f"is a build with other {', '.join(changed)}; take another name or pass --replace",
    )


def provenance(extra_packages: Iterable[str] = ()) -> Json:
    """Return the versions that a result depends on."""
    names = sorted({*PACKAGES, *extra_packages})
    return {"code_version": CODE_VERSION, "packages": {name: version(name) for name in names}}


def sha256_of(path: Path) -> str:
    """Return the hash of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def write_text(path: Path, text: str) -> None:
    """Write a file that appears only when it is whole."""
    partial = path.with_name(path.name + PARTIAL)
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def _json(value: object) -> str:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _plain(value: Json) -> Json:
    """Return the value as it reads back from JSON, so that recipes compare."""
    plain: Json = json.loads(json.dumps(value))
    return plain
