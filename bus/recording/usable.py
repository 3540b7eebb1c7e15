"""How much of an unsealed recording is whole: where its writer can go on."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bus.errors import RecordingDamaged
from bus.recording.content import parse_frame, prove
from bus.recording.format import VERSION, parse_object_line
from bus.recording.frames import read_frames
from bus.recording.proof import ChainProof


@dataclass
class UsablePart:
    """The whole frames at the beginning of a file."""

    end: int = 0
    """Where the last of them ends, in bytes."""
    header: dict[str, Any] = field(default_factory=dict)
    proof: ChainProof = field(default_factory=ChainProof)
    """The state of the proof there."""
    sealed: bool = False


def usable_part(path: Path) -> UsablePart:
    """Return the part of an unsealed recording that its writer closed.

    Raises:
        RecordingDamaged: not even its header is whole, or it is sealed, or of an older version.
        OSError: it cannot be read.
    """
    part = UsablePart()
    damage = ""
    try:
        with path.open("rb") as file:
            for number, frame in enumerate(read_frames(file), start=1):
                proof = copy(part.proof)  # a frame that does not hold changes it, too
                content = parse_frame(frame, number, proof.last_seq)
                prove(content, frame, proof)
                if number == 1:
                    part.header = parse_object_line(content.header)
                part.end, part.proof, part.sealed = frame.end, proof, content.sealed
    except (RecordingDamaged, ValueError) as error:
        damage = str(error)
    if part.end == 0:
        raise RecordingDamaged(f"its header is not whole ({damage or 'the file is empty'})")
    if part.sealed:
        raise RecordingDamaged("it is sealed")
    if part.header.get("version") != VERSION:
        raise RecordingDamaged(f"it is of version {part.header.get('version')}")
    return part
