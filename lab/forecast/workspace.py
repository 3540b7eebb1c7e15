"""Where traces, datasets, models and reports live: one folder outside the repository.

Guarantee: every part of forecasting takes its folders from here, and nothing is written beside the
sources. `BORG_XGBOOST_WORKSPACE` names the folder; `BORG_DATA_DIR` and `BORG_PROCESSED_DIR` move
its `raw` and `processed` elsewhere, as scripts of the earlier system expect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bus.errors import ConfigError

ROOT_VARIABLE = "BORG_XGBOOST_WORKSPACE"
RAW_VARIABLE = "BORG_DATA_DIR"
PROCESSED_VARIABLE = "BORG_PROCESSED_DIR"
DEFAULT_ROOT = ".local/share/foresail/forecast"
"""Under the home folder."""
PARTIAL = ".partial"
"""Ends the name of what is not complete yet."""


@dataclass(frozen=True)
class Workspace:
    """The folders; each is made when something is first written to it."""

    root: Path
    raw: Path
    """Trace files as they were published."""
    processed: Path
    """Datasets, one folder for each build."""

    @property
    def models(self) -> Path:
        """Model directories."""
        return self.root / "models"

    @property
    def reports(self) -> Path:
        """What `evaluate` wrote."""
        return self.root / "reports"

    @property
    def runtime(self) -> Path:
        """What may be deleted while nothing runs."""
        return self.root / "runtime"

    @property
    def config(self) -> Path:
        """Files of settings, such as column mappings."""
        return self.root / "config"

    def dataset(self, name_or_path: str) -> Path:
        """Return the folder of a dataset: a path as it is, a name among the processed ones.

        Raises:
            ConfigError: there is no such dataset.
        """
        as_path = Path(name_or_path)
        for folder in (self.processed / name_or_path, as_path):
            if (folder / "manifest.json").is_file():
                return folder
        built = sorted(path.parent.name for path in self.processed.glob("*/manifest.json"))
        known = f"built are: {', '.join(built)}" if built else "none is built yet"
        raise ConfigError("--dataset", name_or_path, f"no such dataset; {known}")

    def input(self, given: str) -> Path:
        """Return an input file or folder: a path as it is, else a name inside `raw`.

        Raises:
            ConfigError: there is neither.
        """
        for path in (Path(given), self.raw / given):
            if path.exists():
                return path
        raise ConfigError("--input", given, "no such file or folder, here or in the raw folder")


def workspace_of(environment: Mapping[str, str], home: Path) -> Workspace:
    """Return the workspace that the environment names; relative to `home` when it names none."""
    root = Path(environment.get(ROOT_VARIABLE) or home / DEFAULT_ROOT)
    return Workspace(
        root=root,
        raw=Path(environment.get(RAW_VARIABLE) or root / "raw"),
        processed=Path(environment.get(PROCESSED_VARIABLE) or root / "processed"),
    )
