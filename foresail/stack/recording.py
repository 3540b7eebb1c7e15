"""The header of a recording: what changes results, and nothing of the machine it was made on."""

from __future__ import annotations

from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bus.recording import RecordingWriter
from foresail.output import print_error
from foresail.settings import StackSettings
from foresail.stack.run_events import announced_settings
from foresail.stack.workload import ChosenWorkload
from schemas.config import CODE_VERSION
from schemas.identity import Origin

RESULT_PACKAGES = ("kubernetes", "numpy", "pydantic", "xgboost", "xgboost-cpu")
"""Packages whose version can change what an event says; of the last two one is installed."""


def header(
    settings: StackSettings, origin: Origin, workload: ChosenWorkload | None
) -> dict[str, Any]:
    """Return the header's content."""
    return {
        "cluster": origin.cluster,
        "incarnation": origin.incarnation,
        "code_version": CODE_VERSION,
        "settings": announced_settings(settings),
        "workload": None if workload is None else {"kind": workload.kind, "speed": workload.speed},
        "models": [manifest.model_dump(mode="json") for manifest in settings.inference.manifests()],
        "packages": _versions(),
    }


def _versions() -> dict[str, str]:
    versions: dict[str, str] = {}
    for name in RESULT_PACKAGES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def open_writer(
    settings: StackSettings, origin: Origin, workload: ChosenWorkload | None
) -> RecordingWriter | None:
    """Open the recording that the run asked for, if it asked for one."""
    if settings.run.record is None:
        return None
    return RecordingWriter(Path(settings.run.record), header(settings, origin, workload))


def seal_or_say(writer: RecordingWriter) -> None:
    """Seal the recording; one that has no room for its end stays readable up to there."""
    try:
        writer.seal()
    except OSError as error:
        print_error(f"the recording could not be sealed ({error.strerror})")
