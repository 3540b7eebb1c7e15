"""What tells the code that ran a trial from any other code: a digest of every file that can change a result."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

PACKAGES = (
    "bus",
    "features",
    "projections",
    "schemas",
    "services",
    "twin",
    "foresail.stack",
    "foresail.untouched",
)
MODULES = (
    "foresail.dependent_settings",
    "foresail.run_settings",
    "foresail.settings",
    "foresail.settings_sources",
    "foresail.experiment.controllers",
    "foresail.experiment.job_queues",
    "foresail.experiment.oracle",
    "foresail.experiment.planted",
    "foresail.experiment.trial",
    "lab.experiments.arms",
    "lab.experiments.forecasts",
    "lab.experiments.payers",
    "lab.experiments.pressure_samples",
    "lab.experiments.recovery",
    "lab.experiments.results",
    "lab.experiments.scored",
    "lab.experiments.served",
    "lab.experiments.spec",
    "lab.experiments.input_hash",
    "lab.experiments.truth",
    "lab.experiments.waiting",
    "lab.experiments.worth",
)
SUFFIXES = (".py", ".json", ".toml", ".yaml", ".csv", ".ubj")


def code_version(more: Sequence[str] = ()) -> str:
    """Return the first 16 digits of the digest over the installed code; `more` names further modules."""
    digest = hashlib.sha256()
    for name, path in _files(more):
        digest.update(f"{name}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _files(more: Sequence[str]) -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        (folder,) = import_module(package).__path__
        root = Path(folder)
        for path in sorted(root.rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield f"{package}/{path.relative_to(root).as_posix()}", path
    for name in (*MODULES, *more):
        package, _, module = name.rpartition(".")
        (folder,) = import_module(package).__path__
        yield name, Path(folder) / f"{module}.py"
