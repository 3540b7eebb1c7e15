"""Recordings that an experiment has kept, by what was played: `FOLDER:ARM` or `FOLDER:WORKLOAD/ARM`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bus.errors import InputError
from bus.recording import open_recording
from lab.experiments.results import FOLDER, TrialResult
from lab.experiments.run import RECORDING_FOLDER


@dataclass(frozen=True, slots=True)
class NamedRecording:
    """A recording, and what it is called."""

    path: Path
    name: str


def named_recording(word: str, argument: str) -> NamedRecording:
    """Return the recording that a word means: a file, or what an experiment's results folder has kept of an arm.

    Args:
        word: as it was given.
        argument: what it was given as, for complaints.

    Raises:
        InputError: there is no such file or arm, or several recordings of it.
    """
    path = Path(word)
    if path.is_file():
        return NamedRecording(path, path.name)
    folder, _, wanted = word.rpartition(":")
    if folder and (Path(folder) / FOLDER).is_dir():
        return _of_arm(Path(folder), wanted, argument)
    if (path / FOLDER).is_dir():
        known = ", ".join(sorted(_kept(path))) or "none: `experiment run --recordings first`"
        raise InputError(argument, word, f"name an arm of it, as {word}:ARM; it has kept {known}")
    raise InputError(argument, word, "give a recording, or FOLDER:ARM of an experiment's results")


def checked_recording(word: str, argument: str) -> NamedRecording:
    """Return the recording that a word means, once it is known to be one; see `named_recording`.

    Raises:
        InputError: it is none, or one that cannot be read.
    """
    found = named_recording(word, argument)
    try:
        open_recording(found.path)
    except InputError as error:
        raise InputError(argument, word, error.remedy) from error
    return found


def _of_arm(folder: Path, wanted: str, argument: str) -> NamedRecording:
    kept = _kept(folder)
    fitting = [name for name in kept if wanted in _names(name)]
    if len(fitting) == 1:
        return NamedRecording(kept[fitting[0]], fitting[0])
    known = ", ".join(sorted(fitting or kept)) or "none"
    remedy = f"several fit, name one of {known}" if fitting else f"it has kept {known}"
    raise InputError(argument, f"{folder}:{wanted}", remedy)


def _names(name: str) -> tuple[str, str, str]:
    """Return what a recording may be called: in full, without its seed, and the arm alone."""
    trial = name.rpartition(", seed ")[0]
    return name, trial, trial.partition("/")[2]


def _kept(folder: Path) -> dict[str, Path]:
    """Return the recordings that are there, by `WORKLOAD/ARM, seed N`."""
    found = {}
    for path in sorted((folder / FOLDER).glob("*.json")):
        try:
            result = TrialResult.model_validate_json(path.read_bytes())
        except ValueError:
            continue
        recording = folder / RECORDING_FOLDER / f"{result.fingerprint}.fslog"
        if recording.is_file():
            found[f"{result.workload}/{result.arm}, seed {result.seed}"] = recording
    return found
