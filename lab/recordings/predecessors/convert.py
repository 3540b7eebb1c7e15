"""A predecessor's file as a recording: the same file gives the same bytes."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from bus.errors import InputError
from bus.port import StoredMessage
from bus.recording.writer import writing_recording
from lab.recordings.predecessors.carried import LeftOut
from lab.recordings.predecessors.events import line_events
from lab.recordings.predecessors.forms import Form
from lab.recordings.predecessors.reading import read_rows
from lab.recordings.predecessors.state import state_events
from lab.recordings.predecessors.trace import trace_events
from schemas.envelope import stamp
from schemas.identity import Origin
from schemas.imported import ImportedRow
from schemas.registry import encode

PRODUCER = "import"
READERS = {"trace": trace_events, "events": line_events, "state": state_events}
_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Imported:
    """Imported parts, and parts left out."""

    form: Form
    rows: int
    """Rows, or lines, of the file."""
    events: dict[str, int]
    """Events written, by type."""
    left_out: tuple[tuple[str, int, str], ...]
    """What of the file is not in the recording, how often, and why."""


def import_file(path: Path, out: Path, cluster: str, *, exact: bool = False) -> Imported:
    """Write a predecessor's trace or event file as a recording; whole, or not at all.

    Args:
        path: the file.
        out: a new file.
        cluster: what the recording's cluster is called.
        exact: keep each row or line word for word, too, so that the file can be given back.

    Raises:
        InputError: the file cannot be used, or the new one cannot be written.
    """
    form, rows = read_rows(path)
    origin = Origin(cluster, f"imported-{hashlib.sha256(path.read_bytes()).hexdigest()[:12]}")
    left_out, written = LeftOut(), Counter[str]()
    carried = READERS[form](path, rows, left_out, exact=exact)
    header = {
        "cluster": cluster,
        "incarnation": origin.incarnation,
        "imported": {"file": path.name, "form": form},
    }
    newest_row = ""
    with writing_recording(out, header) as writer:
        for seq, one in enumerate(carried, start=1):
            new = one.event
            if one.after_row and newest_row:
                new = type(new)(new.data, new.cycle, new.time_seconds, (newest_row,))
            try:
                event = stamp(new, origin, PRODUCER, "")
            except (OverflowError, OSError, ValueError) as error:
                remedy = "give seconds since the Unix epoch"
                raise InputError(f"{path.name}: timestamp", new.time_seconds, remedy) from error
            if isinstance(event.data, ImportedRow):
                newest_row = event.id
            encoded = encode(event)
            time_ns = round(new.time_seconds * _NS)
            writer.write(
                StoredMessage(seq, time_ns, encoded.subject, encoded.headers, encoded.data)
            )
            written[event.type] += 1
    return Imported(form, len(rows), dict(written), tuple(left_out.rows()))
