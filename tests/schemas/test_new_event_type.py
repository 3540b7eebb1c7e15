"""A new event type is one file: registry, rights, documentation and its line follow from it.

The product lies in a temporary folder in which nothing but `schemas/heat.py` is new.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.source_tree import PACKAGES, ROOT

HEAT = '''"""Heat: how warm the racks are."""

from __future__ import annotations

from typing import ClassVar

from schemas.model import EventData, Retention
from schemas.numbers import Cycle, Rounded


class Heat(EventData):
    """How warm the racks are."""

    TYPE: ClassVar[str] = "foresail.heat.v1"
    WRITER: ClassVar[str] = "collector"
    PATTERN: ClassVar[tuple[str, ...]] = ("heat",)
    RETENTION: ClassVar[Retention] = Retention.STANDING

    cycle: Cycle
    degrees_celsius: Rounded
    """Of the warmest rack."""

    def line(self) -> str:
        """Return the warmest rack's temperature."""
        return f"{self.degrees_celsius} degrees"
'''
ASK = """
import json
from bus.recording.start_point import STANDING
from foresail.recording.log_part import KNOWN_LAYERS
from foresail.tap_subject import kinds_on
from schemas.export import generated_files
from schemas.registry import BY_TYPE
from services.identities import IDENTITIES

heat = BY_TYPE["foresail.heat.v1"]
files = {path.as_posix(): text for path, text in generated_files().items()}
print(json.dumps({
    "writers": [one.name for one in IDENTITIES if ("heat",) in one.publishes],
    "schema": "schemas/exported/foresail.heat.v1.json" in files,
    "row": next(row for row in files["docs/events.md"].splitlines() if "foresail.heat.v1" in row),
    "channel": "Heat" in json.loads(files["schemas/exported/asyncapi.json"])["channels"],
    "standing": ("heat",) in STANDING,
    "layer": "heat" in KNOWN_LAYERS,
    "tapped": heat in kinds_on("heat"),
    "line": heat(cycle=1, degrees_celsius=41.5).line(),
}))
"""


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what the product with the new file says of its type."""
    folder: Path = tmp_path_factory.mktemp("product")
    for name in PACKAGES:
        if name != "schemas":
            (folder / name).symlink_to(ROOT / name)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "schemas", folder / "schemas", ignore=ignored)
    (folder / "schemas/heat.py").write_text(HEAT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", ASK], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def test_its_writer_alone_may_publish_it(known: dict[str, Any]) -> None:
    """The identity that the model names has the right, and no other one."""
    assert known["writers"] == ["collector"]


def test_it_is_documented(known: dict[str, Any]) -> None:
    """A schema, a channel and a row with subject, writer and how long it matters are generated."""
    assert known["schema"]
    assert known["channel"]
    assert known["row"].endswith(
        "| `foresail.{cluster}.heat` | the collector | until the next one |"
    )


def test_it_is_recorded_tapped_and_told(known: dict[str, Any]) -> None:
    """Parts of a log begin with it, `tap` knows its subject, and it has a line for people."""
    assert known["standing"]
    assert known["layer"]
    assert known["tapped"]
    assert known["line"] == "41.5 degrees"
