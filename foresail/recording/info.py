"""`foresail recording info FILE`: prove a recording and say what it holds."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from bus.exit_codes import ExitCode, verdict
from bus.port import StoredMessage
from bus.recording import Recording, open_recording
from foresail.audit import audit_message
from foresail.output import console, print_json
from foresail.progress import each, reading
from projections.figures import duration, size
from projections.log_audit import Auditor
from schemas.envelope import attributes_of

SHOWN_PROBLEMS = 50

EXAMPLES = (
    ("recording info run.fslog", "its cluster, times, events per layer, and whether it is whole"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a recording")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Describe a recording."""
    described = describe(arguments.file)
    if arguments.json:
        print_json(described)
    else:
        _print(described)
    return verdict(
        differs=bool(described["messages"] and described["audit"]["problems"]),
        nothing_compared=described["messages"] == 0,
        cut_off=not described["sealed"],
    )


def describe(path: Path) -> dict[str, Any]:
    """Read a whole recording and return what it holds as JSON values."""
    recording = open_recording(path)
    with reading(path, "proving") as on_message:
        return _describe(path, recording, each(recording, on_message))


def _describe(
    path: Path, recording: Recording, messages: Iterable[StoredMessage]
) -> dict[str, Any]:
    types: Counter[str] = Counter()
    first = last = None
    cut = recording.header.get("cut")
    from_seq = cut.get("from_seq") if isinstance(cut, dict) else None
    auditor = Auditor(from_seq if isinstance(from_seq, int) else 0)
    for message in messages:
        audit_message(auditor, message)
        types[attributes_of(message.headers).get("type", "not an event")] += 1
        first = first or message
        last = message
    checked = auditor.finish(layers="layers" not in recording.header)
    return {
        "file": path.name,
        "bytes": path.stat().st_size,
        "header": recording.header,
        "sealed": recording.sealed,
        "damage": recording.damage,
        "messages": types.total(),
        "first_seq": first.seq if first else None,
        "last_seq": last.seq if last else None,
        "seconds": round((last.time_ns - first.time_ns) / 1e9, 3) if first and last else 0.0,
        "types": dict(sorted(types.items())),
        "audit": asdict(checked),
    }


def _print(described: dict[str, Any]) -> None:
    out = console()
    header = described["header"]
    whose = f"{header.get('cluster', '?')}/{header.get('incarnation', '?')}"
    out.print(Text(described["file"], "bold"), end="")
    out.print(f"  {whose}, version {header['version']}, ", end="", markup=False)
    out.print("sealed" if described["sealed"] else Text(described["damage"], "red"))
    out.print(
        f"{described['messages']} messages, seq {described['first_seq']} to {described['last_seq']}, "
        f"{duration(described['seconds'])} of recorded time, {size(described['bytes'])}"
    )
    for line in _beginning(header):
        out.print(line, markup=False)
    table = Table(box=None)
    table.add_column("type")
    table.add_column("events", justify="right")
    for name, count in described["types"].items():
        table.add_row(Text(name), str(count))
    out.print(table)
    checked = described["audit"]
    out.print(
        f"{checked['complete_chains']} of {checked['decisions']} decisions have complete causes; proposals "
        + ", ".join(f"{count} {name}" for name, count in checked["proposals"].items())
    )
    for problem in checked["problems"][:SHOWN_PROBLEMS]:
        out.print(Text(problem, "red"))
    more = len(checked["problems"]) - SHOWN_PROBLEMS + checked["problems_left_out"]
    if more > 0:
        out.print(f"and {more} more problems", style="red")


def _beginning(header: dict[str, Any]) -> Iterator[str]:
    """Yield what the header says of a recording that is not a whole log."""
    cut = header.get("cut")
    if isinstance(cut, dict):
        yield (
            f"a part of its log: {cut.get('window')}; re-runnable from seq {cut.get('from_seq')} on, "
            f"without a gap from seq {cut.get('first_seq')} on"
        )
    if "layers" in header:
        yield f"only these layers: {', '.join(map(str, header['layers']))}"
    if header.get("redacted"):
        yield "redacted: names are replaced"
