"""`--run FILE`: what a verb does, as events of a run in a recording: manifest, stages, files, trials, the end.

The verbs' progress goes through `foresail.progress`, which tells each stage to the run that is written, if one is. So
`foresail status --run FILE`, `tap --recording FILE` and whoever follows the file see what a terminal sees. The events
are those of the stack (`schemas.run`). A tuning session, which several runners may claim, has a log of its own; what
this runner stores there is told here, too.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from bus.clock import Clock, SystemClock
from bus.errors import ForesailError, InputError
from bus.exit_codes import ExitCode
from bus.port import StoredMessage
from bus.recording import RecordingWriter
from schemas.config import CODE_VERSION
from schemas.envelope import NewEvent, stamp
from schemas.identity import Origin
from schemas.numbers import JsonObject
from schemas.registry import encode
from schemas.run import (
    ArtifactKind,
    RunArtifact,
    RunComplete,
    RunData,
    RunError,
    RunManifest,
    RunStage,
    RunTrial,
)

CLUSTER = "runs"
PACKAGES = ("numpy", "polars", "pydantic", "scikit-learn", "xgboost", "xgboost-cpu", "kubernetes")
"""Packages whose version can change what a run makes; those that are installed are named."""
LEAST_SHARE = 0.05
"""Progress between two events of a stage."""
MOST_ARTIFACTS = 200
"""Files of one folder that are named one by one."""
SEED_WORDS = ("seed", "seeds", "random_seed")
_BLOCK_BYTES = 1 << 20
_PASSWORD = re.compile(r"(\w+://[^/@\s:]*):[^/@\s]*@")
"""User and password inside an address."""
_current: ContextVar[RunLog | None] = ContextVar("run_log", default=None)


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add `--run`."""
    parser.add_argument(
        "--run", dest="run_log", type=Path, metavar="FILE",
        help="write the run's events to FILE: stages with progress, files, trials, versions and seeds "
        "(`foresail status --run FILE`)",
    )  # fmt: skip


class RunLog:
    """The events of one run, as they are written."""

    def __init__(self, path: Path, verb: str, clock: Clock) -> None:
        """Create the recording; raises InputError where there is one, or it cannot be written."""
        self._clock = clock
        self.run_id = f"{verb}-{clock.wall_ns():x}"
        self._origin = Origin(CLUSTER, self.run_id)
        header = {"cluster": CLUSTER, "incarnation": self.run_id, "code_version": CODE_VERSION}
        self._writer = RecordingWriter(path, header)
        self._counts: dict[type[RunData], int] = {}
        self._seq = 0
        self._process = verb

    def say(self, event_type: type[RunData], /, **fields: Any) -> None:
        """Write one event; fields as of its type."""
        number = self._counts[event_type] = self._counts.get(event_type, 0) + 1
        data = event_type(run_id=self.run_id, process=self._process, sequence=number, **fields)
        self.write(NewEvent(data, 0, self._clock.wall_ns() / 1e9))

    def write(self, new_event: NewEvent) -> None:
        """Write an event as it is."""
        now_ns = self._clock.wall_ns()
        event = encode(stamp(new_event, self._origin, self._process, ""))
        self._seq += 1
        self._writer.write(
            StoredMessage(self._seq, now_ns, event.subject, event.headers, event.data)
        )
        self._writer.flush()

    def end(self) -> None:
        """Seal the recording."""
        self._writer.seal()


@contextmanager
def run_log_of(parsed: argparse.Namespace, words: Sequence[str]) -> Iterator[Outcome]:
    """Write the run's events while a verb works, where `--run` was given.

    Raises:
        InputError: the file exists, or cannot be written.
    """
    outcome = Outcome()
    path: Path | None = getattr(parsed, "run_log", None)
    if path is None or getattr(parsed, "no_wait", False):  # the runner in the background writes it
        yield outcome
        return
    action = getattr(parsed, "action", None)
    log = RunLog(path, "-".join(filter(None, (parsed.verb, action))), SystemClock())
    log.say(RunManifest, **manifest_of(words, vars(parsed)))
    token = _current.set(log)
    try:
        yield outcome
    except BaseException as error:
        status, reason = how_it_ended(error)
        outcome.failed, outcome.code = status == "failed", None
        if outcome.failed:
            log.say(RunError, text=reason)
        raise
    finally:
        _current.reset(token)
        log.say(RunComplete, status=outcome.status, summary=outcome.summary)
        log.end()


def how_it_ended(error: BaseException) -> tuple[Literal["interrupted", "failed"], str]:
    """Return what became of a run that an exception ended, and why in one line."""
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
        return "interrupted", "stopped by Ctrl-C or a signal"
    text = " ".join(str(error).split()) or type(error).__name__
    named = isinstance(error, ForesailError)  # its text says all that people need
    return "failed", text if named else f"{type(error).__name__}: {text}"


class Outcome:
    """How a verb ended."""

    code: ExitCode | None = None
    failed = False

    @property
    def status(self) -> Literal["complete", "interrupted", "failed"]:
        """Of `run.complete`: a difference or a gate that is not passed is a result."""
        if self.failed:
            return "failed"
        return "interrupted" if self.code is None else "complete"

    @property
    def summary(self) -> JsonObject:
        """The exit code, where there is one."""
        return {} if self.code is None else {"exit_code": int(self.code)}


def manifest_of(words: Sequence[str], parsed: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest's fields: what ran, with which arguments, code, versions and seeds."""
    versions: dict[str, str] = {}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    seeds = {
        name: value
        for name, value in parsed.items()
        if name.endswith(SEED_WORDS) and type(value) is int
    }
    return {
        "arguments": tuple(_PASSWORD.sub(r"\1:***@", word) for word in words),
        "code_version": CODE_VERSION,
        "git_revision": git_revision(),
        "python": ".".join(map(str, sys.version_info[:3])),
        "packages": versions,
        "seeds": seeds,
    }


def git_revision() -> str:
    """Return the commit of the code, with `+changed` where files differ from it; empty outside a repository."""
    folder = Path(__file__).parent
    try:
        answers = [
            subprocess.run(
                ["git", "-C", str(folder), *words],
                capture_output=True,
                text=True,
                timeout=10,
                check=True,
            ).stdout.strip()
            for words in (("rev-parse", "HEAD"), ("status", "--porcelain", "--", "."))
        ]
    except (OSError, subprocess.SubprocessError):
        return ""
    commit, changed = answers
    return f"{commit}+changed" if changed else commit


class StageLog:
    """One stage of the run that is written; of none, where none is."""

    def __init__(self, name: str) -> None:
        """Say that it has begun."""
        self._log = _current.get()
        self.name = name
        self._told = 0.0
        self._samples: int | None = None
        self._say("started")

    @property
    def written(self) -> bool:
        """Whether anybody writes it."""
        return self._log is not None

    def advance(self, share: float, detail: str = "", samples: int | None = None) -> None:
        """Say how far it is, at most once in twenty times of its whole."""
        self._samples = self._samples if samples is None else samples
        if share - self._told >= LEAST_SHARE:
            self._told = share
            self._say("running", progress_ratio=min(1.0, max(0.0, share)), detail=detail)

    def end(self, failure: BaseException | None = None) -> None:
        """Say that it is over, and why if it was not meant to be."""
        if failure is None:
            self._say("complete", progress_ratio=1.0)
        else:
            reached = min(1.0, max(0.0, self._told))
            self._say("failed", progress_ratio=reached, detail=how_it_ended(failure)[1])

    def _say(self, status: str, **fields: Any) -> None:
        if self._log is not None:
            self._log.say(RunStage, stage=self.name, status=status, samples=self._samples, **fields)


@contextmanager
def stage(name: str) -> Iterator[StageLog]:
    """Tell a stage of the run: that it begins, how far it is, and how it ends."""
    told = StageLog(name)
    try:
        yield told
    except BaseException as error:
        told.end(error)
        raise
    told.end()


def note_artifact(path: Path, kind: ArtifactKind) -> None:
    """Tell a file that the run has written; of a folder, each of its files.

    Raises:
        InputError: it cannot be read.
    """
    log = _current.get()
    if log is None:
        return
    files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
    for file in files[:MOST_ARTIFACTS]:
        try:
            digest = sha256_of(file)
        except OSError as error:
            remedy = f"leave it in its place until the run has ended ({error.strerror})"
            raise InputError("file of the run", file, remedy) from error
        name = file.relative_to(path.parent).as_posix() if path.is_dir() else str(file)
        log.say(RunArtifact, label=file.name, file_name=name, sha256=digest, kind=kind)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def note(event_type: type[RunData], /, **fields: Any) -> None:
    """Tell something of the run that is written, if one is; fields as of its type."""
    log = _current.get()
    if log is not None:
        log.say(event_type, **fields)


def note_event(event: NewEvent) -> None:
    """Tell an event that another log has, too, such as one of a session."""
    log = _current.get()
    if log is not None:
        log.write(event)


def written() -> bool:
    """Whether a run is written."""
    return _current.get() is not None


def note_trial(study: str, trial: int, value: float | None, parameters: Mapping[str, Any]) -> None:
    """Tell one trial of a study or an experiment that has ended."""
    note(RunTrial, study=study, trial=trial, value=value, parameters=dict(parameters))
