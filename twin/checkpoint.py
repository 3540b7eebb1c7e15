"""Checkpoints: the whole state of an engine as one file, from which it continues as if never stopped.

The file is zstd-compressed JSON lines: a head (format, version, world, place in the journal, state
hash), the engine's seed and configuration, then one line for each part.

Guarantee: a file is there whole or not at all; one that is damaged, or belongs to another world or
version, is refused with one line; a restored engine has the state hash that the head promises.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self

import zstandard

from inputs.errors import ConfigError
from twin.encoding import json_of, read_state, state_lines
from twin.engine import Engine

FORMAT = 2


def _own_version() -> str:
    try:
        return version("foresail")
    except PackageNotFoundError:  # run from its sources
        return "0"


VERSION = _own_version()
_LEVEL = 3  # higher ones take longer than they save


@dataclass(frozen=True, slots=True)
class Head:
    """What a checkpoint says of itself."""

    world: Mapping[str, Any]
    """What the journal's first line says."""
    now: float
    """Cluster time of the state, unix seconds."""
    journal_bytes: int
    """How much of the journal is in the state."""
    marked: float
    """The newest time mark in that part of the journal."""
    hash: str
    version: str = VERSION
    """Of the program: another one may continue differently."""
    checkpoint: int = FORMAT


class Checkpoint:
    """One stored state."""

    def __init__(self, head: Head, lines: tuple[bytes, ...]) -> None:
        """Take the head and the lines of the state."""
        self.head = head
        self._lines = lines

    @classmethod
    def of(
        cls,
        engine: Engine,
        world: Mapping[str, Any],
        *,
        journal_bytes: int = 0,
        marked: float = 0.0,
    ) -> Self:
        """Capture the current state of an engine, which may continue at once."""
        lines = tuple(state_lines(engine.seed, engine.config, engine.parts))
        digest = engine.hash_of(lines)
        return cls(Head(world, engine.now, journal_bytes, marked, digest), lines)

    def write(self, path: Path) -> None:
        """Write the file, whole or not at all, replacing an older one; raises OSError."""
        part = path.with_name(f"{path.name}.part")
        text = b"".join([json_of(asdict(self.head)), b"\n", *self._lines])
        packed = zstandard.ZstdCompressor(_LEVEL, write_checksum=True).compress(text)
        with part.open("wb") as file:
            file.write(packed)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)

    @classmethod
    def read(cls, path: Path, world: Mapping[str, Any]) -> Self:
        """Read a file.

        Raises:
            ConfigError: it cannot be read, is damaged, or belongs to another world or format.
        """
        try:
            packed = path.read_bytes()
            text = zstandard.ZstdDecompressor().decompress(packed)
            first, *lines = text.splitlines(keepends=True)
            header = json.loads(first)
            if header.get("checkpoint") != FORMAT:
                raise _unreadable_checkpoint(
                    path, f"it has format {header.get('checkpoint')}, not {FORMAT}"
                )
            head = Head(**header)
        except OSError as error:
            raise _unreadable_checkpoint(path, f"it cannot be read ({error.strerror})") from error
        except (ValueError, TypeError, AttributeError, zstandard.ZstdError) as error:
            raise _unreadable_checkpoint(path, "it is damaged") from error
        if head.version != VERSION:
            raise _unreadable_checkpoint(
                path, f"it was written by version {head.version}, this is {VERSION}"
            )
        if dict(head.world) != dict(world):
            raise _unreadable_checkpoint(
                path, "it belongs to another seed, node count, workload or start time"
            )
        return cls(head, tuple(lines))

    def restore(self, engine: Engine, path: Path | None = None) -> None:
        """Bring an engine that was built and loaded alike to this state.

        Raises:
            ConfigError: the state is of another configuration, workload or version, or damaged; the
                engine is of no use then. `path` is the file that is named.
        """
        lines: Iterator[bytes] = iter(self._lines)
        try:
            engine.take(read_state(lines, engine.seed, engine.config, engine.parts))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise _unreadable_checkpoint(
                path, f"it is not of this world and version: {error}"
            ) from error
        if engine.state_hash() != self.head.hash:
            raise _unreadable_checkpoint(path, "its state is not the one that its head promises")


def _unreadable_checkpoint(path: Path | None, why: str) -> ConfigError:
    return ConfigError("checkpoint", path or "(in memory)", f"{why}; remove it and start anew")
