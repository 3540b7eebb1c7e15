"""What is committed of the page is what its sources give, and small."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from services.dashboard.app import STATIC
from tests.architecture.source_tree import ROOT, tracked_files
from tests.patience import HANGS_SECONDS

WEB = ROOT / "web"
MOST_GZIP_BYTES = 150_000
SOURCE_LINES = 400
TYPES = Path(__file__).with_name("answer_types.json")
WRITTEN = {".ts", ".js", ".svelte", ".css"}
GENERATED = {"events.ts"}


def test_the_bundle_is_what_its_sources_give(tmp_path: Path) -> None:
    """`npm run build` makes the committed files again, byte by byte."""
    if shutil.which("npm") is None or not (WEB / "node_modules").is_dir():
        pytest.skip("needs node and web/node_modules (make web): the bundle was not built again")
    command = ["npm", "run", "--silent", "build", "--", "--outDir", str(tmp_path / "static")]
    subprocess.run(command, cwd=WEB, check=True, capture_output=True, timeout=HANGS_SECONDS)

    built = {path.name: path.read_bytes() for path in (tmp_path / "static").iterdir()}
    assert {path.name: path.read_bytes() for path in STATIC.iterdir()} == built


def test_the_types_are_what_their_source_gives(tmp_path: Path) -> None:
    """`npm run types` makes the committed schema of the server's answers again."""
    if shutil.which("npm") is None or not (WEB / "node_modules").is_dir():
        pytest.skip("needs node and web/node_modules (make web): the types were not written again")
    made = tmp_path / TYPES.name
    command = ["npm", "run", "--silent", "types", "--", "--out", str(made)]
    subprocess.run(command, cwd=WEB, check=True, capture_output=True, timeout=HANGS_SECONDS)

    assert TYPES.read_text(encoding="utf-8") == made.read_text(encoding="utf-8")


def test_the_page_stays_light() -> None:
    """Everything a browser loads is below 150 kB, packed."""
    sizes = {path.name: len(gzip.compress(path.read_bytes())) for path in STATIC.iterdir()}

    assert sum(sizes.values()) < MOST_GZIP_BYTES, sizes


def test_the_lock_names_no_registry() -> None:
    """Packages are locked by their hashes; where they come from is each machine's business."""
    lock = json.loads((WEB / "package-lock.json").read_text(encoding="utf-8"))

    assert [] == [name for name, package in lock["packages"].items() if "resolved" in package]
    assert all("integrity" in package for name, package in lock["packages"].items() if name)


def test_sources_of_the_page_stay_small() -> None:
    """Each file is one topic that can be read in one sitting."""
    sources = [path for path in tracked_files() if path.is_relative_to(WEB / "src")]
    lengths = {
        path.name: len(path.read_text(encoding="utf-8").splitlines())
        for path in sources
        if path.suffix in WRITTEN and path.name not in GENERATED
    }

    assert lengths
    assert {} == {name: lines for name, lines in lengths.items() if lines > SOURCE_LINES}
