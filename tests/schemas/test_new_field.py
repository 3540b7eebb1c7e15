"""A stranger's task: a new field of an event is one line in one model and regenerated files.

The product lies in a temporary folder in which one model has one optional field more.
"""

from __future__ import annotations

import difflib
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from schemas.decision import Decision
from tests.architecture.source_tree import PACKAGES, ROOT

pytestmark = pytest.mark.slow
MODEL = "schemas/decision.py"
BEFORE = "    repeat_count: Count\n"
FIELD = "hesitation_seconds"
MEANING = "How long the referee waited for better proposals."
ADDED = f'    {FIELD}: Seconds = 0.0\n    """{MEANING}"""\n'
GENERATED = ("schemas/exported", "docs/events.md", "docs/seed-fields.md")
EXPECTED_TO_CHANGE = {
    "schemas/exported/foresail.decision.v2.json",
    "schemas/exported/asyncapi.json",
    "docs/events.md",
}
GOLDENS = ("v0.fslog", "v1.fslog", "v2.fslog")


@dataclass(frozen=True)
class Product:
    """A copy of the product whose decisions have one more field."""

    folder: Path

    def run(self, *command: str) -> str:
        """Run `python -m ...` there and return what it prints."""
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def files(self) -> dict[str, tuple[str, str]]:
        """Return every generated file that differs from ours: ours and the copy's."""
        names = [
            path.relative_to(ROOT).as_posix()
            for name in GENERATED
            for path in sorted([ROOT / name, *(ROOT / name).glob("*.json")])
            if path.is_file()
        ]
        pairs = {
            name: ((ROOT / name).read_text("utf-8"), (self.folder / name).read_text("utf-8"))
            for name in names
        }
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Product:
    """Return the product with the new field, after its generator ran."""
    folder = tmp_path_factory.mktemp("product")
    for name in ("schemas", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in PACKAGES:
        if name != "schemas":
            (folder / name).symlink_to(ROOT / name)
    model = folder / MODEL
    source = model.read_text("utf-8")
    assert source.count(BEFORE) == 1
    model.write_text(source.replace(BEFORE, ADDED + BEFORE), "utf-8")
    product = Product(folder)
    product.run("schemas.export")
    return product


def without_field(value: Any) -> Any:
    """Return a JSON value without the new field, wherever it is named."""
    if isinstance(value, dict):
        return {name: without_field(inner) for name, inner in value.items() if name != FIELD}
    if isinstance(value, list):
        return [without_field(inner) for inner in value if inner != FIELD]
    return value


def test_exports_differ_in_that_field_alone(product: Product) -> None:
    """The schema, the AsyncAPI document and the page gain it; nothing else in them moves."""
    changed = product.files()

    assert set(changed) == EXPECTED_TO_CHANGE
    for name, (ours, theirs) in changed.items():
        if name.endswith(".json"):
            assert without_field(json.loads(theirs)) == json.loads(ours), name
        lines = [
            line
            for line in difflib.ndiff(ours.splitlines(), theirs.splitlines())
            if line.startswith(("+ ", "- "))
        ]
        assert any(FIELD in line and MEANING in line for line in lines) or name.endswith(".json")
        assert not any(line.startswith("- ") for line in lines), lines


@pytest.mark.parametrize("name", GOLDENS)
def test_recordings_of_before_still_verify(product: Product, name: str) -> None:
    """Events without the field are computed again; its default is no difference."""
    printed = product.run("foresail", "verify", str(ROOT / "tests/golden" / name), "--json")

    assert json.loads(printed)["holds"] is True


def test_a_reader_without_the_field_reads_on(product: Product) -> None:
    """What the new version writes is read here: unknown fields are passed over, known ones are kept."""
    code = (
        "from tests.builders import make_action, make_decision\n"
        f"made = make_decision(make_action(), {FIELD}=1.5)\n"
        "print(made.model_dump_json())"
    )
    (product.folder / "tests").symlink_to(ROOT / "tests")
    (product.folder / "write.py").write_text(code, "utf-8")
    written = product.run("write")

    assert json.loads(written)[FIELD] == 1.5
    read = Decision.read(written.encode())
    known = {name: value for name, value in json.loads(written).items() if name != FIELD}
    assert json.loads(read.model_dump_json()) == known
