"""A new file is held by the import contracts of the folder it lies in, without being named anywhere.

Files that break a rule are planted in a copy of the packages, and import-linter is run there once.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib

import pytest

from tests.architecture.source_tree import PACKAGES, ROOT, python_files

PLANTED = {
    "inputs/new_upward.py": ("import schemas.envelope", "The twin needs"),
    "schemas/new_clock.py": ("import time", "What may travel"),
    "schemas/new_upward.py": ("import bus.errors", "Layers"),
    "projections/new_loop.py": ("import asyncio", "Read models are pure"),
    "projections/incidents/new_reader.py": ("import bus.events", "Read models are pure"),
    "features/new_layer.py": ("", "Inside features"),
    "features/live/new_tables.py": ("import polars", "Features know numpy"),
    "bus/new_adapter.py": ("import nats", "Only the bus' NATS files"),
    "bus/recording/new_upward.py": ("import services.referee.rule", "Layers"),
    "bus/new_there.py": ("import bus.new_back", "No cycles"),
    "bus/new_back.py": ("import bus.new_there", "No cycles"),
    "services/new_reader.py": ("import bus.clock", "Services are pure"),
    "services/executor/guards/new_guard.py": ("import os", "Services are pure"),
    "services/referee/new_rule.py": ("import services.referee.service", "What is pure in services"),
    "services/collector/new_source.py": ("import services.executor.reach", "Services never"),
    "services/dashboard/new_spans.py": ("import opentelemetry.trace", "Only the tracing process"),
    "twin/new_events.py": ("import schemas.envelope", "The twin needs"),
    "twin/controllers/new_totals.py": ("import projections.figures", "The twin needs"),
    "lab/new_records.py": ("import twin.records", "Of the twin"),
    "lab/new_verb.py": ("import foresail.output", "Layers"),
    "lab/traces/new_trace.py": ("import kubernetes", "Only the door to the cluster"),
    "lab/workloads/new_settings.py": ("import pydantic_settings", "Only the command line"),
    "foresail/new_verb.py": ("import sklearn.metrics", "Only lab knows"),
    "foresail/new_page.py": ("import jinja2", "Only what writes pages"),
    "foresail/stack/new_process.py": ("import services.inference.booster", "Of inference"),
}
"""By file: its one line, and how the contract begins that forbids it."""
HEADING = re.compile(r"^(.+)\n-{5,}$", re.MULTILINE)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what import-linter says of each broken contract, by the contract's name."""
    folder = tmp_path_factory.mktemp("tree")
    for path in python_files(*PACKAGES):
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    shutil.copyfile(ROOT / "pyproject.toml", folder / "pyproject.toml")
    for name, (line, _) in PLANTED.items():
        (folder / name).write_text(f"{line}\n", encoding="utf-8")
    code = "from importlinter.cli import lint_imports_command; lint_imports_command(['--no-cache'])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "COLUMNS": "1000"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    _, *parts = HEADING.split(done.stdout.partition("Broken contracts")[2])
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize("file", PLANTED)
def test_a_new_file_that_breaks_a_rule_is_seen(file: str, broken: dict[str, str]) -> None:
    """The contract of its layer names it."""
    text = next((text for name, text in broken.items() if name.startswith(PLANTED[file][1])), "")

    assert re.search(rf"\b{file.removesuffix('.py').rpartition('/')[2]}\b", text), broken


def test_only_planted_files_are_seen(broken: dict[str, str]) -> None:
    """What is there already breaks nothing, so each finding is about a planted file."""
    first = re.compile(r"^- +(\S+) -> ", re.MULTILINE)
    importers = [name for text in broken.values() for name in first.findall(text)]

    assert len(importers) > 20
    assert [] == [name for name in importers if ".new_" not in name]


def test_every_package_and_every_contract_is_tried() -> None:
    """A new package or contract gets a planted file of its own."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = [one["name"] for one in config["tool"]["importlinter"]["contracts"]]
    begins = {begin for _, begin in PLANTED.values()}

    assert set(PACKAGES) == {file.partition("/")[0] for file in PLANTED}
    assert [] == [name for name in contracts if not any(name.startswith(one) for one in begins)]
